//! Pooling: reductions over windows, or over all spatial axes.

use tcc_ir::ops::{BinaryKind, Reduce, ReduceKind, Sizes, UnaryKind, Window, WindowKind};
use tcc_ir::{DType, Dim, ValueId};

use super::precision::in_compute_type;
use super::spatial::{Spatial, kernel_shape};
use super::{Entry, onnx};
use crate::onnx::node::{ImportError, NodeCx, Result};

pub(super) const TABLE: &[Entry] = &[
    onnx("AveragePool", 1, average_pool),
    onnx("GlobalAveragePool", 1, |cx| global(cx, mean)),
    onnx("GlobalLpPool", 1, |cx| {
        let p = exponent(cx, 2)?;
        global(cx, |cx, x, axes| {
            let powers = abs_power(cx, x, p)?;
            let sum = reduce(cx, ReduceKind::Sum, powers, axes)?;
            root(cx, sum, p)
        })
    }),
    onnx("GlobalMaxPool", 1, |cx| {
        let x = cx.input(0)?;
        let axes = spatial_axes(cx, x)?;
        Ok(vec![reduce(cx, ReduceKind::Max, x, axes)?])
    }),
    onnx("LpPool", 1, lp_pool),
    onnx("MaxPool", 1, max_pool),
];

fn spatial_axes(cx: &NodeCx, x: ValueId) -> Result<Vec<usize>> {
    match cx.rank(x)? {
        rank if rank < 2 => Err(ImportError::invalid(format!("the input has rank {rank}, not 2 or more"))),
        rank => Ok((2..rank).collect()),
    }
}

/// The reduction over `axes`, which stay with extent 1.
pub(super) fn reduce(cx: &mut NodeCx, kind: ReduceKind, x: ValueId, axes: Vec<usize>) -> Result<ValueId> {
    cx.add(Reduce { kind, axes, keepdims: true }, &[x])
}

fn global(
    cx: &mut NodeCx,
    f: impl FnOnce(&mut NodeCx, ValueId, Vec<usize>) -> Result<ValueId>,
) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let axes = spatial_axes(cx, x)?;
    Ok(vec![in_compute_type(cx, x, |cx, x| f(cx, x, axes))?])
}

/// The mean over `axes`, which stay with extent 1.
pub(super) fn mean(cx: &mut NodeCx, x: ValueId, axes: Vec<usize>) -> Result<ValueId> {
    let dims = cx.shape(x)?;
    let count = Dim::product(axes.iter().map(|&axis| dims[axis].clone()));
    let sum = reduce(cx, ReduceKind::Sum, x, axes)?;
    let dtype = cx.dtype(x)?;
    let count = size_as(cx, count, dtype)?;
    cx.over(sum, count)
}

/// A size as a number of type `dtype`, without dims.
pub(super) fn size_as(cx: &mut NodeCx, size: Dim, dtype: DType) -> Result<ValueId> {
    if let Some(size) = size.as_const() {
        return cx.scalar(dtype, size as f64);
    }
    let size = cx.add(Sizes { dtype: DType::I64, shape: vec![], elems: vec![size] }, &[])?;
    cx.cast(size, dtype)
}

/// The exponent of an Lp norm: a float in opset 1, an integer since.
fn exponent(cx: &NodeCx, default: i64) -> Result<f64> {
    let p = if cx.opset() < 2 { cx.float("p", default as f64)? } else { cx.int("p", default)? as f64 };
    if p > 0.0 { Ok(p) } else { Err(ImportError::invalid(format!("p is {p}"))) }
}

/// `|x|^p`.
pub(super) fn abs_power(cx: &mut NodeCx, x: ValueId, p: f64) -> Result<ValueId> {
    if p == 2.0 {
        return cx.square(x);
    }
    let magnitude = cx.unary(UnaryKind::Abs, x)?;
    if p == 1.0 { Ok(magnitude) } else { cx.binary_scalar(BinaryKind::Pow, magnitude, p) }
}

/// `x^(1/p)` of something that isn't negative.
pub(super) fn root(cx: &mut NodeCx, x: ValueId, p: f64) -> Result<ValueId> {
    match p {
        1.0 => Ok(x),
        2.0 => cx.unary(UnaryKind::Sqrt, x),
        p => cx.binary_scalar(BinaryKind::Pow, x, 1.0 / p),
    }
}

/// The window that the node's attributes describe, over the spatial axes of `x`.
struct Pool {
    spatial: Spatial,
    /// The pads before `ceil_mode` moved those at the end.
    stated_after: Vec<Dim>,
    input: Vec<Dim>,
    window: Vec<usize>,
}

