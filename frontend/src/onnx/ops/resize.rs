//! Resize and Upsample: sampling along one axis after the other. The places to read and their weights are computed
//! in `resize_taps.rs`.

use tcc_ir::ops::{BinaryKind, Reduce, ReduceKind, UnaryKind};
use tcc_ir::{Cmp, DType, Dim, Tensor, ValueId};

use super::resize_taps::{Coordinates, Nearest, Sampling, Taps};
use super::{Entry, onnx};
use crate::onnx::node::{ImportError, NodeCx, Result};

pub(super) const TABLE: &[Entry] = &[
    onnx("Upsample", 7, |cx| {
        let scales: Vec<f64> =
            cx.opt_floats("scales")?.unwrap_or_default().iter().map(|&scale| scale.into()).collect();
        let scales = cx.constant(Tensor::from_floats(DType::F32, vec![scales.len()], scales));
        upsample(cx, scales)
    }),
    onnx("Upsample", 9, |cx| {
        let scales = cx.input(1)?;
        upsample(cx, scales)
    }),
    onnx("Resize", 10, |cx| {
        let scales = cx.input(1)?;
        upsample(cx, scales)
    }),
    onnx("Resize", 11, resize),
];

/// One axis that is resized.
pub(super) struct Axis {
    pub axis: usize,
    pub extent: Dim,
    pub out: Dim,
    /// An f32 scalar.
    pub scale: ValueId,
    /// The size before it is rounded down, an f32 scalar: what coordinates with aligned corners are relative to.
    pub width: ValueId,
    /// Start and end of the region of interest, f32 scalars in parts of the extent.
    pub roi: Option<(ValueId, ValueId)>,
}

/// Until opset 10: coordinates divided by the scale, and for the nearest element rounded down (up where an axis
/// shrinks).
fn upsample(cx: &mut NodeCx, scales: ValueId) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let mode = cx.string("mode", "nearest")?;
    let rank = cx.rank(x)?;
    let axes = axes_by_scales(cx, x, scales, &(0..rank).collect::<Vec<_>>())?;
    let mut y = x;
    for axis in axes {
        let shrinks = known_float(cx, axis.scale).is_some_and(|scale| scale < 1.0);
        let sampling = match mode {
            "nearest" if shrinks => Sampling::Nearest(Nearest::Ceil),
            "nearest" => Sampling::Nearest(Nearest::Floor),
            "linear" | "bilinear" => Sampling::Linear,
            other => return Err(ImportError::invalid(format!("mode `{other}` is unknown"))),
        };
        let taps =
            Taps { sampling, coordinates: Coordinates::Asymmetric, antialias: false, exclude_outside: false };
        y = sample(cx, y, &axis, &taps)?.0;
    }
    Ok(vec![back(cx, y, x)?])
}

