//! Optional values.

use super::join::open;
use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::{Tensor, Value};
use crate::types::{DType, TensorType, Type};

crate::attrs! {
    /// An absent optional whose content would be of type `ty`.
    pub struct OptionalNone { pub ty: Type }
}

crate::attrs! {
    /// An optional that holds the input.
    pub struct OptionalSome {}
}

crate::attrs! {
    /// The content of an optional; an absent one is an error.
    pub struct OptionalGet {}
}

crate::attrs! {
    /// Whether an optional holds something: a bool scalar.
    pub struct OptionalHas {}
}

impl OpDef for OptionalNone {
    const NAME: &'static str = "optional_none";

    fn arity(&self) -> Arity {
        Arity::exactly(0)
    }

    fn infer(&self, _cx: &mut InferCx, _ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        Ok(vec![Type::Optional(Box::new(self.ty.clone()))])
    }

    fn eval(&self, _cx: &EvalCx, _ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        Ok(vec![Value::Optional(None)])
    }
}

impl OpDef for OptionalSome {
    const NAME: &'static str = "optional_some";

    fn arity(&self) -> Arity {
        Arity::exactly(1)
    }

    fn infer(&self, _cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        Ok(vec![Type::Optional(Box::new(ins[0].ty.clone()))])
    }

    fn eval(&self, _cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        Ok(vec![Value::Optional(Some(Box::new(ins[0].clone())))])
    }
}

impl OpDef for OptionalGet {
    const NAME: &'static str = "optional_get";

    fn arity(&self) -> Arity {
        Arity::exactly(1)
    }

    fn infer(&self, cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        Ok(vec![open(cx, content(&ins[0])?, 0)])
    }

    fn eval(&self, _cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        match &ins[0] {
            Value::Optional(Some(v)) => Ok(vec![(**v).clone()]),
            _ => Err(EvalError::new("the optional is absent")),
        }
    }
}

impl OpDef for OptionalHas {
    const NAME: &'static str = "optional_has";

    fn arity(&self) -> Arity {
        Arity::exactly(1)
    }

    fn infer(&self, _cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        content(&ins[0])?;
        Ok(vec![TensorType::scalar(DType::Bool).into()])
    }

    fn eval(&self, _cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let has = matches!(&ins[0], Value::Optional(Some(_)));
        Ok(vec![Tensor::scalar_int(DType::Bool, has.into()).into()])
    }
}

/// The type of what an optional operand holds.
fn content<'a>(fact: &Fact<'a>) -> Result<&'a Type, Mismatch> {
    match fact.ty {
        Type::Optional(e) => Ok(e),
        other => Err(Mismatch::new(format!("expected an optional, got {other}"))),
    }
}
