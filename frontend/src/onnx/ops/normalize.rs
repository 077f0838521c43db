//! Normalisation: by statistics of the data itself or given ones.

use tcc_ir::ops::{BinaryKind, UnaryKind, Window, WindowKind};
use tcc_ir::{Cmp, DType, Dim, ValueId};

use super::conv::per_channel;
use super::pool::{abs_power, mean, reduce, root};
use super::precision::{compute_type, in_compute_type};
use super::{Entry, onnx};
use crate::onnx::node::{ImportError, NodeCx, Result};

pub(super) const TABLE: &[Entry] = &[
    onnx("BatchNormalization", 1, batch_normalization),
    onnx("GroupNormalization", 18, group_normalization),
    onnx("InstanceNormalization", 1, instance_normalization),
    onnx("LRN", 1, local_response),
    onnx("LayerNormalization", 17, layer_normalization),
    onnx("LpNormalization", 1, lp_normalization),
    onnx("MeanVarianceNormalization", 9, mean_variance),
    onnx("RMSNormalization", 23, rms_normalization),
];

/// A value less its mean over some axes, with that mean and its variance (not corrected for the mean being its own).
struct Centred {
    value: ValueId,
    mean: ValueId,
    variance: ValueId,
}

fn centred(cx: &mut NodeCx, x: ValueId, axes: &[usize]) -> Result<Centred> {
    let average = mean(cx, x, axes.to_vec())?;
    let value = cx.minus(x, average)?;
    let square = cx.square(value)?;
    let variance = mean(cx, square, axes.to_vec())?;
    Ok(Centred { value, mean: average, variance })
}

/// `x * scale + bias`, the latter two converted to x's type.
fn affine(cx: &mut NodeCx, x: ValueId, scale: ValueId, bias: Option<ValueId>) -> Result<ValueId> {
    let dtype = cx.dtype(x)?;
    let scale = cx.cast(scale, dtype)?;
    let y = cx.times(x, scale)?;
    let Some(bias) = bias else { return Ok(y) };
    let bias = cx.cast(bias, dtype)?;
    cx.plus(y, bias)
}

fn batch_normalization(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    cx.ignore_attribute("consumed_inputs");
    let x = cx.input(0)?;
    let (epsilon, momentum) = (cx.float("epsilon", 1e-5)?, cx.float("momentum", 0.9)?);
    let is_per_channel = cx.flag("spatial", true)?;
    let is_training = match cx.opset() {
        ..7 => !cx.flag("is_test", false)?,
        7..14 => (1..cx.n_outputs()).any(|index| cx.wants_output(index)),
        _ => cx.flag("training_mode", false)?,
    };
    if is_training && cx.opset() < 14 {
        return Err(ImportError::unsupported("training isn't supported before opset 14"));
    }
    let (dtype, rank) = (cx.dtype(x)?, cx.rank(x)?);
    let stats_type = cx.dtype(cx.input(3)?)?;
    let wide = compute_type(if stats_type == DType::F64 { stats_type } else { dtype });
    let mut parameter = |index| -> Result<ValueId> {
        let value = cx.input(index)?;
        let value = cx.cast(value, wide)?;
        if is_per_channel { per_channel(cx, value, rank) } else { Ok(value) }
    };
    let [scale, bias, given_mean, given_variance] =
        [parameter(1)?, parameter(2)?, parameter(3)?, parameter(4)?];
    let wide_x = cx.cast(x, wide)?;
    if !is_training {
        let inverse = cx.inverse_root(given_variance, epsilon)?;
        let factor = cx.times(scale, inverse)?;
        let shift = cx.times(given_mean, factor)?;
        let shift = cx.minus(bias, shift)?;
        let y = affine(cx, wide_x, factor, Some(shift))?;
        return Ok(vec![cx.cast(y, dtype)?]);
    }
    let axes: Vec<usize> = (0..rank).filter(|&axis| axis != 1).collect();
    let own = centred(cx, wide_x, &axes)?;
    let inverse = cx.inverse_root(own.variance, epsilon)?;
    let normal = cx.times(own.value, inverse)?;
    let y = affine(cx, normal, scale, Some(bias))?;
    let mut outputs = vec![cx.cast(y, dtype)?];
    for (index, given, current) in [(3, given_mean, own.mean), (4, given_variance, own.variance)] {
        let dims = cx.shape(cx.input(index)?)?;
        let (given, current) = (cx.reshape(given, dims.clone())?, cx.reshape(current, dims)?);
        let given = cx.times_scalar(given, momentum)?;
        let current = cx.times_scalar(current, 1.0 - momentum)?;
        let running = cx.plus(given, current)?;
        outputs.push(cx.cast(running, stats_type)?);
    }
    Ok(outputs)
}

