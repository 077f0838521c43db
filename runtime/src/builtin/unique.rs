//! The distinct elements of a tensor, or its distinct slices along an axis.

use std::cmp::Ordering;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::{Builtin, Routine, order, resolve_axis, split_at_axis};
use crate::executor::{Call, Outcome};
use crate::object::element_count;
use crate::package::DType;

/// ONNX Unique. Argument: a tensor (also of strings). Results: the distinct slices (ascending when `sorted`, else in
/// order of appearance), the index of each one's first appearance, for each slice the index of its class, and how many
/// there are of each. Without an axis the elements are compared. All NaN are one class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unique {
    pub axis: Option<i64>,
    pub sorted: bool,
}

impl Builtin for Unique {
    const NAME: &'static str = "unique";
    const INPUTS: RangeInclusive<usize> = 1..=1;
    const OUTPUTS: RangeInclusive<usize> = 1..=4;
}

/// The classes of equal slices.
struct Classes {
    /// First slice of each class.
    first: Vec<usize>,
    /// Class of each slice.
    class: Vec<usize>,
    counts: Vec<i64>,
}

impl Routine for Unique {
    fn run(&self, call: &mut Call<'_>) -> Outcome {
        let strings = call.object(0).map(|_| call.strings(0)).transpose()?;
        let shape = match strings {
            Some((shape, _)) => shape,
            None => call.tensor(0)?.shape,
        };
        let mut out_shape = shape.to_vec();
        let axis = match self.axis {
            Some(axis) => resolve_axis(axis, shape.len())?,
            None => {
                out_shape = vec![element_count(shape).unwrap_or(0) as i64];
                0
            }
        };
        let (outer, n, inner) = split_at_axis(&out_shape, axis);
        let element = |slice: usize, at: usize| ((at / inner.max(1)) * n + slice) * inner + at % inner.max(1);
        let length = outer * inner;

        let classes = match strings {
            Some((_, strings)) => classify(n, self.sorted, |a, b| {
                compare(length, |at| strings[element(a, at)].cmp(&strings[element(b, at)]))
            }),
            None => {
                let input = call.tensor(0)?;
                let (key, size) = (order::key(input.dtype)?, input.dtype.size());
                let key = |slice, at| key(&input.bytes[element(slice, at) * size..][..size]);
                classify(n, self.sorted, |a, b| compare(length, |at| key(a, at).cmp(&key(b, at))))
            }
        };

        let count = classes.first.len();
        out_shape[axis] = count as i64;
        let rows = (0..outer).flat_map(|o| classes.first.iter().map(move |&slice| (o * n + slice) * inner));
        match strings {
            Some((_, strings)) => {
                let kept = rows.flat_map(|row| strings[row..row + inner].iter().cloned()).collect();
                call.set_strings(0, &out_shape, kept)?;
            }
            None => {
                let input = call.tensor(0)?;
                let size = input.dtype.size();
                let out = call.output(0, input.dtype, &out_shape)?;
                for (to, row) in out.chunks_exact_mut((inner * size).max(1)).zip(rows) {
                    to.copy_from_slice(&input.bytes[row * size..][..inner * size]);
                }
            }
        }
        let firsts: Vec<i64> = classes.first.iter().map(|&at| at as i64).collect();
        let inverse: Vec<i64> = classes.class.iter().map(|&at| at as i64).collect();
        for (index, numbers) in [(1, &firsts), (2, &inverse), (3, &classes.counts)] {
            let out = call.output(index, DType::I64, &[numbers.len() as i64])?;
            for (to, number) in out.chunks_exact_mut(8).zip(numbers) {
                to.copy_from_slice(&number.to_ne_bytes());
            }
        }
        Ok(())
    }
}

fn compare(length: usize, at: impl Fn(usize) -> Ordering) -> Ordering {
    (0..length).map(at).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

fn classify(n: usize, sorted: bool, compare: impl Fn(usize, usize) -> Ordering) -> Classes {
    let mut order: Vec<usize> = (0..n).collect();
    // Stable: the first of a run of equal slices is the first to appear.
    order.sort_by(|&a, &b| compare(a, b));
    let mut first = Vec::new();
    let mut counts: Vec<i64> = Vec::new();
    let mut class = vec![0; n];
    for (position, &slice) in order.iter().enumerate() {
        if position == 0 || compare(order[position - 1], slice).is_ne() {
            first.push(slice);
            counts.push(0);
        }
        class[slice] = first.len() - 1;
        counts[first.len() - 1] += 1;
    }
    if sorted {
        return Classes { first, class, counts };
    }
    let mut by_appearance: Vec<usize> = (0..first.len()).collect();
    by_appearance.sort_by_key(|&c| first[c]);
    let mut renamed = vec![0; first.len()];
    for (new, &old) in by_appearance.iter().enumerate() {
        renamed[old] = new;
    }
    Classes {
        first: by_appearance.iter().map(|&c| first[c]).collect(),
        class: class.into_iter().map(|c| renamed[c]).collect(),
        counts: by_appearance.iter().map(|&c| counts[c]).collect(),
    }
}