impl Pool {
    fn read(cx: &NodeCx, x: ValueId) -> Result<Self> {
        let n_axes = spatial_axes(cx, x)?.len();
        let input = cx.shape(x)?[2..].to_vec();
        let window = kernel_shape(cx, n_axes)?;
        let sizes: Vec<Dim> = window.iter().map(|&size| Dim::from(size)).collect();
        let mut spatial = Spatial::read(cx, n_axes)?;
        spatial.resolve(&input, &sizes);
        let stated_after = spatial.after.clone();
        if cx.flag("ceil_mode", false)? {
            spatial.round_up(&input, &sizes);
        }
        Ok(Pool { spatial, stated_after, input, window })
    }

    fn op(&self, kind: WindowKind) -> Window {
        let Spatial { strides, dilations, before, after, .. } = self.spatial.clone();
        Window {
            kind,
            window: self.window.clone(),
            strides,
            dilations,
            pads_before: before,
            pads_after: after,
        }
    }

    /// How many elements each place of the window has, with the stated pads counted or not; shaped like the places.
    fn counts(&self, cx: &mut NodeCx, dtype: DType, include_pads: bool) -> Result<ValueId> {
        let zero = Dim::from(0);
        let full: usize = self.window.iter().product();
        let hangs_over = self.spatial.after != self.stated_after;
        let has_pads = self.spatial.before.iter().chain(&self.stated_after).any(|pad| *pad != zero);
        if !hangs_over && (include_pads || !has_pads) {
            return cx.scalar(dtype, full as f64);
        }
        let mut op = self.op(WindowKind::Sum);
        let mut counted = self.input.clone();
        if include_pads {
            for axis in 0..counted.len() {
                let stated = &self.stated_after[axis];
                counted[axis] = counted[axis].clone() + op.pads_before[axis].clone() + stated.clone();
                op.pads_before[axis] = zero.clone();
                op.pads_after[axis] = op.pads_after[axis].clone() - stated.clone();
            }
        }
        let one = cx.scalar(dtype, 1.0)?;
        let ones = cx.broadcast(one, counted)?;
        cx.add(op, &[ones])
    }
}

fn average_pool(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let pool = Pool::read(cx, x)?;
    let include_pads = cx.flag("count_include_pad", false)?;
    let y = in_compute_type(cx, x, |cx, x| {
        let sum = cx.add(pool.op(WindowKind::Sum), &[x])?;
        let dtype = cx.dtype(x)?;
        let counts = pool.counts(cx, dtype, include_pads)?;
        cx.over(sum, counts)
    })?;
    Ok(vec![y])
}

fn lp_pool(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let pool = Pool::read(cx, x)?;
    let p = exponent(cx, 2)?;
    let y = in_compute_type(cx, x, |cx, x| {
        let powers = abs_power(cx, x, p)?;
        let sum = cx.add(pool.op(WindowKind::Sum), &[powers])?;
        root(cx, sum, p)
    })?;
    Ok(vec![y])
}

fn max_pool(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let pool = Pool::read(cx, x)?;
    let is_column_major = cx.flag("storage_order", false)?;
    let mut outputs = vec![cx.add(pool.op(WindowKind::Max), &[x])?];
    if cx.wants_output(1) {
        outputs.push(positions(cx, x, &pool, is_column_major)?);
    }
    Ok(outputs)
}

/// Where in the whole tensor each maximum is.
fn positions(cx: &mut NodeCx, x: ValueId, pool: &Pool, is_column_major: bool) -> Result<ValueId> {
    let mut within = cx.add(pool.op(WindowKind::ArgMax), &[x])?;
    if is_column_major {
        within = column_major(cx, within, &pool.input)?;
    }
    let dims = cx.shape(x)?;
    let planes = cx.iota(dims[0].clone() * dims[1].clone(), DType::I64)?;
    let mut shape = vec![dims[0].clone(), dims[1].clone()];
    shape.resize(dims.len(), Dim::from(1));
    let planes = cx.reshape(planes, shape)?;
    let plane_size = size_as(cx, Dim::product(pool.input.iter().cloned()), DType::I64)?;
    let first = cx.times(planes, plane_size)?;
    cx.plus(first, within)
}

/// Row-major positions in a box as positions with the first axis running fastest.
fn column_major(cx: &mut NodeCx, positions: ValueId, extents: &[Dim]) -> Result<ValueId> {
    let mut rest = positions;
    let mut sum: Option<ValueId> = None;
    for axis in (0..extents.len()).rev() {
        let extent = size_as(cx, extents[axis].clone(), DType::I64)?;
        let coordinate = cx.binary(BinaryKind::Rem, rest, extent)?;
        rest = cx.over(rest, extent)?;
        let stride = size_as(cx, Dim::product(extents[..axis].iter().cloned()), DType::I64)?;
        let step = cx.times(coordinate, stride)?;
        sum = Some(match sum {
            Some(sum) => cx.plus(sum, step)?,
            None => step,
        });
    }
    Ok(sum.unwrap_or(positions))
}
