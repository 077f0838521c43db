//! Sequences: lists of values of one type, whose extents may differ.

use super::join::{element_type, open, single};
use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::{Tensor, Value};
use crate::types::{DType, Type};

crate::attrs! {
    /// A sequence of the inputs, in order. Extents that differ between them vary in its element type; tensors of
    /// different rank make it unranked.
    pub struct SequenceConstruct {}
}

crate::attrs! {
    /// An empty sequence whose elements would be of type `ty`.
    pub struct SequenceEmpty { pub ty: Type }
}

crate::attrs! {
    /// The sequence with a value inserted in front of position `pos` (one i64; negative counts from the end). Inputs:
    /// sequence, value, and optionally pos; without it the value goes to the end.
    pub struct SequenceInsert {}
}

crate::attrs! {
    /// The sequence without the element at `pos` (one i64; negative counts from the end). Inputs: sequence, and
    /// optionally pos; without it the last element goes.
    pub struct SequenceErase {}
}

crate::attrs! {
    /// The element of a sequence at `pos` (one i64; negative counts from the end). Inputs: sequence, pos.
    pub struct SequenceAt {}
}

crate::attrs! {
    /// The number of elements of a sequence: an i64 scalar.
    pub struct SequenceLength {}
}

impl OpDef for SequenceConstruct {
    const NAME: &'static str = "sequence_construct";

    fn arity(&self) -> Arity {
        Arity::at_least(1)
    }

    fn infer(&self, _cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        let first = ins[0].ty.clone();
        let ty = ins[1..].iter().try_fold(first, |acc, fact| element_type(&acc, fact.ty))?;
        Ok(vec![Type::Sequence(Box::new(ty))])
    }

    fn eval(&self, _cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        Ok(vec![Value::Sequence(ins.to_vec())])
    }
}

impl OpDef for SequenceEmpty {
    const NAME: &'static str = "sequence_empty";

    fn arity(&self) -> Arity {
        Arity::exactly(0)
    }

    fn infer(&self, _cx: &mut InferCx, _ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        Ok(vec![Type::Sequence(Box::new(self.ty.clone()))])
    }

    fn eval(&self, _cx: &EvalCx, _ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        Ok(vec![Value::Sequence(Vec::new())])
    }
}

impl OpDef for SequenceInsert {
    const NAME: &'static str = "sequence_insert";

    fn arity(&self) -> Arity {
        Arity::between(2, 3)
    }

    fn infer(&self, cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        position_type(cx, ins.get(2))?;
        Ok(vec![Type::Sequence(Box::new(element_type(element(&ins[0])?, ins[1].ty)?))])
    }

    fn eval(&self, _cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let mut elems = elements(&ins[0])?.to_vec();
        let at = ins.get(2).map_or(Ok(elems.len()), |p| position(p, elems.len(), elems.len() + 1))?;
        elems.insert(at, ins[1].clone());
        Ok(vec![Value::Sequence(elems)])
    }
}

impl OpDef for SequenceErase {
    const NAME: &'static str = "sequence_erase";

    fn arity(&self) -> Arity {
        Arity::between(1, 2)
    }

    fn infer(&self, cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        position_type(cx, ins.get(1))?;
        element(&ins[0])?;
        Ok(vec![ins[0].ty.clone()])
    }

    fn eval(&self, _cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let mut elems = elements(&ins[0])?.to_vec();
        let last = Value::Tensor(Tensor::scalar_int(DType::I64, -1));
        let at = position(ins.get(1).unwrap_or(&last), elems.len(), elems.len())?;
        elems.remove(at);
        Ok(vec![Value::Sequence(elems)])
    }
}

impl OpDef for SequenceAt {
    const NAME: &'static str = "sequence_at";

    fn arity(&self) -> Arity {
        Arity::exactly(2)
    }

    fn infer(&self, cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        position_type(cx, ins.get(1))?;
        Ok(vec![open(cx, element(&ins[0])?, 0)])
    }

    fn eval(&self, _cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let elems = elements(&ins[0])?;
        Ok(vec![elems[position(&ins[1], elems.len(), elems.len())?].clone()])
    }
}

impl OpDef for SequenceLength {
    const NAME: &'static str = "sequence_length";

    fn arity(&self) -> Arity {
        Arity::exactly(1)
    }

    fn infer(&self, _cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        element(&ins[0])?;
        Ok(vec![crate::types::TensorType::scalar(DType::I64).into()])
    }

    fn eval(&self, _cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let n = elements(&ins[0])?.len();
        Ok(vec![Tensor::scalar_int(DType::I64, n as i128).into()])
    }
}

/// The element type of a sequence operand.
pub(super) fn element<'a>(fact: &Fact<'a>) -> Result<&'a Type, Mismatch> {
    match fact.ty {
        Type::Sequence(e) => Ok(e),
        other => Err(Mismatch::new(format!("expected a sequence, got {other}"))),
    }
}

/// The elements of a sequence operand.
pub(super) fn elements(value: &Value) -> Result<&[Value], EvalError> {
    match value {
        Value::Sequence(elems) => Ok(elems),
        Value::Tensor(_) | Value::Optional(_) => Err(EvalError::new("expected a sequence")),
    }
}

fn position_type(cx: &mut InferCx, fact: Option<&Fact>) -> Result<(), Mismatch> {
    fact.map_or(Ok(()), |f| single(cx, f, DType::I64, "the position"))
}

/// A position below `end` in a sequence of `len` elements.
fn position(value: &Value, len: usize, end: usize) -> Result<usize, EvalError> {
    let given = value.tensor().ints().first().copied().unwrap_or(0);
    let at = if given < 0 { given + len as i128 } else { given };
    usize::try_from(at)
        .ok()
        .filter(|p| *p < end)
        .ok_or_else(|| EvalError::new(format!("position {given} in a sequence of {len}")))
}