fn resize(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let rank = cx.rank(x)?;
    let listed = match cx.opt_ints("axes")? {
        Some(axes) => cx.axes(axes, rank)?,
        None => (0..rank).collect(),
    };
    let given = |cx: &mut NodeCx, index: usize| -> Result<Option<ValueId>> {
        let Some(value) = cx.optional_input(index) else { return Ok(None) };
        Ok(if cx.tensor_type(value)?.static_shape().is_some_and(|shape| shape == [0]) {
            None
        } else {
            Some(value)
        })
    };
    let (roi, scales, sizes) = (given(cx, 1)?, given(cx, 2)?, given(cx, 3)?);
    let policy = cx.string("keep_aspect_ratio_policy", "stretch")?;
    let mut axes = match (scales, sizes) {
        (Some(_), Some(_)) => return Err(ImportError::invalid("both scales and sizes are given")),
        (Some(scales), None) => axes_by_scales(cx, x, scales, &listed)?,
        (None, Some(sizes)) => axes_by_sizes(cx, x, sizes, &listed, policy)?,
        (None, None) => return Err(ImportError::invalid("neither scales nor sizes are given")),
    };
    let coordinates = Coordinates::from_name(cx.string("coordinate_transformation_mode", "half_pixel")?)
        .ok_or_else(|| ImportError::invalid("coordinate_transformation_mode is unknown"))?;
    let nearest = Nearest::from_name(cx.string("nearest_mode", "round_prefer_floor")?)
        .ok_or_else(|| ImportError::invalid("nearest_mode is unknown"))?;
    let a = cx.float("cubic_coeff_a", -0.75)?;
    let sampling = match cx.string("mode", "nearest")? {
        "nearest" => Sampling::Nearest(nearest),
        "linear" => Sampling::Linear,
        "cubic" => Sampling::Cubic { a },
        other => return Err(ImportError::invalid(format!("mode `{other}` is unknown"))),
    };
    let antialias = cx.flag("antialias", false)? && !matches!(sampling, Sampling::Nearest(_));
    let taps = Taps { sampling, coordinates, antialias, exclude_outside: cx.flag("exclude_outside", false)? };
    let extrapolation = cx.float("extrapolation_value", 0.0)?;
    if coordinates == Coordinates::TfCropAndResize {
        let roi = roi.ok_or_else(|| ImportError::invalid("tf_crop_and_resize needs roi"))?;
        for (index, axis) in axes.iter_mut().enumerate() {
            let (start, end) = (float_at(cx, roi, index)?, float_at(cx, roi, index + listed.len())?);
            axis.roi = Some((start, end));
            // Scales are those of the region.
            if scales.is_some() {
                let part = match (known_float(cx, start), known_float(cx, end), known_float(cx, axis.scale)) {
                    (Some(start), Some(end), Some(scale)) => cx.scalar(DType::F32, (end - start) * scale)?,
                    _ => {
                        let length = cx.binary(BinaryKind::Sub, end, start)?;
                        cx.binary(BinaryKind::Mul, length, axis.scale)?
                    }
                };
                axis.out = scaled(cx, &axis.extent, part)?;
            }
        }
    }
    let mut y = x;
    let mut outside: Option<ValueId> = None;
    for axis in &axes {
        let (sampled, is_outside) = sample(cx, y, axis, &taps)?;
        y = sampled;
        if let Some(is_outside) = is_outside {
            outside = Some(match outside {
                Some(others) => cx.binary(BinaryKind::Or, others, is_outside)?,
                None => is_outside,
            });
        }
    }
    if let Some(outside) = outside {
        let fill = cx.scalar(cx.dtype(y)?, extrapolation)?;
        y = cx.select(outside, fill, y)?;
    }
    Ok(vec![back(cx, y, x)?])
}

/// Weighted sums are in a wider type than the input's.
fn back(cx: &mut NodeCx, y: ValueId, x: ValueId) -> Result<ValueId> {
    cx.cast(y, cx.dtype(x)?)
}

/// `x` sampled along one axis; and where the places lie outside of it, if that matters.
fn sample(cx: &mut NodeCx, x: ValueId, axis: &Axis, taps: &Taps) -> Result<(ValueId, Option<ValueId>)> {
    if axis.extent == axis.out && known_float(cx, axis.scale) == Some(1.0) && taps.keeps_unscaled() {
        return Ok((x, None));
    }
    let rank = cx.rank(x)?;
    let places = taps.coordinates.places(cx, axis)?;
    let is_outside = match taps.coordinates {
        Coordinates::TfCropAndResize => {
            let last = dim_as_float(cx, &(axis.extent.clone() - Dim::from(1)))?;
            let zero = cx.scalar(DType::F32, 0.0)?;
            let below = cx.compare(Cmp::Lt, places, zero)?;
            let above = cx.compare(Cmp::Gt, places, last)?;
            let outside = cx.binary(BinaryKind::Or, below, above)?;
            let mut dims = vec![Dim::from(1); rank];
            dims[axis.axis] = axis.out.clone();
            Some(cx.reshape(outside, dims)?)
        }
        _ => None,
    };
    if let Sampling::Nearest(nearest) = taps.sampling {
        let indices = nearest.indices(cx, places, &axis.extent)?;
        return Ok((cx.gather(x, indices, axis.axis)?, is_outside));
    }
    let (indices, weights) = taps.weighted(cx, places, axis)?;
    let dtype = cx.dtype(x)?;
    let wide = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
    let x = cx.cast(x, wide)?;
    let weights = cx.cast(weights, wide)?;
    // [.., out, taps, ..] times [out, taps, 1..], then summed over the taps.
    let gathered = cx.gather(x, indices, axis.axis)?;
    let mut dims = cx.shape(weights)?;
    dims.extend(std::iter::repeat_n(Dim::from(1), rank - axis.axis - 1));
    let weights = cx.reshape(weights, dims)?;
    let weighted = cx.binary(BinaryKind::Mul, gathered, weights)?;
    let sum = Reduce { kind: ReduceKind::Sum, axes: vec![axis.axis + 1], keepdims: false };
    Ok((cx.add(sum, &[weighted])?, is_outside))
}

