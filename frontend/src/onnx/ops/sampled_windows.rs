//! Windows over places between elements: DeformConv and RoiAlign.

use tcc_ir::ops::{BinaryKind, Contract, Reduce, ReduceKind, UnaryKind};
use tcc_ir::{Cmp, DType, Dim, Tensor, ValueId};

use super::grid_sample::{Padding, Reading, read};
use super::resize::dim_as_float;
use super::unpool::per_axis;
use super::{Entry, onnx};
use crate::onnx::node::{ImportError, NodeCx, Result};

pub(super) const TABLE: &[Entry] = &[
    onnx("DeformConv", 19, deform_conv),
    onnx("RoiAlign", 10, |cx| roi_align(cx, "output_half_pixel")),
    onnx("RoiAlign", 16, |cx| roi_align(cx, "half_pixel")),
];

/// A convolution whose weights are applied at places that are moved by offsets.
fn deform_conv(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let (x, w, offset) = (cx.input(0)?, cx.input(1)?, cx.input(2)?);
    let (x_dims, w_dims, offset_dims) = (cx.shape(x)?, cx.shape(w)?, cx.shape(offset)?);
    let n_axes = x_dims.len().saturating_sub(2);
    if n_axes == 0 || w_dims.len() != x_dims.len() || offset_dims.len() != x_dims.len() {
        return Err(ImportError::invalid("input, weight and offset must have one rank of at least 3"));
    }
    let window: Option<Vec<i64>> = w_dims[2..].iter().map(Dim::as_const).collect();
    let window = window.ok_or_else(|| ImportError::unsupported("the window's size isn't known"))?;
    if cx.opt_ints("kernel_shape")?.is_some_and(|stated| stated != window) {
        return Err(ImportError::invalid("kernel_shape isn't the weight's"));
    }
    let strides = per_axis(cx, "strides", n_axes, 1)?;
    let dilations = per_axis(cx, "dilations", n_axes, 1)?;
    let pads = per_axis(cx, "pads", 2 * n_axes, 0)?;
    let positive = |cx: &NodeCx, name: &str| match cx.int(name, 1)? {
        count if count > 0 => Ok(Dim::from(count)),
        count => Err(ImportError::invalid(format!("{name} is {count}"))),
    };
    let (groups, offset_groups) = (positive(cx, "group")?, positive(cx, "offset_group")?);
    let (batch, channels, out) = (&x_dims[0], &x_dims[1], &offset_dims[2..]);
    let (n_out, n_taps) = (Dim::product(out.iter().cloned()), Dim::product(w_dims[2..].iter().cloned()));
    let samples = batch.clone() * offset_groups.clone();
    let n_places = n_taps.clone() * n_out.clone();

    let offset = cx.cast(offset, DType::F32)?;
    let offset =
        cx.reshape(offset, vec![samples.clone(), n_taps.clone(), Dim::from(n_axes), n_out.clone()])?;
    let mut places = Vec::new();
    for axis in 0..n_axes {
        let own = cx.slice_axis(offset, 2, Dim::from(axis), Dim::from(1))?;
        let own = cx.reshape(own, vec![samples.clone(), n_taps.clone(), n_out.clone()])?;
        let taps = cx.constant(tap_positions(&window, axis, dilations[axis], pads[axis]));
        let mut along = vec![Dim::from(1); n_axes];
        along[axis] = out[axis].clone();
        let start = cx.iota(out[axis].clone(), DType::F32)?;
        let start = cx.binary_scalar(BinaryKind::Mul, start, strides[axis] as f64)?;
        let start = cx.reshape(start, along)?;
        let start = cx.broadcast(start, out.to_vec())?;
        let start = cx.reshape(start, vec![n_out.clone()])?;
        let place = cx.binary(BinaryKind::Add, start, taps)?;
        let place = cx.binary(BinaryKind::Add, own, place)?;
        places.push(cx.reshape(place, vec![samples.clone(), n_places.clone()])?);
    }
    let per_offset_group = channels.floor_div(&offset_groups);
    let mut dims = vec![samples.clone(), per_offset_group.clone()];
    dims.extend_from_slice(&x_dims[2..]);
    let apart = cx.reshape(x, dims)?;
    let mut columns = read(cx, apart, &places, &n_places, &Reading::linear(Padding::Zeros, ReduceKind::Sum))?;
    if let Some(mask) = cx.optional_input(4) {
        let mask = cx.reshape(mask, vec![samples, n_places, Dim::from(1)])?;
        columns = cx.binary(BinaryKind::Mul, columns, mask)?;
    }
    let apart = vec![batch.clone(), offset_groups, n_taps.clone(), n_out.clone(), per_offset_group];
    let columns = cx.reshape(columns, apart)?;
    let columns = cx.transpose(columns, vec![0, 1, 4, 2, 3])?;
    let per_group = channels.floor_div(&groups);
    let dims = vec![batch.clone(), groups.clone(), per_group.clone(), n_taps.clone(), n_out];
    let columns = cx.reshape(columns, dims)?;
    let w = cx.reshape(w, vec![groups.clone(), w_dims[0].floor_div(&groups), per_group, n_taps])?;
    let out_dtype = cx.dtype(x)?;
    let product =
        Contract { lhs_batch: vec![1], rhs_batch: vec![0], lhs: vec![2, 3], rhs: vec![2, 3], out: out_dtype };
    let y = cx.add(product, &[columns, w])?;
    let y = cx.transpose(y, vec![1, 0, 3, 2])?;
    let y = cx.reshape(y, [&[batch.clone(), w_dims[0].clone()], out].concat())?;
    match cx.optional_input(3) {
        Some(bias) => {
            let mut dims = vec![Dim::from(1); n_axes + 1];
            dims[0] = w_dims[0].clone();
            let bias = cx.reshape(bias, dims)?;
            Ok(vec![cx.binary(BinaryKind::Add, y, bias)?])
        }
        None => Ok(vec![y]),
    }
}

