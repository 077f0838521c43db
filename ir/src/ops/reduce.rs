//! Sum, product, maximum and minimum over axes.

use super::binary::fact_elems;
use super::broadcast::broadcast_positions;
use super::scalar::BinaryKind;
use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::{Tensor, Value};
use crate::types::{DType, Dim, Shape, TensorType, Type};

crate::attr_enum! {
    /// How elements are put together.
    pub enum ReduceKind {
        Sum = "sum",
        Prod = "prod",
        /// NaN if any element is NaN.
        Max = "max",
        /// NaN if any element is NaN.
        Min = "min",
    }
}

impl ReduceKind {
    /// The function of two operands that the reduction repeats.
    pub fn binary(self) -> BinaryKind {
        match self {
            ReduceKind::Sum => BinaryKind::Add,
            ReduceKind::Prod => BinaryKind::Mul,
            ReduceKind::Max => BinaryKind::Max,
            ReduceKind::Min => BinaryKind::Min,
        }
    }

    /// The result over no elements, for a float type.
    pub fn float_identity(self) -> f64 {
        match self {
            ReduceKind::Sum => 0.0,
            ReduceKind::Prod => 1.0,
            ReduceKind::Max => f64::NEG_INFINITY,
            ReduceKind::Min => f64::INFINITY,
        }
    }

    /// The result over no elements, for an integer type or bool.
    pub fn int_identity(self, dtype: DType) -> i128 {
        let (lo, hi) = dtype.int_range().unwrap_or((0, 0));
        match self {
            ReduceKind::Sum => 0,
            ReduceKind::Prod => 1,
            ReduceKind::Max => lo,
            ReduceKind::Min => hi,
        }
    }

    /// Fails for element types that the reduction isn't defined on.
    pub fn check(self, dtype: DType) -> Result<(), Mismatch> {
        let bool_too = matches!(self, ReduceKind::Max | ReduceKind::Min);
        if dtype.is_float() || dtype.is_int() || (bool_too && dtype == DType::Bool) {
            return Ok(());
        }
        Err(Mismatch::new(format!("{} isn't defined on {dtype}", self.name())))
    }
}

crate::attrs! {
    /// `kind` of the elements along `axes` (each once, in any order). With `keepdims` these axes stay, with extent 1.
    /// Numbers of any type; max and min of bool are "any" and "all". Floats accumulate wide and round once, integers
    /// wrap. Over no elements: 0, 1, the smallest value (minus infinity), the largest value (infinity).
    pub struct Reduce { pub kind: ReduceKind, pub axes: Vec<usize>, pub keepdims: bool }
}

impl OpDef for Reduce {
    const NAME: &'static str = "reduce";

    fn arity(&self) -> Arity {
        Arity::exactly(1)
    }

    fn infer(&self, _cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        let x = ins[0].tensor()?;
        self.kind.check(x.dtype)?;
        Ok(vec![Type::tensor(x.dtype, reduced_shape(&x.shape, &self.axes, self.keepdims)?)])
    }

    fn elems(&self, ins: &[Fact], _out: &TensorType) -> Option<Vec<Dim>> {
        let shape = ins[0].ty.as_tensor()?.static_shape()?;
        let elems = fact_elems(&ins[0])?;
        let (kept, n) = kept_shape(&shape, &self.axes);
        let mut out: Vec<Option<Dim>> = vec![None; n];
        for (d, to) in elems.into_iter().zip(broadcast_positions(&kept, &shape)) {
            out[to] = Some(match out[to].take() {
                None => d,
                Some(acc) => match self.kind {
                    ReduceKind::Sum => acc + d,
                    ReduceKind::Prod => acc * d,
                    ReduceKind::Max => acc.maximum(&d),
                    ReduceKind::Min => acc.minimum(&d),
                },
            });
        }
        // Over no elements only sum and product give small numbers.
        let empty = match self.kind {
            ReduceKind::Sum => Some(Dim::from(0)),
            ReduceKind::Prod => Some(Dim::from(1)),
            ReduceKind::Max | ReduceKind::Min => None,
        };
        out.into_iter().map(|d| d.or_else(|| empty.clone())).collect()
    }

    fn eval(&self, cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let (dtype, shape) = cx.out(0)?;
        let x = ins[0].tensor();
        let (kept, n) = kept_shape(x.shape(), &self.axes);
        let to = broadcast_positions(&kept, x.shape());
        let f = self.kind.binary();
        Ok(vec![Value::Tensor(if dtype.is_float() {
            let mut out = vec![self.kind.float_identity(); n];
            x.floats().iter().zip(to).for_each(|(v, p)| out[p] = f.float(out[p], *v));
            Tensor::from_floats(dtype, shape, out)
        } else {
            let mut out = vec![self.kind.int_identity(dtype); n];
            x.ints().iter().zip(to).for_each(|(v, p)| out[p] = dtype.wrap_int(f.int(dtype, out[p], *v)));
            Tensor::from_ints(dtype, shape, out)
        })])
    }
}

/// The shape without `axes`, or with 1 in their place.
pub(super) fn reduced_shape(shape: &[Dim], axes: &[usize], keepdims: bool) -> Result<Shape, Mismatch> {
    for (i, axis) in axes.iter().enumerate() {
        if *axis >= shape.len() || axes[..i].contains(axis) {
            return Err(Mismatch::new(format!(
                "axes {axes:?} aren't distinct axes of a tensor of rank {}",
                shape.len()
            )));
        }
    }
    let one = Dim::from(1);
    Ok(shape
        .iter()
        .enumerate()
        .filter(|(a, _)| keepdims || !axes.contains(a))
        .map(|(a, d)| if axes.contains(&a) { one.clone() } else { d.clone() })
        .collect())
}

/// The shape with 1 in the place of each of `axes`, and its number of elements.
fn kept_shape(shape: &[usize], axes: &[usize]) -> (Vec<usize>, usize) {
    let kept: Vec<usize> =
        shape.iter().enumerate().map(|(a, d)| if axes.contains(&a) { 1 } else { *d }).collect();
    let n = kept.iter().product();
    (kept, n)
}
