//! Positions of the elements that aren't zero.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::{Builtin, Routine};
use crate::executor::{Call, Outcome};
use crate::package::DType;

/// ONNX NonZero. Argument: a tensor. Result: i64[rank, count], positions in row-major order.
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
        // A scalar counts as a vector of one element, as in numpy.
        let shape = if input.shape.is_empty() { &[1] } else { input.shape };
        let size = input.dtype.size();
        let is_nonzero = nonzero_test(input.dtype);
        let elements = || input.bytes.chunks_exact(size);
        let count = elements().filter(|element| is_nonzero(element)).count();
        let out = call.output(0, DType::I64, &[input.shape.len().max(1) as i64, count as i64])?;
        let mut at = 0;
        for (index, _) in elements().enumerate().filter(|(_, element)| is_nonzero(element)) {
            let mut rest = index as i64;
            for axis in (0..shape.len()).rev() {
                let to = (axis * count + at) * 8;
                out[to..to + 8].copy_from_slice(&(rest % shape[axis]).to_ne_bytes());
                rest /= shape[axis];
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
