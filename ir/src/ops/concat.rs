//! Tensors one behind the other.

use super::indexing::{check_axis, check_same_dtype, pick_elems};
use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::{Tensor, Value};
use crate::types::{Dim, TensorType, Type};

crate::attrs! {
    /// The inputs, one or more, one behind the other along `axis`. They have one element type, of any kind, and
    /// equal extents along all other axes.
    pub struct Concat { pub axis: usize }
}

impl OpDef for Concat {
    const NAME: &'static str = "concat";

    fn arity(&self) -> Arity {
        Arity::at_least(1)
    }

    fn infer(&self, cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        let first = ins[0].tensor()?;
        check_axis(self.axis, first.rank())?;
        let mut shape = first.shape.clone();
        for fact in &ins[1..] {
            let t = fact.tensor()?;
            check_same_dtype(first.dtype, t.dtype)?;
            if t.rank() != first.rank() {
                return Err(Mismatch::new(format!("can't concatenate {first} and {t}: the ranks differ")));
            }
            for (axis, d) in t.shape.iter().enumerate() {
                shape[axis] = if axis == self.axis {
                    shape[axis].clone() + d.clone()
                } else {
                    let what = format!("operands of a concatenation differ along axis {axis}");
                    cx.same(&shape[axis], d, &what)?
                };
            }
        }
        Ok(vec![Type::tensor(first.dtype, shape)])
    }

    fn elems(&self, ins: &[Fact], _out: &TensorType) -> Option<Vec<Dim>> {
        let shapes: Vec<Vec<usize>> =
            ins.iter().map(|f| f.ty.as_tensor()?.static_shape()).collect::<Option<_>>()?;
        pick_elems(ins, self.places(&shapes.iter().map(Vec::as_slice).collect::<Vec<_>>()))
    }

    fn eval(&self, cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let (_, shape) = cx.out(0)?;
        let tensors: Vec<&Tensor> = ins.iter().map(Value::tensor).collect();
        let shapes: Vec<&[usize]> = tensors.iter().map(|t| t.shape()).collect();
        Ok(vec![Tensor::pick(&tensors, shape, self.places(&shapes)).into()])
    }
}

impl Concat {
    /// Row-major, the output alternates between runs of the operands: all their elements from `axis` on.
    fn places(&self, shapes: &[&[usize]]) -> impl Iterator<Item = (usize, usize)> + use<> {
        let outer: usize = shapes[0][..self.axis].iter().product();
        let runs: Vec<usize> = shapes.iter().map(|s| s[self.axis..].iter().product()).collect();
        (0..outer).flat_map(move |o| {
            let runs = runs.clone();
            runs.into_iter()
                .enumerate()
                .flat_map(move |(k, run)| (o * run..(o + 1) * run).map(move |p| (k, p)))
        })
    }
}