fn instance_normalization(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    cx.ignore_attribute("consumed_inputs");
    let (x, scale, bias) = (cx.input(0)?, cx.input(1)?, cx.input(2)?);
    let epsilon = cx.float("epsilon", 1e-5)?;
    let rank = cx.rank(x)?;
    let (scale, bias) = (per_channel(cx, scale, rank)?, per_channel(cx, bias, rank)?);
    let y = in_compute_type(cx, x, |cx, x| {
        let own = centred(cx, x, &(2..rank).collect::<Vec<usize>>())?;
        let inverse = cx.inverse_root(own.variance, epsilon)?;
        let normal = cx.times(own.value, inverse)?;
        affine(cx, normal, scale, Some(bias))
    })?;
    Ok(vec![y])
}

/// Opset 18 has a scale and bias for each group, later ones for each channel.
fn group_normalization(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let (x, scale, bias) = (cx.input(0)?, cx.input(1)?, cx.input(2)?);
    let (epsilon, n_groups) = (cx.float("epsilon", 1e-5)?, cx.required_int("num_groups")?);
    cx.ignore_attribute("stash_type");
    if !(1..1 << 31).contains(&n_groups) {
        return Err(ImportError::invalid(format!("num_groups is {n_groups}")));
    }
    let dims = cx.shape(x)?;
    let rank = dims.len();
    if rank < 2 {
        return Err(ImportError::invalid(format!("the input has rank {rank}, not 2 or more")));
    }
    let is_per_group = cx.opset() < 21;
    let rank_of_parameters = if is_per_group { 3 } else { rank };
    let scale = per_channel(cx, scale, rank_of_parameters)?;
    let bias = per_channel(cx, bias, rank_of_parameters)?;
    let groups = Dim::from(n_groups);
    let group_size = Dim::product(dims[1..].iter().cloned()).floor_div(&groups);
    let y = in_compute_type(cx, x, |cx, x| {
        let grouped = cx.reshape(x, vec![dims[0].clone(), groups.clone(), group_size])?;
        let own = centred(cx, grouped, &[2])?;
        let inverse = cx.inverse_root(own.variance, epsilon)?;
        let normal = cx.times(own.value, inverse)?;
        if is_per_group {
            let y = affine(cx, normal, scale, Some(bias))?;
            return cx.reshape(y, dims.clone());
        }
        let normal = cx.reshape(normal, dims.clone())?;
        affine(cx, normal, scale, Some(bias))
    })?;
    let channels = dims[1].modulo(&groups);
    cx.require(y, Cmp::Eq, &channels, &Dim::from(0), "the channels don't divide into groups")?;
    Ok(vec![y])
}

/// The axes from the attribute `axis` on.
fn trailing_axes(cx: &NodeCx, x: ValueId) -> Result<Vec<usize>> {
    let rank = cx.rank(x)?;
    Ok((cx.axis(cx.int("axis", -1)?, rank)?..rank).collect())
}

