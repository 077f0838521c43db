//! Element types: their names, sizes, ranges and conversion to and from bytes.

use super::float8::{self, Format};
use half::{bf16, f16};
use std::fmt;

/// The element type of a tensor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DType {
    F64,
    F32,
    F16,
    BF16,
    /// OCP 8-bit float, 4 exponent bits, no infinities.
    F8E4M3FN,
    /// As `F8E4M3FN` with bias 8, no negative zero, one NaN.
    F8E4M3FNUZ,
    F8E5M2,
    F8E5M2FNUZ,
    /// A power of two without sign: scale of microscaling formats.
    F8E8M0,
    /// OCP 4-bit float: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives.
    F4E2M1,
    I64,
    I32,
    I16,
    I8,
    I4,
    I2,
    U64,
    U32,
    U16,
    U8,
    U4,
    U2,
    Bool,
    String,
    C64,
    C128,
}

use DType::*;

/// (dtype, name, bits) of every element type.
const TABLE: [(DType, &str, u32); 26] = [
    (F64, "f64", 64),
    (F32, "f32", 32),
    (F16, "f16", 16),
    (BF16, "bf16", 16),
    (F8E4M3FN, "f8e4m3fn", 8),
    (F8E4M3FNUZ, "f8e4m3fnuz", 8),
    (F8E5M2, "f8e5m2", 8),
    (F8E5M2FNUZ, "f8e5m2fnuz", 8),
    (F8E8M0, "f8e8m0", 8),
    (F4E2M1, "f4e2m1", 4),
    (I64, "i64", 64),
    (I32, "i32", 32),
    (I16, "i16", 16),
    (I8, "i8", 8),
    (I4, "i4", 4),
    (I2, "i2", 2),
    (U64, "u64", 64),
    (U32, "u32", 32),
    (U16, "u16", 16),
    (U8, "u8", 8),
    (U4, "u4", 4),
    (U2, "u2", 2),
    (Bool, "bool", 8),
    (String, "string", 0),
    (C64, "c64", 64),
    (C128, "c128", 128),
];

impl DType {
    pub fn all() -> impl Iterator<Item = DType> {
        TABLE.iter().map(|row| row.0)
    }

