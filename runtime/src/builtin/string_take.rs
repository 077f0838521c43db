//! Picks elements of string tensors by index. Any movement of strings (transpose, slice, concat, pad, where...) is a
//! `StringTake` whose indices the compiler computes as it would move numbers.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::{Builtin, Routine, integers, resolve_axis, split_at_axis};
use crate::executor::{Call, Outcome};

/// Arguments: string tensors, then an integer tensor of positions in the flattened, joined elements of all of them.
/// Result: the strings there, in the shape of the positions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StringTake {}

/// ONNX Gather on strings. Arguments: strings, indices (may count from the end).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StringGather {
    pub axis: i64,
}

impl Builtin for StringTake {
    const NAME: &'static str = "string_take";
    const INPUTS: RangeInclusive<usize> = 2..=usize::MAX;
    const OUTPUTS: RangeInclusive<usize> = 1..=1;
}

impl Builtin for StringGather {
    const NAME: &'static str = "string_gather";
    const INPUTS: RangeInclusive<usize> = 2..=2;
    const OUTPUTS: RangeInclusive<usize> = 1..=1;
}

impl Routine for StringTake {
    fn run(&self, call: &mut Call<'_>) -> Outcome {
        let last = call.input_count() - 1;
        let mut all: Vec<&String> = Vec::new();
        for index in 0..last {
            all.extend(call.strings(index)?.1);
        }
        let positions = call.tensor(last)?;
        let picked = integers(&positions)?
            .map(|at| pick(at, all.len()).map(|at| all[at].clone()))
            .collect::<Outcome<_>>()?;
        // The positions may have been computed flat: the declared shape decides.
        let shape = call.declared_shape(0)?;
        call.set_strings(0, &shape, picked)
    }
}

impl Routine for StringGather {
    fn run(&self, call: &mut Call<'_>) -> Outcome {
        let (shape, strings) = call.strings(0)?;
        let indices = call.tensor(1)?;
        let axis = resolve_axis(self.axis, shape.len())?;
        let (outer, n, inner) = split_at_axis(shape, axis);
        let rows = integers(&indices)?.map(|at| pick(at, n)).collect::<Outcome<Vec<usize>>>()?;
        let picked = (0..outer)
            .flat_map(|o| rows.iter().map(move |row| (o * n + row) * inner))
            .flat_map(|start| strings[start..start + inner].iter().cloned())
            .collect();
        let shape = [&shape[..axis], indices.shape, &shape[axis + 1..]].concat();
        call.set_strings(0, &shape, picked)
    }
}

/// An index counted from either end.
fn pick(index: i64, len: usize) -> Outcome<usize> {
    let from_front = if index < 0 { index.checked_add(len as i64) } else { Some(index) };
    let at = from_front.and_then(|at| usize::try_from(at).ok()).filter(|&at| at < len);
    at.ok_or_else(|| format!("index {index} isn't in an axis of {len}").into())
}
