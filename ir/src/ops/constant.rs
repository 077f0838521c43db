//! Constant tensors.

use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::{Tensor, Value};
use crate::types::{DType, Dim, TensorType, Type};

crate::attrs! {
    /// A tensor known at compile time: a weight or a literal.
    pub struct Constant { pub value: Tensor }
}

impl OpDef for Constant {
    const NAME: &'static str = "constant";

    fn arity(&self) -> Arity {
        Arity::exactly(0)
    }

    fn infer(&self, _cx: &mut InferCx, _ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        Ok(vec![self.value.tensor_type().into()])
    }

    fn elems(&self, _ins: &[Fact], out: &TensorType) -> Option<Vec<Dim>> {
        debug_assert!(out.dtype.is_int() || out.dtype == DType::Bool);
        self.value.ints().into_iter().map(|v| i64::try_from(v).ok().map(Dim::from)).collect()
    }

    fn eval(&self, _cx: &EvalCx, _ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        Ok(vec![self.value.clone().into()])
    }
}