fn layer_normalization(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let (x, scale, bias) = (cx.input(0)?, cx.input(1)?, cx.optional_input(2));
    let epsilon = cx.float("epsilon", 1e-5)?;
    let axes = trailing_axes(cx, x)?;
    let dtype = cx.dtype(x)?;
    let stash = cx.opt_dtype("stash_type")?.unwrap_or(DType::F32);
    let wide = cx.cast(x, compute_type(dtype))?;
    let own = centred(cx, wide, &axes)?;
    let inverse = cx.inverse_root(own.variance, epsilon)?;
    let normal = cx.times(own.value, inverse)?;
    let y = affine(cx, normal, scale, bias)?;
    Ok(vec![cx.cast(y, dtype)?, cx.cast(own.mean, stash)?, cx.cast(inverse, stash)?])
}

fn rms_normalization(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let (x, scale) = (cx.input(0)?, cx.input(1)?);
    let epsilon = cx.float("epsilon", 1e-5)?;
    cx.ignore_attribute("stash_type");
    let axes = trailing_axes(cx, x)?;
    // The result has the type of the scale.
    let dtype = cx.dtype(scale)?;
    let wide = cx.cast(x, compute_type(cx.dtype(x)?))?;
    let square = cx.square(wide)?;
    let square = mean(cx, square, axes)?;
    let inverse = cx.inverse_root(square, epsilon)?;
    let normal = cx.times(wide, inverse)?;
    let y = affine(cx, normal, scale, None)?;
    Ok(vec![cx.cast(y, dtype)?])
}

/// Divided by the norm; zeros where that is 0.
fn lp_normalization(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let p = cx.int("p", 2)?;
    if p != 1 && p != 2 {
        return Err(ImportError::invalid(format!("p is {p}, not 1 or 2")));
    }
    let axis = cx.axis(cx.int("axis", -1)?, cx.rank(x)?)?;
    let y = in_compute_type(cx, x, |cx, x| {
        let powers = abs_power(cx, x, p as f64)?;
        let sum = reduce(cx, tcc_ir::ops::ReduceKind::Sum, powers, vec![axis])?;
        let norm = root(cx, sum, p as f64)?;
        let quotient = cx.over(x, norm)?;
        let is_zero = cx.compare_scalar(Cmp::Eq, norm, 0.0)?;
        let zero = cx.zero(cx.dtype(x)?);
        cx.select(is_zero, zero, quotient)
    })?;
    Ok(vec![y])
}

fn mean_variance(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let axes = cx.axes(cx.opt_ints("axes")?.unwrap_or(&[0, 2, 3]), cx.rank(x)?)?;
    let y = in_compute_type(cx, x, |cx, x| {
        let own = centred(cx, x, &axes)?;
        let deviation = cx.unary(UnaryKind::Sqrt, own.variance)?;
        let deviation = cx.plus_scalar(deviation, 1e-9)?;
        cx.over(own.value, deviation)
    })?;
    Ok(vec![y])
}

/// `x / (bias + alpha / size * sum of squares of the channels around)^beta`.
fn local_response(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let (alpha, beta, bias) = (cx.float("alpha", 1e-4)?, cx.float("beta", 0.75)?, cx.float("bias", 1.0)?);
    let size = cx.required_int("size")?;
    let rank = cx.rank(x)?;
    if !(1..1 << 31).contains(&size) || rank < 2 {
        return Err(ImportError::invalid(format!("size is {size}, the input's rank {rank}")));
    }
    let n_axes = rank - 1;
    // A window over the channels, of one element on the axes after them.
    let first = |value: i64| {
        let mut dims = vec![Dim::from(0); n_axes];
        dims[0] = Dim::from(value);
        dims
    };
    let mut window = vec![1; n_axes];
    window[0] = size as usize;
    let around = Window {
        kind: WindowKind::Sum,
        window,
        strides: vec![1; n_axes],
        dilations: vec![1; n_axes],
        pads_before: first((size - 1) / 2),
        pads_after: first(size / 2),
    };
    let y = in_compute_type(cx, x, |cx, x| {
        let square = cx.square(x)?;
        let sum = cx.add(around, &[square])?;
        let sum = cx.times_scalar(sum, alpha / size as f64)?;
        let sum = cx.plus_scalar(sum, bias)?;
        let power = cx.binary_scalar(BinaryKind::Pow, sum, beta)?;
        cx.over(x, power)
    })?;
    Ok(vec![y])
}
