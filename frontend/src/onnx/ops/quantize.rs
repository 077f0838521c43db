//! Quantisation: to and from integers and small floats, with scales for the whole tensor, an axis or blocks.

use tcc_ir::ops::{BinaryKind, Cast, Reduce, ReduceKind, UnaryKind};
use tcc_ir::{Cmp, DType, Dim, ValueId};

use super::conv::conv_integer;
use super::matmul::without_zero_point;
use super::{Entry, contraction, onnx};
use crate::onnx::node::{ImportError, NodeCx, Result};

pub(super) const TABLE: &[Entry] = &[
    onnx("DequantizeLinear", 10, dequantize),
    onnx("DynamicQuantizeLinear", 11, dynamic_quantize),
    onnx("QLinearConv", 10, qlinear_conv),
    onnx("QLinearMatMul", 10, qlinear_matmul),
    onnx("QuantizeLinear", 10, quantize),
];

/// A scale or zero point shaped so that it broadcasts to `x`, by the attributes `axis` and `block_size`.
fn spread(cx: &mut NodeCx, parameter: ValueId, x: ValueId) -> Result<ValueId> {
    let (dims, own) = (cx.shape(x)?, cx.shape(parameter)?);
    let (axis, block) = (cx.int("axis", 1)?, cx.int("block_size", 0)?);
    if block < 0 {
        return Err(ImportError::invalid(format!("block_size is {block}")));
    }
    if own.iter().all(|dim| dim.is_const(1)) && block == 0 {
        return cx.reshape(parameter, vec![]);
    }
    let axis = cx.axis(axis, dims.len())?;
    if block == 0 {
        let [size] = &own[..] else {
            return Err(ImportError::invalid(format!("the scale has rank {}, not 0 or 1", own.len())));
        };
        let mut spread = vec![Dim::from(1); dims.len()];
        spread[axis] = size.clone();
        let y = cx.reshape(parameter, spread)?;
        cx.require(y, Cmp::Eq, size, &dims[axis], "there isn't one scale for each place on the axis")?;
        return Ok(y);
    }
    if own.len() != dims.len() {
        return Err(ImportError::invalid(format!(
            "the scales of blocks have rank {}, the input {}",
            own.len(),
            dims.len()
        )));
    }
    // Each scale is repeated for the elements of its block; the last block may be smaller.
    let block = Dim::from(block);
    let mut apart = own.clone();
    apart.insert(axis + 1, Dim::from(1));
    let mut repeated = own.clone();
    repeated.insert(axis + 1, block.clone());
    let mut joined = own.clone();
    joined[axis] = joined[axis].clone() * block.clone();
    let y = cx.reshape(parameter, apart)?;
    let y = cx.broadcast(y, repeated)?;
    let y = cx.reshape(y, joined.clone())?;
    let y = if joined[axis] == dims[axis] {
        y
    } else {
        cx.slice_axis(y, axis, Dim::from(0), dims[axis].clone())?
    };
    let n_blocks = dims[axis].ceil_div(&block);
    let message = "there isn't one scale for each block";
    match Dim::compare(Cmp::Eq, &own[axis], &n_blocks) {
        Some(false) => Err(ImportError::invalid(format!("{message} ({} for {n_blocks})", own[axis]))),
        _ => cx.require(y, Cmp::Eq, &own[axis], &n_blocks, message).map(|()| y),
    }
}

/// Rounded to nearest even, plus the zero point, held in the range of `to`. Small floats are rounded once, after the
/// zero point.
fn to_quantised(
    cx: &mut NodeCx,
    scaled: ValueId,
    zero_point: Option<ValueId>,
    to: DType,
    saturate: bool,
) -> Result<ValueId> {
    if to.is_float() {
        let shifted = match zero_point {
            Some(zero_point) => {
                let precision = cx.dtype(scaled)?;
                let zero_point = cx.cast(zero_point, precision)?;
                cx.plus(scaled, zero_point)?
            }
            None => scaled,
        };
        return cx.add(Cast { to, saturate }, &[shifted]);
    }
    let rounded = cx.unary(UnaryKind::Round, scaled)?;
    let wide = if cx.dtype(rounded)? == DType::F64 { DType::F64 } else { DType::F32 };
    let rounded = cx.cast(rounded, wide)?;
    let shifted = match zero_point {
        Some(zero_point) => {
            let zero_point = cx.cast(zero_point, wide)?;
            cx.plus(rounded, zero_point)?
        }
        None => rounded,
    };
    // The conversion to an integer saturates.
    cx.cast(shifted, to)
}

