//! Between sequences and tensors: concatenation and splitting.

use super::assemble::join_along;
use super::binary::fact_elems;
use super::join::{open, varying};
use super::lanes::Lanes;
use super::sequence::{element, elements};
use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::{Tensor, Value};
use crate::types::{Dim, TensorType, Type};

crate::attrs! {
    /// The tensors of a sequence joined along `axis`, or with `new_axis` stacked along a new axis there. Other
    /// extents must be equal; the sequence must not be empty.
    pub struct ConcatFromSequence { pub axis: usize, pub new_axis: bool }
}

crate::attrs! {
    /// A tensor cut along `axis` into a sequence. Inputs: x, and optionally the lengths: one integer (the last part
    /// may be shorter) or a list of them that adds up to the extent. Without lengths every slice is a part, with
    /// extent 1 along the axis if `keepdims`, else without the axis.
    pub struct SplitToSequence { pub axis: usize, pub keepdims: bool }
}

impl OpDef for ConcatFromSequence {
    const NAME: &'static str = "concat_from_sequence";

    fn arity(&self) -> Arity {
        Arity::exactly(1)
    }

    fn infer(&self, cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        let Type::Tensor(t) = element(&ins[0])? else {
            return Err(Mismatch::new(format!("the elements of {} have no known rank", ins[0].ty)));
        };
        if self.axis >= t.rank() + usize::from(self.new_axis) {
            return Err(Mismatch::new(format!("{t} has no axis {}", self.axis)));
        }
        let mut joined = t.clone();
        if self.new_axis {
            joined.shape.insert(self.axis, varying());
        } else {
            joined.shape[self.axis] = varying();
        }
        Ok(vec![open(cx, &joined.into(), 0)])
    }

    fn eval(&self, _cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let mut parts: Vec<Tensor> = elements(&ins[0])?.iter().map(|v| v.tensor().clone()).collect();
        if self.new_axis {
            for p in &mut parts {
                let mut shape = p.shape().to_vec();
                shape.insert(self.axis.min(shape.len()), 1);
                *p = p.reshaped(shape);
            }
        }
        let Some(first) = parts.first() else {
            return Err(EvalError::new("an empty sequence can't be joined"));
        };
        let fits = |p: &Tensor| {
            let mut shape = p.shape().to_vec();
            let same_rank = shape.len() == first.rank() && self.axis < shape.len();
            same_rank && {
                shape[self.axis] = first.shape()[self.axis];
                shape == first.shape()
            }
        };
        if let Some(odd) = parts.iter().find(|p| !fits(p)) {
            let shapes = format!("{:?} and {:?}", first.shape(), odd.shape());
            return Err(EvalError::new(format!("elements of shapes {shapes} can't be joined")));
        }
        Ok(vec![join_along(self.axis, &parts).into()])
    }
}

impl OpDef for SplitToSequence {
    const NAME: &'static str = "split_to_sequence";

    fn arity(&self) -> Arity {
        Arity::between(1, 2)
    }

    fn infer(&self, _cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        let x = ins[0].tensor()?;
        if self.axis >= x.rank() {
            return Err(Mismatch::new(format!("{x} has no axis {}", self.axis)));
        }
        let mut part: TensorType = x.clone();
        match ins.get(1) {
            None if self.keepdims => part.shape[self.axis] = Dim::from(1),
            None => drop(part.shape.remove(self.axis)),
            Some(lengths) => {
                let t = lengths.tensor()?;
                if !t.dtype.is_int() || t.rank() > 1 {
                    return Err(Mismatch::new(format!("lengths should be one integer or a list, are {t}")));
                }
                part.shape[self.axis] = part_extent(&x.shape[self.axis], lengths);
            }
        }
        Ok(vec![Type::Sequence(Box::new(part.into()))])
    }

    fn eval(&self, _cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let x = ins[0].tensor();
        let lanes = Lanes::new(x.shape(), self.axis);
        let lengths = match ins.get(1) {
            None => vec![1; lanes.len],
            Some(v) => lengths(v.tensor(), lanes.len)?,
        };
        let mut start = 0;
        let mut parts = Vec::with_capacity(lengths.len());
        for n in lengths {
            let mut shape = x.shape().to_vec();
            shape[self.axis] = n;
            let from = (0..lanes.outer).flat_map(|o| {
                let first = (o * lanes.len + start) * lanes.inner;
                first..first + n * lanes.inner
            });
            let mut part = x.gather_linear(shape.clone(), from.collect::<Vec<_>>());
            if ins.len() == 1 && !self.keepdims {
                shape.remove(self.axis);
                part = part.reshaped(shape);
            }
            parts.push(part.into());
            start += n;
        }
        Ok(vec![Value::Sequence(parts)])
    }
}

/// The extent of every part along the axis, where they are all alike.
fn part_extent(extent: &Dim, lengths: &Fact) -> Dim {
    let known = fact_elems(lengths).filter(|e| !e.is_empty());
    let list = lengths.ty.as_tensor().is_some_and(|t| t.rank() == 1);
    match known.as_deref() {
        Some([first, rest @ ..]) if list && rest.iter().all(|d| d == first) => first.clone(),
        Some([n]) if !list && n.as_const().is_some_and(|n| n > 0) && extent.modulo(n).is_const(0) => {
            n.clone()
        }
        _ => varying(),
    }
}

/// Lengths of the parts of an axis of extent `len`.
fn lengths(given: &Tensor, len: usize) -> Result<Vec<usize>, EvalError> {
    let natural = |v: &i128| {
        usize::try_from(*v).map_err(|_| EvalError::new(format!("a part can't have the length {v}")))
    };
    let list: Vec<usize> = given.ints().iter().map(natural).collect::<Result<_, _>>()?;
    if given.rank() == 0 {
        let Some(n) = list.first().copied().filter(|n| *n > 0) else {
            return Err(EvalError::new("a part can't have the length 0"));
        };
        return Ok((0..len).step_by(n).map(|start| (len - start).min(n)).collect());
    }
    let total = list.iter().try_fold(0usize, |acc, n| acc.checked_add(*n));
    if total != Some(len) {
        return Err(EvalError::new(format!("parts {list:?} of an axis of {len}")));
    }
    Ok(list)
}
