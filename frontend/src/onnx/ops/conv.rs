//! Convolution, transposed convolution and convolution of quantised integers.

use tcc_ir::ops::{Conv, ConvTranspose};
use tcc_ir::{Cmp, DType, Dim, ValueId};

use super::spatial::{AutoPad, Spatial};
use super::{Entry, onnx};
use crate::onnx::node::{ImportError, NodeCx, Result};

pub(super) const TABLE: &[Entry] = &[
    onnx("Conv", 1, |cx| {
        let (x, w, bias) = (cx.input(0)?, cx.input(1)?, cx.optional_input(2));
        let y = conv(cx, x, w)?;
        Ok(vec![add_bias(cx, y, bias)?])
    }),
    onnx("ConvInteger", 10, |cx| {
        let (x, w) = (cx.input(0)?, cx.input(1)?);
        let (x_zero, w_zero) = (cx.optional_input(2), cx.optional_input(3));
        Ok(vec![conv_integer(cx, x, w, x_zero, w_zero)?])
    }),
    onnx("ConvTranspose", 1, conv_transpose),
];

/// A number for each channel (axis 1) of something of rank `rank`, shaped to broadcast.
pub(super) fn per_channel(cx: &mut NodeCx, x: ValueId, rank: usize) -> Result<ValueId> {
    let dims = cx.shape(x)?;
    let [size] = &dims[..] else {
        return Err(ImportError::invalid(format!("values of channels have rank {}, not 1", dims.len())));
    };
    let mut dims = vec![size.clone()];
    dims.resize(rank.saturating_sub(1).max(1), Dim::from(1));
    cx.reshape(x, dims)
}

fn add_bias(cx: &mut NodeCx, y: ValueId, bias: Option<ValueId>) -> Result<ValueId> {
    let Some(bias) = bias else { return Ok(y) };
    let dims = cx.shape(y)?;
    let channels = cx.shape(bias)?;
    let bias = per_channel(cx, bias, dims.len())?;
    let sum = cx.plus(y, bias)?;
    if let [size] = &channels[..] {
        cx.require(sum, Cmp::Eq, size, &dims[1], "the bias has another size than there are channels")?;
    }
    Ok(sum)
}

/// The attributes of a convolution with weights `w`, and their spatial extents.
fn attributes(cx: &NodeCx, x: ValueId, w: ValueId) -> Result<(Spatial, Vec<Dim>, Vec<Dim>)> {
    let (x, w) = (cx.shape(x)?, cx.shape(w)?);
    if x.len() < 2 || x.len() != w.len() {
        return Err(ImportError::invalid(format!(
            "an input of rank {} with weights of rank {}",
            x.len(),
            w.len()
        )));
    }
    let (input, window) = (x[2..].to_vec(), w[2..].to_vec());
    if let Some(stated) = cx.opt_ints("kernel_shape")? {
        let agrees = |(stated, size): (&i64, &Dim)| size.as_const().is_none_or(|size| size == *stated);
        if stated.len() != window.len() || !stated.iter().zip(&window).all(agrees) {
            return Err(ImportError::invalid(format!("kernel_shape {stated:?} isn't that of the weights")));
        }
    }
    Ok((Spatial::read(cx, input.len())?, input, window))
}

fn groups(cx: &NodeCx) -> Result<usize> {
    let groups = cx.int("group", 1)?;
    usize::try_from(groups)
        .ok()
        .filter(|&groups| groups > 0 && groups < 1 << 31)
        .ok_or_else(|| ImportError::invalid(format!("group is {groups}")))
}

/// The convolution by the node's attributes, without bias.
fn conv(cx: &mut NodeCx, x: ValueId, w: ValueId) -> Result<ValueId> {
    let (mut spatial, input, window) = attributes(cx, x, w)?;
    spatial.resolve(&input, &window);
    let Spatial { strides, dilations, before, after, .. } = spatial;
    let groups = groups(cx)?;
    cx.add(Conv { strides, dilations, pads_before: before, pads_after: after, groups }, &[x, w])
}

/// The convolution of 8-bit integers less their zero points, as i32.
pub(super) fn conv_integer(
    cx: &mut NodeCx,
    x: ValueId,
    w: ValueId,
    x_zero: Option<ValueId>,
    w_zero: Option<ValueId>,
) -> Result<ValueId> {
    let rank_w = cx.rank(w)?;
    let mut centred = [x, w];
    for (value, (zero, is_weights)) in centred.iter_mut().zip([(x_zero, false), (w_zero, true)]) {
        let wide = cx.cast(*value, DType::I32)?;
        *value = match zero {
            None => wide,
            Some(zero) => {
                let zero = cx.cast(zero, DType::I32)?;
                let zero = match cx.shape(zero)?[..] {
                    [ref dim] if !dim.is_const(1) && is_weights => {
                        let mut dims = vec![dim.clone()];
                        dims.resize(rank_w, Dim::from(1));
                        cx.reshape(zero, dims)?
                    }
                    _ => cx.to_scalar(zero, "a zero point")?,
                };
                cx.minus(wide, zero)?
            }
        };
    }
    conv(cx, centred[0], centred[1])
}

fn conv_transpose(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let (x, w, bias) = (cx.input(0)?, cx.input(1)?, cx.optional_input(2));
    let (mut spatial, input, window) = attributes(cx, x, w)?;
    let n_axes = input.len();
    let output_padding: Vec<usize> = match cx.opt_ints("output_padding")? {
        None => vec![0; n_axes],
        Some(extra) if extra.len() == n_axes && extra.iter().all(|extra| (0..1 << 31).contains(extra)) => {
            extra.iter().map(|&extra| extra as usize).collect()
        }
        Some(extra) => {
            return Err(ImportError::invalid(format!("output_padding {extra:?} for {n_axes} spatial axes")));
        }
    };
    let wanted: Option<Vec<Dim>> = match cx.opt_ints("output_shape")? {
        Some(shape) if shape.len() == n_axes || shape.len() == n_axes + 2 => {
            Some(shape[shape.len() - n_axes..].iter().map(|&size| Dim::from(size)).collect())
        }
        Some(shape) => {
            return Err(ImportError::invalid(format!("output_shape {shape:?} for {n_axes} spatial axes")));
        }
        None if matches!(spatial.auto_pad, AutoPad::SameUpper | AutoPad::SameLower) => {
            let size = |(dim, &stride): (&Dim, &usize)| dim.clone() * Dim::from(stride);
            Some(input.iter().zip(&spatial.strides).map(size).collect())
        }
        None => None,
    };
    for (axis, wanted) in wanted.into_iter().flatten().enumerate() {
        let last = (input[axis].clone() - Dim::from(1)) * Dim::from(spatial.strides[axis]);
        let full = last + Dim::from(output_padding[axis]) + spatial.reach(axis, &window[axis]);
        spatial.distribute(axis, full - wanted);
    }
    let Spatial { strides, dilations, before, after, .. } = spatial;
    let groups = groups(cx)?;
    let op =
        ConvTranspose { strides, dilations, pads_before: before, pads_after: after, output_padding, groups };
    let y = cx.add(op, &[x, w])?;
    Ok(vec![add_bias(cx, y, bias)?])
}