/// The zero point shaped so that it broadcasts to `x`. None where there is none, or it is known to be zero, as it
/// nearly always is for small floats: adding it would turn -0 into 0.
fn shift(cx: &mut NodeCx, zero_point: Option<ValueId>, x: ValueId) -> Result<Option<ValueId>> {
    let Some(zero_point) = zero_point else { return Ok(None) };
    let is_zero =
        |tensor: &tcc_ir::Tensor| tensor.dtype().is_float() && tensor.floats().iter().all(|v| *v == 0.0);
    match cx.constant_of(zero_point).is_some_and(is_zero) {
        true => Ok(None),
        false => spread(cx, zero_point, x).map(Some),
    }
}

fn quantize(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let (x, scale, zero_point) = (cx.input(0)?, cx.input(1)?, cx.optional_input(2));
    let saturate = cx.flag("saturate", true)?;
    let stated = cx.opt_dtype("output_dtype")?;
    let precision = match cx.opt_dtype("precision")? {
        Some(precision) => precision,
        None => cx.dtype(scale)?,
    };
    let to = match (stated, zero_point) {
        (Some(stated), Some(zero_point)) if stated != cx.dtype(zero_point)? => {
            return Err(ImportError::invalid("output_dtype isn't the type of the zero point"));
        }
        (Some(stated), _) => stated,
        (None, Some(zero_point)) => cx.dtype(zero_point)?,
        (None, None) => DType::U8,
    };
    // A power of two is no type to divide in.
    let precision = if precision == DType::F8E8M0 { DType::F32 } else { precision };
    let scale = spread(cx, scale, x)?;
    let (x_wide, scale) = (cx.cast(x, precision)?, cx.cast(scale, precision)?);
    let zero_point = shift(cx, zero_point, x)?;
    let scaled = cx.over(x_wide, scale)?;
    Ok(vec![to_quantised(cx, scaled, zero_point, to, saturate)?])
}

fn dequantize(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let (x, scale, zero_point) = (cx.input(0)?, cx.input(1)?, cx.optional_input(2));
    let (from, scale_type) = (cx.dtype(x)?, cx.dtype(scale)?);
    let to = cx.opt_dtype("output_dtype")?.unwrap_or(scale_type);
    let scale = spread(cx, scale, x)?;
    let scale = cx.cast(scale, DType::F32)?;
    let centred = match shift(cx, zero_point, x)? {
        Some(zero_point) => {
            let wide = if from.is_int() { DType::I32 } else { DType::F32 };
            let (x, zero_point) = (cx.cast(x, wide)?, cx.cast(zero_point, wide)?);
            cx.minus(x, zero_point)?
        }
        None => x,
    };
    let centred = cx.cast(centred, DType::F32)?;
    let y = cx.times(centred, scale)?;
    Ok(vec![cx.cast(y, to)?])
}