/// The element of a vector as an f32 scalar; a constant where the vector is one.
fn float_at(cx: &mut NodeCx, x: ValueId, index: usize) -> Result<ValueId> {
    let known = cx.constant_of(x).map(|tensor| tensor.floats().get(index).copied());
    match known {
        Some(Some(value)) => cx.scalar(DType::F32, value),
        Some(None) => Err(ImportError::invalid(format!("there is no element {index} in roi or scales"))),
        None => {
            let element = cx.slice_axis(x, 0, Dim::from(index), Dim::from(1))?;
            let element = cx.reshape(element, vec![])?;
            cx.cast(element, DType::F32)
        }
    }
}

pub(super) fn known_float(cx: &NodeCx, scalar: ValueId) -> Option<f64> {
    cx.constant_of(scalar).map(|tensor| tensor.floats()[0])
}

/// A size as an f32 scalar.
pub(super) fn dim_as_float(cx: &mut NodeCx, dim: &Dim) -> Result<ValueId> {
    dim_as(cx, dim, DType::F32)
}

/// A size as an f64 scalar.
pub(super) fn wide(cx: &mut NodeCx, dim: &Dim) -> Result<ValueId> {
    dim_as(cx, dim, DType::F64)
}

fn dim_as(cx: &mut NodeCx, dim: &Dim, dtype: DType) -> Result<ValueId> {
    if let Some(known) = dim.as_const() {
        return cx.scalar(dtype, known as f64);
    }
    let size = cx.sizes(vec![dim.clone()])?;
    let size = cx.reshape(size, vec![])?;
    cx.cast(size, dtype)
}

fn axes_by_scales(cx: &mut NodeCx, x: ValueId, scales: ValueId, listed: &[usize]) -> Result<Vec<Axis>> {
    let extents = cx.shape(x)?;
    check_length(cx, scales, listed.len())?;
    let mut axes = Vec::new();
    for (index, &axis) in listed.iter().enumerate() {
        let extent = extents[axis].clone();
        let scale = float_at(cx, scales, index)?;
        let out = scaled(cx, &extent, scale)?;
        let width = width(cx, &extent, scale)?;
        axes.push(Axis { axis, extent, out, scale, width, roi: None });
    }
    Ok(axes)
}

/// floor(extent * scale), in f32 as every runtime has it.
fn scaled(cx: &mut NodeCx, extent: &Dim, scale: ValueId) -> Result<Dim> {
    match (known_float(cx, scale), extent.as_const()) {
        (Some(scale), _) if !(scale > 0.0 && scale < 1e9) => {
            return Err(ImportError::invalid(format!("a scale is {scale}")));
        }
        (Some(scale), Some(extent)) => {
            return Ok(Dim::from((f64::from(extent as f32 * scale as f32)).floor() as i64));
        }
        (Some(scale), None) if scale.fract() == 0.0 => {
            return Ok(extent.clone() * Dim::from(scale as i64));
        }
        // Halves, quarters...: the product is exact.
        (Some(scale), None) if (1.0 / scale).fract() == 0.0 && (1.0 / scale).log2().fract() == 0.0 => {
            return Ok(extent.floor_div(&Dim::from((1.0 / scale) as i64)));
        }
        _ => {}
    }
    let extent = dim_as_float(cx, extent)?;
    let size = cx.binary(BinaryKind::Mul, extent, scale)?;
    let size = cx.unary(UnaryKind::Floor, size)?;
    let size = cx.cast(size, DType::I64)?;
    cx.scalar_dim(size, "a size")
}