/// Where along an axis each tap of a window is, relative to its place: [taps, 1].
fn tap_positions(window: &[i64], axis: usize, dilation: i64, pad: i64) -> Tensor {
    let n_taps: i64 = window.iter().product();
    let stride: i64 = window[axis + 1..].iter().product();
    let position = |tap: i64| (tap / stride % window[axis] * dilation - pad) as f64;
    Tensor::from_floats(DType::F32, vec![n_taps as usize, 1], (0..n_taps).map(position))
}

/// The samples of a region along one axis: [regions, cells, samples].
struct Samples {
    places: ValueId,
    /// Which of them count; `None`: all.
    counted: Option<ValueId>,
    /// How many count, [regions].
    number: ValueId,
    n_samples: Dim,
    n_cells: Dim,
}

fn roi_align(cx: &mut NodeCx, default_mode: &'static str) -> Result<Vec<ValueId>> {
    let (x, rois, batch_indices) = (cx.input(0)?, cx.input(1)?, cx.input(2)?);
    let dims = cx.shape(x)?;
    let [_, channels, height, width] = &dims[..] else {
        return Err(ImportError::invalid("the input must have rank 4"));
    };
    let aligned = match cx.string("coordinate_transformation_mode", default_mode)? {
        "half_pixel" => true,
        "output_half_pixel" => false,
        other => {
            return Err(ImportError::invalid(format!("coordinate_transformation_mode `{other}` is unknown")));
        }
    };
    let combine = match cx.string("mode", "avg")? {
        "avg" => ReduceKind::Sum,
        "max" => ReduceKind::Max,
        other => return Err(ImportError::invalid(format!("mode `{other}` is neither avg nor max"))),
    };
    let n_rois = cx.extent(rois, 0)?;
    let rois = cx.cast(rois, DType::F32)?;
    let scale = cx.float("spatial_scale", 1.0)?;
    let rois = cx.binary_scalar(BinaryKind::Mul, rois, scale)?;
    let rois = if aligned { cx.binary_scalar(BinaryKind::Sub, rois, 0.5)? } else { rois };
    let vertical = samples(cx, rois, 1, "output_height", aligned)?;
    let horizontal = samples(cx, rois, 0, "output_width", aligned)?;
    // Over [regions, cells down, samples down, cells across, samples across].
    let one = Dim::from(1);
    let down = [&n_rois, &vertical.n_cells, &vertical.n_samples, &one, &one].map(Dim::clone).to_vec();
    let across = [&n_rois, &one, &one, &horizontal.n_cells, &horizontal.n_samples].map(Dim::clone).to_vec();
    let mut whole = down.clone();
    whole[3..].clone_from_slice(&across[3..]);
    let n_places = Dim::product(whole[1..].iter().cloned());
    let mut spread = |x: ValueId, dims: &[Dim]| -> Result<ValueId> {
        let x = cx.reshape(x, dims.to_vec())?;
        let x = cx.broadcast(x, whole.clone())?;
        cx.reshape(x, vec![n_rois.clone(), n_places.clone()])
    };
    let places = [spread(vertical.places, &down)?, spread(horizontal.places, &across)?];
    let counted = [
        vertical.counted.map(|counted| spread(counted, &down)).transpose()?,
        horizontal.counted.map(|counted| spread(counted, &across)).transpose()?,
    ];
    let images = cx.gather(x, batch_indices, 0)?;
    let values = read(cx, images, &places, &n_places, &Reading::linear(Padding::Border, combine))?;
    let apart = vec![n_rois.clone(), n_places.clone(), one];
    let dtype = cx.dtype(x)?;
    let wide = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
    let mut values = cx.cast(values, wide)?;
    // Beyond the image by more than an element is nothing; a sample that doesn't count changes nothing.
    let nothing = cx.scalar(wide, 0.0)?;
    let ignored = if combine == ReduceKind::Max { cx.scalar(wide, f64::NEG_INFINITY)? } else { nothing };
    for (&place, extent) in places.iter().zip([height, width]) {
        let (low, high) = (cx.scalar(DType::F32, -1.0)?, dim_as_float(cx, extent)?);
        let (above, below) = (cx.compare(Cmp::Ge, place, low)?, cx.compare(Cmp::Le, place, high)?);
        let inside = cx.binary(BinaryKind::And, above, below)?;
        let inside = cx.reshape(inside, apart.clone())?;
        values = cx.select(inside, values, nothing)?;
    }
    for counted in counted.into_iter().flatten() {
        let counted = cx.reshape(counted, apart.clone())?;
        values = cx.select(counted, values, ignored)?;
    }
    whole.push(channels.clone());
    let values = cx.reshape(values, whole)?;
    let mut y = cx.add(Reduce { kind: combine, axes: vec![2, 4], keepdims: false }, &[values])?;
    if combine == ReduceKind::Sum {
        let number = cx.binary(BinaryKind::Mul, vertical.number, horizontal.number)?;
        let number = cx.binary_scalar(BinaryKind::Max, number, 1.0)?;
        let number = cx.cast(number, wide)?;
        let one = Dim::from(1);
        let dims = cx.shape(number)?.into_iter().chain([one.clone(), one.clone(), one]).collect();
        let number = cx.reshape(number, dims)?;
        y = cx.binary(BinaryKind::Div, y, number)?;
    }
    let y = cx.transpose(y, vec![0, 3, 1, 2])?;
    Ok(vec![cx.cast(y, dtype)?])
}

