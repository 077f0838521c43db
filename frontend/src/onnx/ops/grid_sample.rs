//! GridSample and AffineGrid: reading a tensor at places that another tensor says.

use tcc_ir::ops::{BinaryKind, Contract, GatherNd, Reduce, ReduceKind, UnaryKind};
use tcc_ir::{Cmp, DType, Dim, ValueId};

use super::resize::dim_as_float;
use super::resize_taps::{Sampling, clamp};
use super::{Entry, onnx};
use crate::onnx::node::{ImportError, NodeCx, Result};

pub(super) const TABLE: &[Entry] =
    &[onnx("AffineGrid", 20, affine_grid), onnx("GridSample", 16, grid_sample)];

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Padding {
    Zeros,
    Border,
    Reflection,
}

/// One spatial axis of the input, as f32 scalars where it comes to places: the borders are the centers of the
/// outermost elements or their edges.
struct Axis {
    extent: Dim,
    low: ValueId,
    high: ValueId,
}

fn grid_sample(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let (x, grid) = (cx.input(0)?, cx.input(1)?);
    let (x_dims, grid_dims) = (cx.shape(x)?, cx.shape(grid)?);
    let n_axes = x_dims.len().saturating_sub(2);
    if n_axes == 0 || grid_dims.len() != x_dims.len() || !grid_dims[n_axes + 1].is_const(n_axes as i64) {
        return Err(ImportError::invalid("the grid doesn't have one coordinate for each spatial axis"));
    }
    let align_corners = cx.flag("align_corners", false)?;
    let padding = match cx.string("padding_mode", "zeros")? {
        "zeros" => Padding::Zeros,
        "border" => Padding::Border,
        "reflection" => Padding::Reflection,
        other => return Err(ImportError::invalid(format!("padding_mode `{other}` is unknown"))),
    };
    // How many elements of each axis are read around a place, and the first of them.
    let (sampling, n_taps, first) = match cx.string("mode", "linear")? {
        "nearest" => (None, 1, 0.0),
        "linear" | "bilinear" => (Some(Sampling::Linear), 2, 0.0),
        "cubic" | "bicubic" => (Some(Sampling::Cubic { a: -0.75 }), 4, -1.0),
        other => return Err(ImportError::invalid(format!("mode `{other}` is unknown"))),
    };
    let how = Reading { sampling, n_taps, first, padding, align_corners, combine: ReduceKind::Sum };
    let (batch, channels) = (x_dims[0].clone(), x_dims[1].clone());
    let out = &grid_dims[1..=n_axes];
    let n_places = Dim::product(out.iter().cloned());
    let grid = cx.cast(grid, DType::F32)?;
    let mut places = Vec::new();
    for (index, extent) in x_dims[2..].iter().enumerate() {
        // Coordinates stand in reverse order: x first.
        let coordinate = cx.slice_axis(grid, n_axes + 1, Dim::from(n_axes - 1 - index), Dim::from(1))?;
        let coordinate = cx.reshape(coordinate, vec![batch.clone(), n_places.clone()])?;
        let axis = axis(cx, extent, align_corners)?;
        places.push(denormalized(cx, coordinate, &axis, align_corners)?);
    }
    let y = read(cx, x, &places, &n_places, &how)?;
    let y = cx.transpose(y, vec![0, 2, 1])?;
    Ok(vec![cx.reshape(y, [&[batch, channels][..], out].concat())?])
}

/// How a tensor is read at places between its elements.
pub(super) struct Reading {
    /// `None`: the nearest element.
    pub sampling: Option<Sampling>,
    /// How many elements of each axis are read around a place, and the first of them.
    pub n_taps: usize,
    pub first: f64,
    pub padding: Padding,
    pub align_corners: bool,
    /// What becomes of the weighted elements around a place.
    pub combine: ReduceKind,
}

impl Reading {
    pub fn linear(padding: Padding, combine: ReduceKind) -> Self {
        Reading {
            sampling: Some(Sampling::Linear),
            n_taps: 2,
            first: 0.0,
            padding,
            align_corners: true,
            combine,
        }
    }
}

