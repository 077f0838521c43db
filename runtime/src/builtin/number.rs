//! Reads and writes elements of any numeric type.

use crate::executor::{Input, Outcome};
use crate::package::DType;

/// The elements of an integer or bool tensor.
pub(crate) fn integers<'a>(input: &Input<'a>) -> Outcome<impl Iterator<Item = i64> + use<'a>> {
    let read: fn(&[u8]) -> i64 = match input.dtype {
        DType::I64 => |b| i64::from_ne_bytes(array(b)),
        DType::I32 => |b| i32::from_ne_bytes(array(b)).into(),
        DType::I16 => |b| i16::from_ne_bytes(array(b)).into(),
        DType::I8 | DType::I4 | DType::I2 => |b| (b[0] as i8).into(),
        // Larger numbers can't be sizes or positions; they wrap to negative ones, which are refused.
        DType::U64 => |b| u64::from_ne_bytes(array(b)) as i64,
        DType::U32 => |b| u32::from_ne_bytes(array(b)).into(),
        DType::U16 => |b| u16::from_ne_bytes(array(b)).into(),
        DType::U8 | DType::U4 | DType::U2 | DType::Bool => |b| b[0].into(),
        other => return Err(format!("integers are needed, not {other}").into()),
    };
    Ok(input.bytes.chunks_exact(input.dtype.size()).map(read))
}

/// The elements of a float or integer tensor, as f64.
pub(crate) fn floats<'a>(input: &Input<'a>) -> Outcome<impl Iterator<Item = f64> + use<'a>> {
    let read: fn(&[u8]) -> f64 = match input.dtype {
        DType::F64 => |b| f64::from_ne_bytes(array(b)),
        DType::F32 => |b| f32::from_ne_bytes(array(b)).into(),
        DType::F16 => |b| f16_to_f32(u16::from_ne_bytes(array(b))).into(),
        DType::BF16 => |b| f32::from_bits(u32::from(u16::from_ne_bytes(array(b))) << 16).into(),
        DType::I64 => |b| i64::from_ne_bytes(array(b)) as f64,
        DType::I32 => |b| i32::from_ne_bytes(array(b)).into(),
        DType::I16 => |b| i16::from_ne_bytes(array(b)).into(),
        DType::I8 | DType::I4 | DType::I2 => |b| (b[0] as i8).into(),
        DType::U64 => |b| u64::from_ne_bytes(array(b)) as f64,
        DType::U32 => |b| u32::from_ne_bytes(array(b)).into(),
        DType::U16 => |b| u16::from_ne_bytes(array(b)).into(),
        DType::U8 | DType::U4 | DType::U2 | DType::Bool => |b| b[0].into(),
        other => return Err(format!("numbers of type {other} aren't supported").into()),
    };
    Ok(input.bytes.chunks_exact(input.dtype.size()).map(read))
}

/// Fills a tensor with numbers, rounded to its type.
pub(crate) fn store_floats(dtype: DType, out: &mut [u8], values: impl Iterator<Item = f64>) -> Outcome {
    let write: fn(&mut [u8], f64) = match dtype {
        DType::F64 => |b, x| b.copy_from_slice(&x.to_ne_bytes()),
        DType::F32 => |b, x| b.copy_from_slice(&(x as f32).to_ne_bytes()),
        DType::F16 => |b, x| b.copy_from_slice(&f32_to_f16(x as f32).to_ne_bytes()),
        DType::BF16 => |b, x| b.copy_from_slice(&f32_to_bf16(x as f32).to_ne_bytes()),
        DType::I64 => |b, x| b.copy_from_slice(&(x as i64).to_ne_bytes()),
        DType::I32 => |b, x| b.copy_from_slice(&(x as i32).to_ne_bytes()),
        DType::I16 => |b, x| b.copy_from_slice(&(x as i16).to_ne_bytes()),
        DType::I8 => |b, x| b.copy_from_slice(&(x as i8).to_ne_bytes()),
        DType::U64 => |b, x| b.copy_from_slice(&(x as u64).to_ne_bytes()),
        DType::U32 => |b, x| b.copy_from_slice(&(x as u32).to_ne_bytes()),
        DType::U16 => |b, x| b.copy_from_slice(&(x as u16).to_ne_bytes()),
        DType::U8 => |b, x| b.copy_from_slice(&(x as u8).to_ne_bytes()),
        DType::Bool => |b, x| b[0] = (x != 0.0).into(),
        other => return Err(format!("results of type {other} aren't supported").into()),
    };
    for (element, value) in out.chunks_exact_mut(dtype.size()).zip(values) {
        write(element, value);
    }
    Ok(())
}