/// `rois` holds [left, top, right, bottom]; `column` is 0 for across, 1 for down.
fn samples(cx: &mut NodeCx, rois: ValueId, column: i64, name: &str, aligned: bool) -> Result<Samples> {
    let n_rois = cx.extent(rois, 0)?;
    let one = Dim::from(1);
    let n_cells = match cx.int(name, 1)? {
        cells if cells > 0 => cells,
        cells => return Err(ImportError::invalid(format!("{name} is {cells}"))),
    };
    let start = cx.slice_axis(rois, 1, Dim::from(column), one.clone())?;
    let end = cx.slice_axis(rois, 1, Dim::from(column + 2), one.clone())?;
    let mut extent = cx.binary(BinaryKind::Sub, end, start)?;
    if !aligned {
        extent = cx.binary_scalar(BinaryKind::Max, extent, 1.0)?;
    }
    let cell = cx.binary_scalar(BinaryKind::Div, extent, n_cells as f64)?;
    let ratio = cx.int("sampling_ratio", 0)?;
    let (number, n_samples) = if ratio > 0 {
        let number = cx.scalar(DType::F32, ratio as f64)?;
        (cx.broadcast(number, vec![n_rois.clone(), one.clone()])?, Dim::from(ratio))
    } else {
        // As many as a cell has elements: another number for every region.
        let number = cx.unary(UnaryKind::Ceil, cell)?;
        let most = cx.add(Reduce { kind: ReduceKind::Max, axes: vec![0, 1], keepdims: false }, &[number])?;
        let most = cx.binary_scalar(BinaryKind::Max, most, 1.0)?;
        let most = cx.cast(most, DType::I64)?;
        (number, cx.scalar_dim(most, "the number of samples")?)
    };
    let index = cx.iota(n_samples.clone(), DType::F32)?;
    let counted = if ratio > 0 {
        None
    } else {
        let counted = cx.compare(Cmp::Lt, index, number)?;
        let counted = cx.reshape(counted, vec![n_rois.clone(), one.clone(), n_samples.clone()])?;
        Some(cx.broadcast(counted, vec![n_rois.clone(), Dim::from(n_cells), n_samples.clone()])?)
    };
    let middle = cx.binary_scalar(BinaryKind::Add, index, 0.5)?;
    let at_least_one = cx.binary_scalar(BinaryKind::Max, number, 1.0)?;
    let part = cx.binary(BinaryKind::Div, middle, at_least_one)?;
    let part = cx.reshape(part, vec![n_rois.clone(), one.clone(), n_samples.clone()])?;
    let cells = cx.iota(Dim::from(n_cells), DType::F32)?;
    let cells = cx.reshape(cells, vec![Dim::from(n_cells), one.clone()])?;
    let inside = cx.binary(BinaryKind::Add, cells, part)?;
    let spread = |cx: &mut NodeCx, x: ValueId| cx.reshape(x, vec![n_rois.clone(), one.clone(), one.clone()]);
    let (cell, start) = (spread(cx, cell)?, spread(cx, start)?);
    let moved = cx.binary(BinaryKind::Mul, inside, cell)?;
    let places = cx.binary(BinaryKind::Add, start, moved)?;
    let number = cx.reshape(number, vec![n_rois])?;
    Ok(Samples { places, counted, number, n_samples, n_cells: Dim::from(n_cells) })
}
