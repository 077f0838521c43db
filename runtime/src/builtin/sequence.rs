//! Sequences of tensors.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::{Builtin, Routine, integers, resolve_axis, split_at_axis};
use crate::executor::{Call, Outcome};
use crate::object::{Data, Object, Tensor};
use crate::package::DType;

/// Arguments: tensors. Result: the sequence of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SequenceConstruct {}

/// Result: an empty sequence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SequenceEmpty {}

/// Arguments: sequence, tensor, optional position (may count from the end; without it, the end). Result: a sequence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SequenceInsert {}

/// Arguments: sequence, optional position (the last without it). Result: a sequence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SequenceErase {}

/// Arguments: sequence, position. Result: the tensor there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SequenceAt {}

/// Argument: sequence. Result: its length, an i64 scalar.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SequenceLength {}

/// Argument: sequence. Result: its tensors joined along an axis, or stacked along a new one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConcatFromSequence {
    pub axis: i64,
    pub new_axis: bool,
}

/// Arguments: tensor, optional split (a scalar size, or a vector of sizes). Result: the sequence of the parts. Without
/// a split the parts have size 1, and without `keepdims` then also no axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SplitToSequence {
    pub axis: i64,
    pub keepdims: bool,
}

/// Table of names and arities: one row a routine.
macro_rules! builtins {
    ($($name:ident $text:literal $inputs:expr;)*) => {$(
        impl Builtin for $name {
            const NAME: &'static str = $text;
            const INPUTS: RangeInclusive<usize> = $inputs;
            const OUTPUTS: RangeInclusive<usize> = 1..=1;
        }
    )*};
}

builtins! {
    SequenceConstruct "sequence_construct" 0..=usize::MAX;
    SequenceEmpty "sequence_empty" 0..=0;
    SequenceInsert "sequence_insert" 2..=3;
    SequenceErase "sequence_erase" 1..=2;
    SequenceAt "sequence_at" 2..=2;
    SequenceLength "sequence_length" 1..=1;
    ConcatFromSequence "concat_from_sequence" 1..=1;
    SplitToSequence "split_to_sequence" 1..=2;
}

impl Routine for SequenceConstruct {
    fn run(&self, call: &mut Call<'_>) -> Outcome {
        let tensors = (0..call.input_count()).map(|index| call.owned(index)).collect::<Outcome<_>>()?;
        call.set(0, Object::Sequence(tensors))
    }
}

impl Routine for SequenceEmpty {
    fn run(&self, call: &mut Call<'_>) -> Outcome {
        call.set(0, Object::Sequence(Vec::new()))
    }
}

impl Routine for SequenceInsert {
    fn run(&self, call: &mut Call<'_>) -> Outcome {
        let mut tensors = call.sequence(0)?.to_vec();
        let tensor = call.owned(1)?;
        let at = position(call, 2, tensors.len(), tensors.len() + 1)?.unwrap_or(tensors.len());
        tensors.insert(at, tensor);
        call.set(0, Object::Sequence(tensors))
    }
}

impl Routine for SequenceErase {
    fn run(&self, call: &mut Call<'_>) -> Outcome {
        let mut tensors = call.sequence(0)?.to_vec();
        match position(call, 1, tensors.len(), tensors.len())?.or(tensors.len().checked_sub(1)) {
            Some(at) => tensors.remove(at),
            None => return Err("the sequence is empty".into()),
        };
        call.set(0, Object::Sequence(tensors))
    }
}

impl Routine for SequenceAt {
    fn run(&self, call: &mut Call<'_>) -> Outcome {
        let tensors = call.sequence(0)?;
        let at = position(call, 1, tensors.len(), tensors.len())?.ok_or("the position is missing")?;
        call.set(0, Object::Tensor(tensors[at].clone()))
    }
}

impl Routine for SequenceLength {
    fn run(&self, call: &mut Call<'_>) -> Outcome {
        let length = call.sequence(0)?.len() as i64;
        call.output(0, DType::I64, &[])?.copy_from_slice(&length.to_ne_bytes());
        Ok(())
    }
}

/// A position argument below `end`, counted from either end of `len` elements.
fn position(call: &Call<'_>, index: usize, len: usize, end: usize) -> Outcome<Option<usize>> {
    if call.optional(index)?.is_none() {
        return Ok(None);
    }
    let stated = call.integer(index)?;
    let from_front = if stated < 0 { stated.checked_add(len as i64) } else { Some(stated) };
    let at = from_front.and_then(|at| usize::try_from(at).ok()).filter(|&at| at < end);
    at.map(Some).ok_or_else(|| format!("position {stated} isn't in a sequence of {len}").into())
}

