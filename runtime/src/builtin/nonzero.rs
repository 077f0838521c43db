//! Positions of the elements that aren't zero.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::{Builtin, Routine};
use crate::executor::{Call, Outcome};
use crate::package::DType;

/// ONNX NonZero. Argument: a tensor. Result: i64[rank, count], positions in row-major order; a scalar has no axes, so [0, 1] or [0, 0].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NonZero {}

impl Builtin for NonZero {
    const NAME: &'static str = "nonzero";
    const INPUTS: RangeInclusive<usize> = 1..=1;
    const OUTPUTS: RangeInclusive<usize> = 1..=1;
}

impl Routine for NonZero {
    fn run(&self, call: &mut Call<'_>) -> Outcome {
        let input = call.tensor(0)?;
        let size = input.dtype.size();
        let is_nonzero = nonzero_test(input.dtype);
        let elements = || input.bytes.chunks_exact(size);
        let count = elements().filter(|element| is_nonzero(element)).count();
        let out = call.output(0, DType::I64, &[input.shape.len() as i64, count as i64])?;
        let mut at = 0;
        for (index, _) in elements().enumerate().filter(|(_, element)| is_nonzero(element)) {
            let mut rest = index as i64;
            for axis in (0..input.shape.len()).rev() {
                let to = (axis * count + at) * 8;
                out[to..to + 8].copy_from_slice(&(rest % input.shape[axis]).to_ne_bytes());
                rest /= input.shape[axis];
            }
            at += 1;
        }
        Ok(())
    }
}

/// Whether an element isn't zero: any bit is set, but for the sign of a float.
fn nonzero_test(dtype: DType) -> fn(&[u8]) -> bool {
    match dtype {
        DType::F64 | DType::F32 | DType::F16 | DType::BF16 | DType::F8E4M3FN | DType::F8E5M2 => |element| {
            let (last, rest) = element.split_last().unwrap_or((&0, &[]));
            last & 0x7f != 0 || rest.iter().any(|&byte| byte != 0)
        },
        DType::C64 => |element| element.chunks_exact(4).any(nonzero_test(DType::F32)),
        DType::C128 => |element| element.chunks_exact(8).any(nonzero_test(DType::F64)),
        DType::F4E2M1 => |element| element[0] & 7 != 0,
        // The exponent-only type has no zero.
        DType::F8E8M0 => |_| true,
        _ => |element| element.iter().any(|&byte| byte != 0),
    }
}
