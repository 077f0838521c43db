//! One order for the elements of any type: NaN counts as the largest number, and both zeros are equal.

use super::number::array;
use crate::executor::Outcome;
use crate::package::DType;

/// Maps an element to a number that compares as the elements do.
pub(super) type Key = fn(&[u8]) -> u64;

pub(super) fn key(dtype: DType) -> Outcome<Key> {
    Ok(match dtype {
        DType::F64 => |b| float(u64::from_ne_bytes(array(b)), 64, 0x7ff0_0000_0000_0000),
        DType::F32 => |b| float(u32::from_ne_bytes(array(b)).into(), 32, 0x7f80_0000),
        DType::F16 => |b| float(u16::from_ne_bytes(array(b)).into(), 16, 0x7c00),
        DType::BF16 => |b| float(u16::from_ne_bytes(array(b)).into(), 16, 0x7f80),
        DType::F8E4M3FN => |b| float(b[0].into(), 8, 0x7e),
        DType::F8E5M2 => |b| float(b[0].into(), 8, 0x7c),
        DType::F8E4M3FNUZ | DType::F8E5M2FNUZ => |b| match b[0] {
            0x80 => u64::MAX,
            bits => float(bits.into(), 8, 0x7f),
        },
        DType::F8E8M0 => |b| match b[0] {
            0xff => u64::MAX,
            bits => bits.into(),
        },
        DType::F4E2M1 => |b| float(b[0].into(), 4, 0x7),
        DType::I64 => |b| signed(i64::from_ne_bytes(array(b))),
        DType::I32 => |b| signed(i32::from_ne_bytes(array(b)).into()),
        DType::I16 => |b| signed(i16::from_ne_bytes(array(b)).into()),
        DType::I8 | DType::I4 | DType::I2 => |b| signed((b[0] as i8).into()),
        DType::U64 => |b| u64::from_ne_bytes(array(b)),
        DType::U32 => |b| u32::from_ne_bytes(array(b)).into(),
        DType::U16 => |b| u16::from_ne_bytes(array(b)).into(),
        DType::U8 | DType::U4 | DType::U2 | DType::Bool => |b| b[0].into(),
        DType::C64 | DType::C128 | DType::String => return Err(format!("{dtype} has no order").into()),
    })
}

fn signed(x: i64) -> u64 {
    x as u64 ^ 1 << 63
}

/// Key of a float of sign and magnitude; magnitudes above `infinity` are NaN.
fn float(bits: u64, width: u32, infinity: u64) -> u64 {
    let sign = 1 << (width - 1);
    let magnitude = bits & (sign - 1);
    match (magnitude > infinity, bits & sign != 0) {
        (true, _) => u64::MAX,
        (false, false) => (1 << 63) + magnitude,
        (false, true) => (1 << 63) - magnitude,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_in_the_order_of_the_numbers() {
        let key32 = key(DType::F32).unwrap_or_else(|_| unreachable!("floats have an order"));
        let numbers = [f32::NEG_INFINITY, -2.0, -1e-40, 0.0, 1e-40, 1.0, f32::MAX, f32::INFINITY, f32::NAN];
        let keys: Vec<u64> = numbers.iter().map(|x| key32(&x.to_ne_bytes())).collect();
        assert!(keys.is_sorted_by(|a, b| a < b), "{keys:?}");
        assert_eq!(key32(&(-0f32).to_ne_bytes()), key32(&0f32.to_ne_bytes()));
        assert_eq!(key32(&(-f32::NAN).to_ne_bytes()), u64::MAX);
    }

    #[test]
    fn strings_have_no_key() {
        assert!(key(DType::String).is_err());
    }
}
