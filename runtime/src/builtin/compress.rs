//! Keeps the rows that a mask selects.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::{Builtin, Routine, resolve_axis, split_at_axis};
use crate::executor::{Call, Outcome};
use crate::object::element_count;

/// ONNX Compress. Arguments: tensor (also of strings), mask (bool vector, missing elements are false). Result: the
/// selected rows of the axis, or the selected elements of the flattened tensor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compress {
    pub axis: Option<i64>,
}

impl Builtin for Compress {
    const NAME: &'static str = "compress";
    const INPUTS: RangeInclusive<usize> = 2..=2;
    const OUTPUTS: RangeInclusive<usize> = 1..=1;
}

impl Routine for Compress {
    fn run(&self, call: &mut Call<'_>) -> Outcome {
        let mask = call.tensor(1)?.bytes;
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
        if mask.len() > n {
            return Err(format!("the mask has {} elements, the axis {n}", mask.len()).into());
        }
        let selected = || mask.iter().enumerate().filter(|(_, bit)| **bit != 0).map(|(at, _)| at);
        out_shape[axis] = selected().count() as i64;
        let rows = (0..outer).flat_map(|o| selected().map(move |at| (o * n + at) * inner));
        match strings {
            Some((_, strings)) => {
                let kept = rows.flat_map(|row| strings[row..row + inner].iter().cloned()).collect();
                call.set_strings(0, &out_shape, kept)
            }
            None => {
                let input = call.tensor(0)?;
                let size = input.dtype.size();
                let out = call.output(0, input.dtype, &out_shape)?;
                if inner > 0 {
                    for (to, row) in out.chunks_exact_mut(inner * size).zip(rows) {
                        to.copy_from_slice(&input.bytes[row * size..][..inner * size]);
                    }
                }
                Ok(())
            }
        }
    }
}
