//! Numbers and tensor elements as text, exact to the bit.
//!
//! Floats print as the shortest decimal that reads back the same; bits that no decimal gives (payloads of NaN) print
//! in hexadecimal.

use super::name::quoted;
use crate::types::DType;

/// An element as the parser meets it.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Literal {
    /// An optional sign and a decimal number, `inf` or `nan`.
    Number(String),
    Bits(u128),
    Bool(bool),
    Str(String),
    Complex(Box<Literal>, Box<Literal>),
}

/// A float of `dtype`. Types narrower than f64 print as f32 does, which is shorter and still exact.
pub(super) fn float(dtype: DType, v: f64) -> String {
    let text = if dtype == DType::F64 { format!("{v:?}") } else { format!("{:?}", v as f32) };
    let text = text.replace("NaN", "nan");
    match parse_float(dtype, &text) {
        Some(back) if back.to_bits() == v.to_bits() => text,
        _ => format!("0x{:x}", v.to_bits()),
    }
}

/// The value of a decimal number, `inf` or `nan`, before rounding to a type narrower than f32.
pub(super) fn parse_float(dtype: DType, text: &str) -> Option<f64> {
    if dtype == DType::F64 { text.parse().ok() } else { text.parse::<f32>().ok().map(f64::from) }
}

/// The element of `dtype` (no string) in `bytes`.
pub(super) fn element(dtype: DType, bytes: &[u8]) -> String {
    let text = match dtype {
        DType::Bool => (bytes[0] != 0).to_string(),
        d if d.is_int() => d.load_int(bytes).to_string(),
        d if d.is_complex() => {
            let part = complex_part(d);
            let (re, im) = bytes.split_at(part.size());
            return format!("({}, {})", element(part, re), element(part, im));
        }
        d => {
            let v = d.load_float(bytes);
            // The sign of a NaN isn't part of its text.
            if v.is_nan() { "nan".to_string() } else { float(d, v) }
        }
    };
    let mut back = Vec::new();
    let literal = match dtype {
        DType::Bool => Literal::Bool(bytes[0] != 0),
        _ => Literal::Number(text.clone()),
    };
    match store(dtype, &literal, &mut back) {
        Ok(()) if back == bytes => text,
        _ => {
            let mut raw = [0u8; 16];
            raw[..bytes.len()].copy_from_slice(bytes);
            format!("0x{:x}", u128::from_le_bytes(raw))
        }
    }
}

pub(super) fn string(text: &str) -> String {
    quoted(text)
}

fn complex_part(dtype: DType) -> DType {
    if dtype == DType::C64 { DType::F32 } else { DType::F64 }
}

/// Appends the bytes of an element of `dtype` (no string). Err says what was expected.
pub(super) fn store(dtype: DType, literal: &Literal, out: &mut Vec<u8>) -> Result<(), String> {
    let misfit = || format!("expected an element of type {dtype}");
    match literal {
        Literal::Bits(bits) => {
            let size = dtype.size();
            if size < 16 && bits >> (8 * size) != 0 {
                return Err(format!("the bits don't fit {dtype}"));
            }
            out.extend_from_slice(&bits.to_le_bytes()[..size]);
        }
        Literal::Bool(b) if dtype == DType::Bool => out.push(u8::from(*b)),
        Literal::Complex(re, im) if dtype.is_complex() => {
            store(complex_part(dtype), re, out)?;
            store(complex_part(dtype), im, out)?;
        }
        Literal::Number(text) if dtype.is_int() => {
            let v: i128 = text.parse().map_err(|_| misfit())?;
            if dtype.wrap_int(v) != v {
                return Err(format!("{v} doesn't fit {dtype}"));
            }
            dtype.store_int(v, out);
        }
        Literal::Number(text) if dtype.is_float() => {
            dtype.store_float(parse_float(dtype, text).ok_or_else(misfit)?, out);
        }
        _ => return Err(misfit()),
    }
    Ok(())
}
