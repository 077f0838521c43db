//! Conversion between element types.

use tcc_ir::ops::{Bitcast, Cast, UnaryKind};
use tcc_ir::{Cmp, DType, ValueId};

use super::{Entry, onnx};
use crate::onnx::node::{ImportError, NodeCx, Result};

pub(super) const TABLE: &[Entry] = &[
    onnx("BitCast", 26, |cx| {
        let (x, to) = (cx.input(0)?, cx.required_dtype("to")?);
        Ok(vec![cx.add(Bitcast { to }, &[x])?])
    }),
    onnx("Cast", 6, |cx| {
        let to = cx.required_dtype("to")?;
        cast(cx, to)
    }),
    onnx("CastLike", 15, |cx| {
        let to = cx.dtype(cx.input(1)?)?;
        cast(cx, to)
    }),
];

fn cast(cx: &mut NodeCx, to: DType) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let saturate = cx.flag("saturate", true)?;
    let mode = cx.string("round_mode", "up")?;
    if to == DType::F8E8M0 && mode != "nearest" {
        return Err(ImportError::unsupported(format!("round_mode `{mode}` isn't supported")));
    }
    let from = cx.dtype(x)?;
    if from == to {
        return Ok(vec![x]);
    }
    // The narrow integers alone are rounded to, ties to even, and then wrapped.
    if from.is_float() && matches!(to, DType::I4 | DType::U4 | DType::I2 | DType::U2) {
        let rounded = cx.unary(UnaryKind::Round, x)?;
        let whole = cx.cast(rounded, DType::I64)?;
        return Ok(vec![cx.cast(whole, to)?]);
    }
    // Until opset 24 infinity was NaN in the formats without infinities and without a negative zero.
    let x = match to {
        DType::F8E4M3FNUZ | DType::F8E5M2FNUZ if cx.opset() < 24 && from.is_float() => {
            nan_for_infinity(cx, x)?
        }
        _ => x,
    };
    Ok(vec![cx.add(Cast { to, saturate }, &[x])?])
}

fn nan_for_infinity(cx: &mut NodeCx, x: ValueId) -> Result<ValueId> {
    let dtype = cx.dtype(x)?;
    let (infinity, nan) = (cx.scalar(dtype, f64::INFINITY)?, cx.scalar(dtype, f64::NAN)?);
    let magnitude = cx.unary(UnaryKind::Abs, x)?;
    let is_infinite = cx.compare(Cmp::Eq, magnitude, infinity)?;
    cx.select(is_infinite, nan, x)
}