/// Reads `x` [batch, channels, spatial..] at `places`, one tensor [batch, `n_places`] a spatial axis with f32
/// coordinates in elements; gives [batch, places, channels] in the type of `x`.
pub(super) fn read(
    cx: &mut NodeCx,
    x: ValueId,
    places: &[ValueId],
    n_places: &Dim,
    how: &Reading,
) -> Result<ValueId> {
    let x_dims = cx.shape(x)?;
    let (batch, channels, spatial) = (x_dims[0].clone(), x_dims[1].clone(), &x_dims[2..]);
    let n_axes = places.len();
    // Over [batch, places, taps of the first axis, taps of the second...].
    let (mut position, mut weight, mut inside) = (None, None, None);
    for (index, (extent, &place)) in spatial.iter().zip(places).enumerate() {
        let axis = axis(cx, extent, how.align_corners)?;
        let mut dims = vec![Dim::from(1); n_axes + 2];
        (dims[0], dims[1]) = (batch.clone(), n_places.clone());
        let mut place = cx.reshape(place, dims)?;
        if how.sampling.is_none() {
            place = cx.unary(UnaryKind::Round, place)?;
        }
        // What a cubic filter reads beyond the border is the border's, element by element.
        let keeps_place = how.padding == Padding::Border && how.n_taps > 2;
        if !keeps_place {
            place = padded(cx, place, &axis, how.padding)?;
        }
        let mut at = cx.unary(UnaryKind::Floor, place)?;
        if let Some(sampling) = how.sampling {
            let mut dims = vec![Dim::from(1); n_axes + 2];
            dims[index + 2] = Dim::from(how.n_taps);
            let offsets = cx.iota(Dim::from(how.n_taps), DType::F32)?;
            let offsets = cx.reshape(offsets, dims)?;
            let offsets = cx.binary_scalar(BinaryKind::Add, offsets, how.first)?;
            at = cx.binary(BinaryKind::Add, at, offsets)?;
            let distance = cx.binary(BinaryKind::Sub, at, place)?;
            let distance = cx.unary(UnaryKind::Abs, distance)?;
            let own = sampling.filter(cx, distance)?;
            weight = Some(joined(cx, BinaryKind::Mul, weight, own)?);
        }
        if how.padding == Padding::Reflection {
            at = reflected(cx, at, &axis)?;
        }
        let at = cx.cast(at, DType::I64)?;
        let clamped = clamp(cx, at, extent)?;
        if how.padding == Padding::Zeros {
            let own = cx.compare(Cmp::Eq, at, clamped)?;
            inside = Some(joined(cx, BinaryKind::And, inside, own)?);
        }
        let stride = cx.sizes(vec![Dim::product(spatial[index + 1..].iter().cloned())])?;
        let own = cx.binary(BinaryKind::Mul, clamped, stride)?;
        position = Some(joined(cx, BinaryKind::Add, position, own)?);
    }
    let position = position.ok_or_else(|| ImportError::invalid("the input has no spatial axis"))?;

    let n_reads = Dim::from(how.n_taps.pow(n_axes as u32));
    let reads = n_places.clone() * n_reads.clone();
    let position = cx.reshape(position, vec![batch.clone(), reads, Dim::from(1)])?;
    let flat = cx.reshape(x, vec![batch.clone(), channels.clone(), Dim::product(spatial.iter().cloned())])?;
    let flat = cx.transpose(flat, vec![0, 2, 1])?;
    let read = cx.add(GatherNd { batch_dims: 1 }, &[flat, position])?;
    let mut read =
        cx.reshape(read, vec![batch.clone(), n_places.clone(), n_reads.clone(), channels.clone()])?;
    let apart = vec![batch.clone(), n_places.clone(), n_reads, Dim::from(1)];
    if let Some(inside) = inside {
        let inside = cx.reshape(inside, apart.clone())?;
        let zero = cx.zero(cx.dtype(read)?);
        read = cx.select(inside, read, zero)?;
    }
    let dtype = cx.dtype(x)?;
    if let Some(weight) = weight {
        let wide = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
        let weight = cx.reshape(weight, apart)?;
        let (wide_read, weight) = (cx.cast(read, wide)?, cx.cast(weight, wide)?);
        read = cx.binary(BinaryKind::Mul, wide_read, weight)?;
        read = cx.add(Reduce { kind: how.combine, axes: vec![2], keepdims: true }, &[read])?;
    }
    let read = cx.reshape(read, vec![batch, n_places.clone(), channels])?;
    cx.cast(read, dtype)
}

fn axis(cx: &mut NodeCx, extent: &Dim, align_corners: bool) -> Result<Axis> {
    let size = dim_as_float(cx, extent)?;
    let (low, inset) = if align_corners { (0.0, 1.0) } else { (-0.5, 0.5) };
    let high = cx.binary_scalar(BinaryKind::Sub, size, inset)?;
    Ok(Axis { extent: extent.clone(), low: cx.scalar(DType::F32, low)?, high })
}

/// From -1 to 1 between the borders to elements.
fn denormalized(cx: &mut NodeCx, coordinate: ValueId, axis: &Axis, align_corners: bool) -> Result<ValueId> {
    let size = dim_as_float(cx, &axis.extent)?;
    let shifted = cx.binary_scalar(BinaryKind::Add, coordinate, 1.0)?;
    if align_corners {
        let half = cx.binary_scalar(BinaryKind::Div, shifted, 2.0)?;
        return cx.binary(BinaryKind::Mul, half, axis.high);
    }
    let scaled = cx.binary(BinaryKind::Mul, shifted, size)?;
    let scaled = cx.binary_scalar(BinaryKind::Sub, scaled, 1.0)?;
    cx.binary_scalar(BinaryKind::Div, scaled, 2.0)
}