fn axes_by_sizes(
    cx: &mut NodeCx,
    x: ValueId,
    sizes: ValueId,
    listed: &[usize],
    policy: &str,
) -> Result<Vec<Axis>> {
    let extents = cx.shape(x)?;
    check_length(cx, sizes, listed.len())?;
    let sizes = cx.elems(sizes)?;
    if policy != "stretch" {
        return axes_of_one_ratio(cx, &extents, &sizes, listed, policy);
    }
    let mut axes = Vec::new();
    for (&axis, out) in listed.iter().zip(sizes) {
        let extent = extents[axis].clone();
        let scale = match (out.as_const(), extent.as_const()) {
            (Some(out), Some(extent)) => cx.scalar(DType::F32, out as f64 / extent as f64)?,
            _ => {
                let (out, extent) = (dim_as_float(cx, &out)?, dim_as_float(cx, &extent)?);
                cx.binary(BinaryKind::Div, out, extent)?
            }
        };
        let width = dim_as_float(cx, &out)?;
        axes.push(Axis { axis, extent, out, scale, width, roi: None });
    }
    Ok(axes)
}

/// All axes scaled alike, as far as the sizes let or as little as they ask for.
fn axes_of_one_ratio(
    cx: &mut NodeCx,
    extents: &[Dim],
    sizes: &[Dim],
    listed: &[usize],
    policy: &str,
) -> Result<Vec<Axis>> {
    let kind = match policy {
        "not_larger" => BinaryKind::Min,
        "not_smaller" => BinaryKind::Max,
        other => {
            return Err(ImportError::invalid(format!("keep_aspect_ratio_policy `{other}` is unknown")));
        }
    };
    let mut ratio = None;
    for (&axis, size) in listed.iter().zip(sizes) {
        let (size, extent) = (wide(cx, size)?, wide(cx, &extents[axis])?);
        let own = cx.binary(BinaryKind::Div, size, extent)?;
        ratio = Some(match ratio {
            Some(others) => cx.binary(kind, others, own)?,
            None => own,
        });
    }
    let Some(ratio) = ratio else { return Ok(vec![]) };
    let scale = cx.cast(ratio, DType::F32)?;
    let known = |dim: &Dim| dim.as_const().map(|dim| dim as f64);
    let known_ratios: Option<Vec<f64>> =
        listed.iter().zip(sizes).map(|(&axis, size)| Some(known(size)? / known(&extents[axis])?)).collect();
    let known_ratio = known_ratios.and_then(|ratios| ratios.into_iter().reduce(|a, b| kind.float(a, b)));
    let mut axes = Vec::new();
    for &axis in listed {
        let extent = extents[axis].clone();
        let out = match (known_ratio, known(&extent)) {
            (Some(ratio), Some(extent)) => Dim::from((extent * ratio + 0.5).floor() as i64),
            _ => {
                let size = wide(cx, &extent)?;
                let size = cx.binary(BinaryKind::Mul, size, ratio)?;
                let size = cx.binary_scalar(BinaryKind::Add, size, 0.5)?;
                let size = cx.unary(UnaryKind::Floor, size)?;
                let size = cx.cast(size, DType::I64)?;
                cx.scalar_dim(size, "a size")?
            }
        };
        let width = width(cx, &extent, scale)?;
        axes.push(Axis { axis, extent, out, scale, width, roi: None });
    }
    Ok(axes)
}

fn width(cx: &mut NodeCx, extent: &Dim, scale: ValueId) -> Result<ValueId> {
    let extent = dim_as_float(cx, extent)?;
    cx.binary(BinaryKind::Mul, extent, scale)
}

fn check_length(cx: &NodeCx, x: ValueId, n_axes: usize) -> Result<()> {
    match cx.tensor_type(x)?.static_shape() {
        Some(shape) if shape == [n_axes] => Ok(()),
        Some(shape) => Err(ImportError::invalid(format!(
            "scales or sizes of shape {shape:?} are given for {n_axes} axes"
        ))),
        None => Err(ImportError::unsupported("how many scales or sizes there are isn't known")),
    }
}
