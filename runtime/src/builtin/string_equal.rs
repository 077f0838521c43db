//! Compares two string tensors element by element.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::broadcast::{broadcast, source_indices};
use super::{Builtin, Routine};
use crate::executor::{Call, Outcome};
use crate::package::DType;

/// ONNX Equal on strings. Arguments: two string tensors, broadcast. Result: bool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StringEqual {}

impl Builtin for StringEqual {
    const NAME: &'static str = "string_equal";
    const INPUTS: RangeInclusive<usize> = 2..=2;
    const OUTPUTS: RangeInclusive<usize> = 1..=1;
}

impl Routine for StringEqual {
    fn run(&self, call: &mut Call<'_>) -> Outcome {
        let ((left_shape, left), (right_shape, right)) = (call.strings(0)?, call.strings(1)?);
        let shape = broadcast(left_shape, right_shape)?;
        let out = call.output(0, DType::Bool, &shape)?;
        let pairs = source_indices(&shape, left_shape).zip(source_indices(&shape, right_shape));
        for (to, (l, r)) in out.iter_mut().zip(pairs) {
            *to = (left[l] == right[r]).into();
        }
        Ok(())
    }
}
