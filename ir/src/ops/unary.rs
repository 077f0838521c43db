//! Functions of one tensor, element by element.

use super::scalar::UnaryKind;
use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::{Tensor, Value};
use crate::types::{DType, Dim, TensorType, Type};

crate::attrs! {
    /// `y = kind(x)`, elementwise. Keeps the element type, except `is_nan`, which gives bool.
    pub struct Unary { pub kind: UnaryKind }
}

impl OpDef for Unary {
    const NAME: &'static str = "unary";

    fn arity(&self) -> Arity {
        Arity::exactly(1)
    }

    fn infer(&self, _cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        let x = ins[0].tensor()?;
        let allowed = match (self.kind, x.dtype) {
            (UnaryKind::Not, d) => d == DType::Bool || d.is_int(),
            (kind, d) => d.is_float() || (d.is_int() && kind.takes_ints()),
        };
        if !allowed {
            return Err(Mismatch::new(format!("{} isn't defined on {}", self.kind.name(), x.dtype)));
        }
        let dtype = if self.kind == UnaryKind::IsNan { DType::Bool } else { x.dtype };
        Ok(vec![Type::tensor(dtype, &x.shape)])
    }

    fn elems(&self, ins: &[Fact], out: &TensorType) -> Option<Vec<Dim>> {
        let elems = ins[0].elems?;
        match self.kind {
            UnaryKind::Neg => Some(elems.iter().map(|d| Dim::from(0) - d.clone()).collect()),
            UnaryKind::Not if out.dtype == DType::Bool => {
                Some(elems.iter().map(|d| Dim::from(1) - d.clone()).collect())
            }
            UnaryKind::Ceil | UnaryKind::Floor | UnaryKind::Round | UnaryKind::Trunc => Some(elems.to_vec()),
            _ => None,
        }
    }

    fn eval(&self, cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let x = ins[0].tensor();
        let (dtype, shape) = cx.out(0)?;
        Ok(vec![Value::Tensor(match (x.dtype().is_float(), dtype.is_float()) {
            (true, true) => Tensor::from_floats(dtype, shape, x.floats().iter().map(|v| self.kind.float(*v))),
            (true, false) => {
                Tensor::from_ints(dtype, shape, x.floats().iter().map(|v| self.kind.float(*v) as i128))
            }
            _ => Tensor::from_ints(dtype, shape, x.ints().iter().map(|v| self.kind.int(dtype, *v))),
        })])
    }

    fn is_elementwise(&self) -> bool {
        true
    }
}