/// Fills a tensor of i32 or i64.
pub(crate) fn store_integers(dtype: DType, out: &mut [u8], values: impl Iterator<Item = i64>) -> Outcome {
    let write: fn(&mut [u8], i64) = match dtype {
        DType::I64 => |b, x| b.copy_from_slice(&x.to_ne_bytes()),
        DType::I32 => |b, x| b.copy_from_slice(&(x as i32).to_ne_bytes()),
        DType::I16 => |b, x| b.copy_from_slice(&(x as i16).to_ne_bytes()),
        DType::I8 => |b, x| b.copy_from_slice(&(x as i8).to_ne_bytes()),
        other => return store_floats(other, out, values.map(|x| x as f64)),
    };
    for (element, value) in out.chunks_exact_mut(dtype.size()).zip(values) {
        write(element, value);
    }
    Ok(())
}

/// The first `N` bytes; elements are cut by their size before.
pub(crate) fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[..N]);
    out
}

pub(crate) fn f16_to_f32(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let magnitude = u32::from(bits & 0x7fff);
    if magnitude >= 0x7c00 {
        return f32::from_bits(sign | 0x7f80_0000 | (magnitude & 0x3ff) << 13);
    }
    // The exponent is rebased by a multiplication, which normalises subnormal numbers as well.
    let scaled = f32::from_bits(magnitude << 13) * f32::from_bits(0x7780_0000);
    f32::from_bits(scaled.to_bits() | sign)
}

/// Rounds to nearest, ties to even.
fn f32_to_f16(x: f32) -> u16 {
    let sign = (x.to_bits() >> 16 & 0x8000) as u16;
    let magnitude = x.to_bits() & 0x7fff_ffff;
    if magnitude > 0x7f80_0000 {
        return sign | 0x7e00;
    }
    if magnitude >= 0x477f_f000 {
        return sign | 0x7c00;
    }
    if magnitude < 0x3880_0000 {
        // Adding a half makes the sum's last bit worth 2^-24, the unit of subnormal halves: the adder rounds.
        let rounded = f32::from_bits(magnitude) + 0.5;
        return sign | (rounded.to_bits() - 0.5f32.to_bits()) as u16;
    }
    let rebased = magnitude - (112 << 23);
    let rounded = (rebased + 0xfff + (rebased >> 13 & 1)) >> 13;
    sign | rounded as u16
}

/// Rounds to nearest, ties to even.
fn f32_to_bf16(x: f32) -> u16 {
    let bits = x.to_bits();
    if x.is_nan() {
        return (bits >> 16) as u16 | 0x40;
    }
    ((u64::from(bits) + 0x7fff + u64::from(bits >> 16 & 1)) >> 16) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_survives_the_round_trip() {
        for bits in 0..=u16::MAX {
            let wide = f16_to_f32(bits);
            if wide.is_nan() {
                assert!(bits & 0x7fff > 0x7c00);
            } else {
                assert_eq!(f32_to_f16(wide), bits, "{wide}");
            }
        }
        assert_eq!(f16_to_f32(0x3c00), 1.0);
        assert_eq!(f16_to_f32(0x0001), 2f32.powi(-24));
        assert_eq!(f16_to_f32(0xfbff), -65504.0);
    }

    #[test]
    fn halves_round_to_even() {
        assert_eq!(f32_to_f16(65519.9), 0x7bff);
        assert_eq!(f32_to_f16(65520.0), 0x7c00);
        assert_eq!(f32_to_f16(1.0 + 2f32.powi(-11)), 0x3c00);
        assert_eq!(f32_to_f16(1.0 + 3.0 * 2f32.powi(-11)), 0x3c02);
        assert_eq!(f32_to_f16(2f32.powi(-25)), 0);
        assert_eq!(f32_to_f16(1.5 * 2f32.powi(-24)), 2);
        assert_eq!(f32_to_bf16(1.0 + 2f32.powi(-8)), 0x3f80);
        assert_eq!(f32_to_bf16(1.0 + 3.0 * 2f32.powi(-8)), 0x3f82);
    }
}