/// Places beyond the borders moved inside.
fn padded(cx: &mut NodeCx, place: ValueId, axis: &Axis, padding: Padding) -> Result<ValueId> {
    match padding {
        Padding::Zeros => Ok(place),
        Padding::Reflection => reflected(cx, place, axis),
        Padding::Border => {
            let last = dim_as_float(cx, &(axis.extent.clone() - Dim::from(1)))?;
            let clamped = cx.binary(BinaryKind::Min, place, last)?;
            let clamped = cx.binary_scalar(BinaryKind::Max, clamped, 0.0)?;
            outside_only(cx, place, clamped, axis)
        }
    }
}

/// `moved` where `place` is beyond the borders.
fn outside_only(cx: &mut NodeCx, place: ValueId, moved: ValueId, axis: &Axis) -> Result<ValueId> {
    let above_low = cx.compare(Cmp::Ge, place, axis.low)?;
    let below_high = cx.compare(Cmp::Le, place, axis.high)?;
    let inside = cx.binary(BinaryKind::And, above_low, below_high)?;
    cx.select(inside, place, moved)
}

/// Mirrored at the borders until it is inside.
fn reflected(cx: &mut NodeCx, place: ValueId, axis: &Axis) -> Result<ValueId> {
    let range = cx.binary(BinaryKind::Sub, axis.high, axis.low)?;
    // A single element with aligned corners has no range: whatever comes out is moved to it in the end.
    let one = cx.scalar(DType::F32, 1.0)?;
    let zero = cx.scalar(DType::F32, 0.0)?;
    let has_range = cx.compare(Cmp::Gt, range, zero)?;
    let range = cx.select(has_range, range, one)?;
    let distance = cx.binary(BinaryKind::Sub, place, axis.low)?;
    let distance = cx.unary(UnaryKind::Abs, distance)?;
    let turns = cx.binary(BinaryKind::Div, distance, range)?;
    let turns = cx.unary(UnaryKind::Floor, turns)?;
    let full = cx.binary(BinaryKind::Mul, turns, range)?;
    let rest = cx.binary(BinaryKind::Sub, distance, full)?;
    let odd = cx.binary_scalar(BinaryKind::Mod, turns, 2.0)?;
    let is_odd = cx.compare(Cmp::Eq, odd, one)?;
    let from_low = cx.binary(BinaryKind::Add, axis.low, rest)?;
    let from_high = cx.binary(BinaryKind::Sub, axis.high, rest)?;
    let mirrored = cx.select(is_odd, from_high, from_low)?;
    outside_only(cx, place, mirrored, axis)
}

fn joined(cx: &mut NodeCx, kind: BinaryKind, others: Option<ValueId>, own: ValueId) -> Result<ValueId> {
    match others {
        Some(others) => cx.binary(kind, others, own),
        None => Ok(own),
    }
}

/// The homogeneous positions of all elements, x first, each multiplied by the sample's matrix.
fn affine_grid(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let theta = cx.input(0)?;
    let size = cx.input(1)?;
    let size = cx.elems(size)?;
    let align_corners = cx.flag("align_corners", false)?;
    let Some(spatial) = size.get(2..).filter(|spatial| matches!(spatial.len(), 2 | 3)) else {
        return Err(ImportError::invalid(format!("size has {} elements, not 4 or 5", size.len())));
    };
    let n_axes = spatial.len();
    let dtype = cx.dtype(theta)?;
    let wide = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
    let mut dims = spatial.to_vec();
    dims.push(Dim::from(1));
    let mut parts = Vec::new();
    for (axis, extent) in spatial.iter().enumerate().rev() {
        let index = cx.iota(extent.clone(), DType::F32)?;
        let doubled = cx.binary_scalar(BinaryKind::Mul, index, 2.0)?;
        let one = Dim::from(1);
        let (doubled, steps) = if align_corners {
            (doubled, (extent.clone() - one.clone()).maximum(&one))
        } else {
            (cx.binary_scalar(BinaryKind::Add, doubled, 1.0)?, extent.clone())
        };
        let steps = dim_as_float(cx, &steps)?;
        let position = cx.binary(BinaryKind::Div, doubled, steps)?;
        let position = cx.binary_scalar(BinaryKind::Sub, position, 1.0)?;
        let mut own = vec![one; n_axes + 1];
        own[axis] = extent.clone();
        let position = cx.reshape(position, own)?;
        parts.push(cx.broadcast(position, dims.clone())?);
    }
    let one = cx.scalar(DType::F32, 1.0)?;
    parts.push(cx.broadcast(one, dims)?);
    let positions = cx.concat(&parts, n_axes)?;
    let (positions, theta) = (cx.cast(positions, wide)?, cx.cast(theta, wide)?);
    let product =
        Contract { lhs_batch: vec![], rhs_batch: vec![], lhs: vec![n_axes], rhs: vec![2], out: wide };
    let grid = cx.add(product, &[positions, theta])?;
    let perm = [&[n_axes][..], &(0..n_axes).collect::<Vec<_>>(), &[n_axes + 1]].concat();
    let grid = cx.transpose(grid, perm)?;
    Ok(vec![cx.cast(grid, dtype)?])
}
