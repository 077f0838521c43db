//! Joins two string tensors element by element.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::broadcast::{broadcast, source_indices};
use super::{Builtin, Routine};
use crate::executor::{Call, Outcome};

/// ONNX StringConcat. Arguments: two string tensors, broadcast. Result: their elements joined.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StringConcat {}

impl Builtin for StringConcat {
    const NAME: &'static str = "string_concat";
    const INPUTS: RangeInclusive<usize> = 2..=2;
    const OUTPUTS: RangeInclusive<usize> = 1..=1;
}

impl Routine for StringConcat {
    fn run(&self, call: &mut Call<'_>) -> Outcome {
        let ((left_shape, left), (right_shape, right)) = (call.strings(0)?, call.strings(1)?);
        let shape = broadcast(left_shape, right_shape)?;
        let joined = source_indices(&shape, left_shape)
            .zip(source_indices(&shape, right_shape))
            .map(|(l, r)| format!("{}{}", left[l], right[r]))
            .collect();
        call.set_strings(0, &shape, joined)
    }
}