    pub fn name(self) -> &'static str {
        TABLE[self as usize].1
    }

    pub fn from_name(name: &str) -> Option<DType> {
        TABLE.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    /// Width of the value in bits (4 for `i4`); strings have none.
    pub fn bits(self) -> u32 {
        TABLE[self as usize].2
    }

    /// Bytes that one element takes in memory: sub-byte types take a whole byte. Strings have no fixed size: 0.
    pub fn size(self) -> usize {
        (self.bits() as usize).div_ceil(8)
    }

    pub fn is_float(self) -> bool {
        (self as usize) <= F4E2M1 as usize
    }

    /// Integers, signed or not; not bool.
    pub fn is_int(self) -> bool {
        (I64 as usize..=U2 as usize).contains(&(self as usize))
    }

    pub fn is_signed_int(self) -> bool {
        matches!(self, I64 | I32 | I16 | I8 | I4 | I2)
    }

    pub fn is_unsigned_int(self) -> bool {
        self.is_int() && !self.is_signed_int()
    }

    pub fn is_complex(self) -> bool {
        matches!(self, C64 | C128)
    }

    /// The smallest and largest value of an integer type or bool.
    pub fn int_range(self) -> Option<(i128, i128)> {
        let bits = self.bits();
        match self {
            Bool => Some((0, 1)),
            _ if self.is_signed_int() => Some((-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)),
            _ if self.is_int() => Some((0, (1i128 << bits) - 1)),
            _ => None,
        }
    }

    /// Whether it is an integer type all of whose values are values of i16.
    pub fn fits_i16(self) -> bool {
        self.is_int() && (self.bits() <= 8 || self == I16)
    }

    /// `v` reduced modulo 2^bits into the type's range (two's complement wrap). Bool: `v != 0`.
    pub fn wrap_int(self, v: i128) -> i128 {
        if self == Bool {
            return (v != 0) as i128;
        }
        let bits = self.bits();
        let masked = v & ((1i128 << bits) - 1);
        if self.is_signed_int() && masked >> (bits - 1) & 1 == 1 { masked - (1i128 << bits) } else { masked }
    }

    /// `v` rounded to the type, to nearest even. Values beyond the range follow IEEE (infinity) where the type
    /// has one, else NaN; see [`DType::round_saturating`] for the other convention.
    pub fn round_float(self, v: f64) -> f64 {
        match self {
            F64 => v,
            F32 => v as f32 as f64,
            F16 => f16::from_f32(to_f32_odd(v)).to_f64(),
            BF16 => bf16::from_f32(to_f32_odd(v)).to_f64(),
            _ => self.format8().map_or(v, |f| f.decode(f.encode(v, false))),
        }
    }

    /// As [`DType::round_float`], but values beyond the range of an 8- or 4-bit float become its largest.
    pub fn round_saturating(self, v: f64) -> f64 {
        self.format8().map_or_else(|| self.round_float(v), |f| f.decode(f.encode(v, true)))
    }

    /// A float that rounds to the type as the exact integer does: conversion of an integer rounds once.
    pub fn float_of_int(self, v: i128) -> f64 {
        let near = v as f64;
        if self == F64 || near as i128 == v {
            return near;
        }
        // Rounded to odd, as in `to_f32_odd`.
        let above = (near as i128).unsigned_abs() > v.unsigned_abs();
        f64::from_bits((near.to_bits() - u64::from(above)) | 1)
    }

    /// The 8- or 4-bit float format behind the type, if it is one.
    pub fn format8(self) -> Option<&'static Format> {
        match self {
            F8E4M3FN => Some(&float8::E4M3FN),
            F8E4M3FNUZ => Some(&float8::E4M3FNUZ),
            F8E5M2 => Some(&float8::E5M2),
            F8E5M2FNUZ => Some(&float8::E5M2FNUZ),
            F8E8M0 => Some(&float8::E8M0),
            F4E2M1 => Some(&float8::E2M1),
            _ => None,
        }
    }

    /// Reads a float element from its little-endian bytes.
    ///
    /// # Panics
    /// If the type is no float or `bytes` isn't `size()` long.
    pub fn load_float(self, bytes: &[u8]) -> f64 {
        match self {
            F64 => f64::from_le_bytes(bytes.try_into().expect("8 bytes")),
            F32 => f32::from_le_bytes(bytes.try_into().expect("4 bytes")) as f64,
            F16 => f16::from_le_bytes(bytes.try_into().expect("2 bytes")).to_f64(),
            BF16 => bf16::from_le_bytes(bytes.try_into().expect("2 bytes")).to_f64(),
            _ => self.format8().expect("a float type").decode(bytes[0]),
        }
    }

    /// Appends `v`, rounded to the type, in little-endian bytes.
    pub fn store_float(self, v: f64, out: &mut Vec<u8>) {
        match self {
            F64 => out.extend(v.to_le_bytes()),
            F32 => out.extend((v as f32).to_le_bytes()),
            F16 => out.extend(f16::from_f32(to_f32_odd(v)).to_le_bytes()),
            BF16 => out.extend(bf16::from_f32(to_f32_odd(v)).to_le_bytes()),
            _ => out.push(self.format8().expect("a float type").encode(v, false)),
        }
    }

    /// Reads an integer or bool element from its little-endian bytes (sub-byte types: one byte an element).
    pub fn load_int(self, bytes: &[u8]) -> i128 {
        let mut raw = [0u8; 16];
        raw[..bytes.len()].copy_from_slice(bytes);
        self.wrap_int(i128::from_le_bytes(raw))
    }

    /// Appends `v`, wrapped to the type, in little-endian bytes; sub-byte types are sign- or zero-extended to a byte.
    pub fn store_int(self, v: i128, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.wrap_int(v).to_le_bytes()[..self.size()]);
    }
}

/// `v` as f32, rounded to odd: inexact results get an odd last bit, so that rounding once more, to a narrower type,
/// gives what one rounding would. (The conversions of `half` from f64 drop low bits or round twice.)
fn to_f32_odd(v: f64) -> f32 {
    let near = v as f32;
    if v.is_nan() || f64::from(near) == v {
        return near;
    }
    let toward_zero = if f64::from(near.abs()) > v.abs() { near.to_bits() - 1 } else { near.to_bits() };
    f32::from_bits(toward_zero | 1)
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
