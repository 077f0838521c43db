//! Positions along an axis.

use super::broadcast::for_each_index;
use super::indexing::check_axis;
use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::{Tensor, Value};
use crate::types::{Cmp, DType, Dim, TensorType, Type};

crate::attrs! {
    /// A tensor of shape `dims` and numeric type `dtype` in which each element is its own index along `axis`
    /// (rounded or wrapped to the type).
    pub struct Iota { pub dims: Vec<Dim>, pub axis: usize, pub dtype: DType }
}

impl OpDef for Iota {
    const NAME: &'static str = "iota";

    fn arity(&self) -> Arity {
        Arity::exactly(0)
    }

    fn infer(&self, cx: &mut InferCx, _ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        check_axis(self.axis, self.dims.len())?;
        if !(self.dtype.is_float() || self.dtype.is_int()) {
            return Err(Mismatch::new(format!("{} can't hold positions", self.dtype)));
        }
        for d in &self.dims {
            cx.require(Cmp::Ge, d, &Dim::from(0), "a size is negative")?;
        }
        Ok(vec![Type::tensor(self.dtype, &self.dims)])
    }

    fn elems(&self, _ins: &[Fact], out: &TensorType) -> Option<Vec<Dim>> {
        let positions = self.positions(&out.static_shape()?);
        positions.into_iter().map(|p| i64::try_from(self.dtype.wrap_int(p)).ok().map(Dim::from)).collect()
    }

    fn eval(&self, cx: &EvalCx, _ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let (dtype, shape) = cx.out(0)?;
        let positions = self.positions(&shape).into_iter();
        Ok(vec![Value::Tensor(if dtype.is_float() {
            Tensor::from_floats(dtype, shape, positions.map(|p| p as f64))
        } else {
            Tensor::from_ints(dtype, shape, positions)
        })])
    }
}

impl Iota {
    fn positions(&self, shape: &[usize]) -> Vec<i128> {
        let mut out = Vec::new();
        for_each_index(shape, |index| out.push(index[self.axis] as i128));
        out
    }
}
