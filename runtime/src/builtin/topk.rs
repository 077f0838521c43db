//! The k largest or smallest elements along an axis, and sorting, which is the same with all elements.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::{Builtin, Routine, order, resolve_axis, split_at_axis};
use crate::executor::{Call, Outcome};
use crate::package::DType;

/// ONNX TopK. Arguments: tensor, k (i64). Results: values, indices (i64). Equal elements come in the order of their
/// index; NaN counts as the largest number. The result is sorted whether or not that was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TopK {
    pub axis: i64,
    pub largest: bool,
}

/// Arguments: tensor. Results: values, indices (i64). Stable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sort {
    pub axis: i64,
    pub descending: bool,
}

impl Builtin for TopK {
    const NAME: &'static str = "topk";
    const INPUTS: RangeInclusive<usize> = 2..=2;
    const OUTPUTS: RangeInclusive<usize> = 2..=2;
}

impl Builtin for Sort {
    const NAME: &'static str = "sort";
    const INPUTS: RangeInclusive<usize> = 1..=1;
    const OUTPUTS: RangeInclusive<usize> = 1..=2;
}

impl Routine for TopK {
    fn run(&self, call: &mut Call<'_>) -> Outcome {
        let k = call.integer(1)?;
        select(call, self.axis, Some(k), self.largest)
    }

    fn scratch(&self, inputs: &[Option<u64>]) -> u64 {
        scratch_bytes(inputs)
    }
}

impl Routine for Sort {
    fn run(&self, call: &mut Call<'_>) -> Outcome {
        select(call, self.axis, None, self.descending)
    }

    fn scratch(&self, inputs: &[Option<u64>]) -> u64 {
        scratch_bytes(inputs)
    }
}

/// A pair of key and index for each element of a row, which is at most the whole tensor.
fn scratch_bytes(inputs: &[Option<u64>]) -> u64 {
    let elements = inputs.first().copied().flatten().unwrap_or(0);
    elements.saturating_mul(size_of::<(u64, u64)>() as u64)
}

fn select(call: &mut Call<'_>, axis: i64, k: Option<i64>, largest: bool) -> Outcome {
    let input = call.tensor(0)?;
    let axis = resolve_axis(axis, input.shape.len())?;
    let (outer, n, inner) = split_at_axis(input.shape, axis);
    let k = k.map_or(Some(n), |k| usize::try_from(k).ok()).filter(|&k| k <= n);
    let k = k.ok_or_else(|| format!("k must be from 0 to {n}, the size of axis {axis}"))?;
    let key = order::key(input.dtype)?;
    let size = input.dtype.size();

    // The shape of the results is the argument's but for one axis; no list of it is allocated.
    let values = call.output_resized(0, input.dtype, input.shape, axis, k as i64)?;
    let indices = call.output_resized(1, DType::I64, input.shape, axis, k as i64)?;
    let row = call.scratch::<(u64, u64)>(n)?;
    for o in 0..outer {
        for i in 0..inner {
            let element = |at: usize| ((o * n + at) * inner + i) * size;
            for (at, pair) in row.iter_mut().enumerate() {
                let key = key(&input.bytes[element(at)..][..size]);
                *pair = (if largest { !key } else { key }, at as u64);
            }
            if k < n && k > 0 {
                row.select_nth_unstable(k - 1);
            }
            row[..k].sort_unstable();
            for (rank, &(_, at)) in row[..k].iter().enumerate() {
                let to = (o * k + rank) * inner + i;
                if !values.is_empty() {
                    values[to * size..][..size].copy_from_slice(&input.bytes[element(at as usize)..][..size]);
                }
                if !indices.is_empty() {
                    indices[to * 8..][..8].copy_from_slice(&(at as i64).to_ne_bytes());
                }
            }
        }
    }
    Ok(())
}
