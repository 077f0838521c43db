//! Positions of the elements that aren't zero.

use super::broadcast::strides;
use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::{Tensor, Value};
use crate::types::{DType, Dim, Type};

crate::attrs! {
    /// Indices of the non-zero elements, in row-major order: i64 of shape [rank, n], one column an element. NaN isn't
    /// zero. A scalar gives shape [0, n].
    pub struct NonZero {}
}

impl OpDef for NonZero {
    const NAME: &'static str = "non_zero";

    fn arity(&self) -> Arity {
        Arity::exactly(1)
    }

    fn infer(&self, cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        let x = ins[0].tensor()?;
        if !(x.dtype.is_float() || x.dtype.is_int() || x.dtype == DType::Bool) {
            return Err(Mismatch::new(format!("elements of type {} aren't numbers", x.dtype)));
        }
        let n = cx.fresh_dim(0, 1, 0, x.n_elements().upper());
        Ok(vec![Type::tensor(DType::I64, [Dim::from(x.rank()), n])])
    }

    fn eval(&self, _cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let x = ins[0].tensor();
        let at: Vec<usize> = if x.dtype().is_float() {
            x.floats().iter().enumerate().filter(|(_, v)| **v != 0.0).map(|(i, _)| i).collect()
        } else {
            x.ints().iter().enumerate().filter(|(_, v)| **v != 0).map(|(i, _)| i).collect()
        };
        let steps = strides(x.shape());
        let index = |axis: usize, p: usize| (p / steps[axis] % x.shape()[axis]) as i128;
        let elems =
            (0..x.rank()).flat_map(|axis| at.iter().map(move |p| (axis, *p))).map(|(a, p)| index(a, p));
        Ok(vec![Tensor::from_ints(DType::I64, vec![x.rank(), at.len()], elems).into()])
    }
}