impl Routine for ConcatFromSequence {
    fn run(&self, call: &mut Call<'_>) -> Outcome {
        let tensors = call.sequence(0)?;
        let first = tensors.first().ok_or("the sequence is empty")?;
        let rank = first.shape.len();
        let axis = resolve_axis(self.axis, rank + usize::from(self.new_axis))?;
        let mut shape = first.shape.clone();
        let mut total: i64 = 0;
        for tensor in tensors {
            let matches = tensor.shape.len() == rank
                && (0..rank).all(|at| !self.new_axis && at == axis || tensor.shape[at] == shape[at]);
            if !matches {
                return Err(
                    format!("tensors of {:?} and {:?} can't be joined", first.shape, tensor.shape).into()
                );
            }
            total += if self.new_axis { 1 } else { tensor.shape[axis] };
        }
        if self.new_axis {
            shape.insert(axis, total);
        } else {
            shape[axis] = total;
        }
        let outer: usize = shape[..axis].iter().product::<i64>() as usize;
        let data = match &first.data {
            Data::Strings(_) => Data::Strings(join(tensors.iter().map(Tensor::as_strings), outer)?),
            Data::Bytes(_) => Data::Bytes(join(tensors.iter().map(Tensor::as_bytes), outer)?),
        };
        call.set(0, Object::Tensor(Tensor { dtype: first.dtype, shape, data }))
    }
}

/// Interleaves the `outer` rows of all parts.
fn join<'a, T: Clone + 'a>(
    parts: impl Iterator<Item = Option<&'a [T]>> + Clone,
    outer: usize,
) -> Outcome<Vec<T>> {
    let mut joined = Vec::new();
    for row in 0..outer {
        for part in parts.clone() {
            let part = part.ok_or("strings and numbers can't be joined")?;
            let length = part.len() / outer;
            joined.extend_from_slice(&part[row * length..][..length]);
        }
    }
    Ok(joined)
}

impl Routine for SplitToSequence {
    fn run(&self, call: &mut Call<'_>) -> Outcome {
        let tensor = call.owned(0)?;
        let axis = resolve_axis(self.axis, tensor.shape.len())?;
        let n = tensor.shape[axis];
        let split = call.optional(1)?;
        let sizes: Vec<i64> = match &split {
            None => vec![1; n as usize],
            Some(split) if split.shape.is_empty() => {
                let size = call.integer(1)?;
                if size <= 0 {
                    return Err(format!("parts of size {size}").into());
                }
                (0..n).step_by(size as usize).map(|start| size.min(n - start)).collect()
            }
            Some(split) => integers(split)?.collect(),
        };
        let total =
            sizes.iter().try_fold(0i64, |sum, &size| if size < 0 { None } else { sum.checked_add(size) });
        if total != Some(n) {
            return Err(format!("parts of sizes {sizes:?} don't make up {n}").into());
        }
        let mut start = 0;
        let mut parts = Vec::with_capacity(sizes.len());
        for size in sizes {
            let mut part = slice(&tensor, axis, start as usize, size as usize);
            if split.is_none() && !self.keepdims {
                part.shape.remove(axis);
            }
            parts.push(part);
            start += size;
        }
        call.set(0, Object::Sequence(parts))
    }
}

/// Rows `start..start + size` along an axis.
fn slice(tensor: &Tensor, axis: usize, start: usize, size: usize) -> Tensor {
    fn rows<T: Clone>(from: &[T], outer: usize, n: usize, inner: usize, start: usize, size: usize) -> Vec<T> {
        let row = |o: usize| from[(o * n + start) * inner..][..size * inner].iter().cloned();
        (0..outer).flat_map(row).collect()
    }
    let (outer, n, inner) = split_at_axis(&tensor.shape, axis);
    let mut shape = tensor.shape.clone();
    shape[axis] = size as i64;
    let data = match &tensor.data {
        Data::Strings(strings) => Data::Strings(rows(strings, outer, n, inner, start, size)),
        Data::Bytes(bytes) => Data::Bytes(rows(bytes, outer, n, inner * tensor.dtype.size(), start, size)),
    };
    Tensor { dtype: tensor.dtype, shape, data }
}