/// To u8, with a scale and zero point by the range of the data.
fn dynamic_quantize(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let axes: Vec<usize> = (0..cx.rank(x)?).collect();
    let mut bound = |kind, with_zero| -> Result<ValueId> {
        let extreme = cx.add(Reduce { kind, axes: axes.clone(), keepdims: false }, &[x])?;
        cx.binary_scalar(with_zero, extreme, 0.0)
    };
    let (high, low) = (bound(ReduceKind::Max, BinaryKind::Max)?, bound(ReduceKind::Min, BinaryKind::Min)?);
    let range = cx.minus(high, low)?;
    let scale = cx.binary_scalar(BinaryKind::Div, range, 255.0)?;
    // All zeros have no range; any scale represents them.
    let is_empty = cx.compare_scalar(Cmp::Eq, scale, 0.0)?;
    let one = cx.scalar(DType::F32, 1.0)?;
    let scale = cx.select(is_empty, one, scale)?;
    let below = cx.over(low, scale)?;
    let zero_point = cx.unary(UnaryKind::Neg, below)?;
    let zero_point = to_quantised(cx, zero_point, None, DType::U8, true)?;
    let scaled = cx.over(x, scale)?;
    let y = to_quantised(cx, scaled, Some(zero_point), DType::U8, true)?;
    Ok(vec![y, scale, zero_point])
}

/// `sum * a_scale * b_scale / y_scale`, quantised.
fn requantised(cx: &mut NodeCx, sum: ValueId, factor: ValueId, y_zero: ValueId) -> Result<ValueId> {
    let sum = cx.cast(sum, DType::F32)?;
    let scaled = cx.times(sum, factor)?;
    let to = cx.dtype(y_zero)?;
    let y_zero = cx.to_scalar(y_zero, "the zero point of the result")?;
    to_quantised(cx, scaled, Some(y_zero), to, true)
}

fn qlinear_matmul(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let [a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero] = inputs(cx)?;
    let a = without_zero_point(cx, a, Some(a_zero), 1)?;
    let b = without_zero_point(cx, b, Some(b_zero), 0)?;
    let sum = contraction::matmul(cx, a, b, DType::I32)?;
    let a_scale = match cx.shape(a_scale)?[..] {
        [ref dim] if !dim.is_const(1) => {
            let dims = vec![dim.clone(), Dim::from(1)];
            cx.reshape(a_scale, dims)?
        }
        [_] => cx.reshape(a_scale, vec![])?,
        _ => a_scale,
    };
    let b_scale = match cx.shape(b_scale)?[..] {
        [ref dim] if dim.is_const(1) => cx.reshape(b_scale, vec![])?,
        _ => b_scale,
    };
    let factor = scale_factor(cx, a_scale, b_scale, y_scale)?;
    Ok(vec![requantised(cx, sum, factor, y_zero)?])
}

fn qlinear_conv(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let [x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero] = inputs(cx)?;
    let mut sum = conv_integer(cx, x, w, Some(x_zero), Some(w_zero))?;
    let rank = cx.rank(sum)?;
    if let Some(bias) = cx.optional_input(8) {
        let bias = super::conv::per_channel(cx, bias, rank)?;
        sum = cx.plus(sum, bias)?;
    }
    let x_scale = cx.to_scalar(x_scale, "the scale of the input")?;
    let w_scale = match cx.shape(w_scale)?[..] {
        [ref dim] if !dim.is_const(1) => super::conv::per_channel(cx, w_scale, rank)?,
        _ => cx.to_scalar(w_scale, "the scale of the weights")?,
    };
    let factor = scale_factor(cx, x_scale, w_scale, y_scale)?;
    Ok(vec![requantised(cx, sum, factor, y_zero)?])
}

/// `a_scale * b_scale / y_scale`, in f32.
fn scale_factor(cx: &mut NodeCx, a_scale: ValueId, b_scale: ValueId, y_scale: ValueId) -> Result<ValueId> {
    let y_scale = cx.to_scalar(y_scale, "the scale of the result")?;
    let [a, b, y] =
        [cx.cast(a_scale, DType::F32)?, cx.cast(b_scale, DType::F32)?, cx.cast(y_scale, DType::F32)?];
    let product = cx.times(a, b)?;
    cx.over(product, y)
}

/// The required inputs.
fn inputs<const N: usize>(cx: &NodeCx) -> Result<[ValueId; N]> {
    let values: Vec<ValueId> = (0..N).map(|index| cx.input(index)).collect::<Result<_>>()?;
    Ok(values.try_into().expect("as many as asked for"))
}
