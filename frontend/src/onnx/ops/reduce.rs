//! Reductions over axes that are attributes or, in later opsets, an input that may be known at run time only.

use tcc_ir::ops::{Reduce, ReduceKind, UnaryKind};
use tcc_ir::{Cmp, Dim, ValueId};

use super::axes::Axes;
use super::pool::size_as;
use super::precision::compute_type;
use super::{Entry, onnx};
use crate::onnx::node::{ImportError, NodeCx, Result};

pub(super) const TABLE: &[Entry] = &[
    onnx("ReduceL1", 1, |cx| over_attribute(cx, Kind::L1)),
    onnx("ReduceL1", 18, |cx| over_input(cx, Kind::L1)),
    onnx("ReduceL2", 1, |cx| over_attribute(cx, Kind::L2)),
    onnx("ReduceL2", 18, |cx| over_input(cx, Kind::L2)),
    onnx("ReduceLogSum", 1, |cx| over_attribute(cx, Kind::LogSum)),
    onnx("ReduceLogSum", 18, |cx| over_input(cx, Kind::LogSum)),
    onnx("ReduceLogSumExp", 1, |cx| over_attribute(cx, Kind::LogSumExp)),
    onnx("ReduceLogSumExp", 18, |cx| over_input(cx, Kind::LogSumExp)),
    onnx("ReduceMax", 1, |cx| over_attribute(cx, Kind::Core(ReduceKind::Max))),
    onnx("ReduceMax", 18, |cx| over_input(cx, Kind::Core(ReduceKind::Max))),
    onnx("ReduceMean", 1, |cx| over_attribute(cx, Kind::Mean)),
    onnx("ReduceMean", 18, |cx| over_input(cx, Kind::Mean)),
    onnx("ReduceMin", 1, |cx| over_attribute(cx, Kind::Core(ReduceKind::Min))),
    onnx("ReduceMin", 18, |cx| over_input(cx, Kind::Core(ReduceKind::Min))),
    onnx("ReduceProd", 1, |cx| over_attribute(cx, Kind::Core(ReduceKind::Prod))),
    onnx("ReduceProd", 18, |cx| over_input(cx, Kind::Core(ReduceKind::Prod))),
    onnx("ReduceSum", 1, |cx| over_attribute(cx, Kind::Core(ReduceKind::Sum))),
    onnx("ReduceSum", 13, |cx| over_input(cx, Kind::Core(ReduceKind::Sum))),
    onnx("ReduceSumSquare", 1, |cx| over_attribute(cx, Kind::SumSquare)),
    onnx("ReduceSumSquare", 18, |cx| over_input(cx, Kind::SumSquare)),
];

#[derive(Clone, Copy)]
enum Kind {
    Core(ReduceKind),
    Mean,
    L1,
    L2,
    LogSum,
    LogSumExp,
    SumSquare,
}

/// Which axes go.
enum Which {
    Known(Vec<usize>),
    /// Told at run time, as many as the flags add up to.
    Told(Axes),
}

fn over_attribute(cx: &mut NodeCx, kind: Kind) -> Result<Vec<ValueId>> {
    let rank = cx.rank(cx.input(0)?)?;
    let axes = match cx.opt_ints("axes")? {
        Some(axes) if !axes.is_empty() => cx.axes(axes, rank)?,
        _ => (0..rank).collect(),
    };
    run(cx, kind, Which::Known(axes))
}

fn over_input(cx: &mut NodeCx, kind: Kind) -> Result<Vec<ValueId>> {
    let rank = cx.rank(cx.input(0)?)?;
    let keeps_without_axes = cx.flag("noop_with_empty_axes", false)?;
    let axes = match cx.optional_input(1) {
        Some(axes) => cx.elems(axes)?,
        None => vec![],
    };
    let known: Option<Vec<i64>> = axes.iter().map(Dim::as_const).collect();
    let which = match known {
        Some(axes) if axes.is_empty() => {
            Which::Known(if keeps_without_axes { vec![] } else { (0..rank).collect() })
        }
        Some(axes) => Which::Known(cx.axes(&axes, rank)?),
        None => Which::Told(Axes::new(cx, &axes, rank)?),
    };
    run(cx, kind, which)
}

fn run(cx: &mut NodeCx, kind: Kind, which: Which) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let keepdims = cx.flag("keepdims", true)?;
    let dtype = cx.dtype(x)?;
    let wide = match kind {
        Kind::Core(_) => dtype,
        Kind::Mean | Kind::L1 | Kind::SumSquare if dtype.is_int() => dtype,
        _ => compute_type(dtype),
    };
    let x = cx.cast(x, wide)?;
    let y = reduced(cx, kind, &which, x)?;
    let y = cx.cast(y, dtype)?;
    Ok(vec![if keepdims { y } else { which.drop_from(cx, y)? }])
}

/// The reduction with the axes kept.
fn reduced(cx: &mut NodeCx, kind: Kind, which: &Which, x: ValueId) -> Result<ValueId> {
    let of = |cx: &mut NodeCx, kind, x| which.reduce(cx, kind, x);
    match kind {
        Kind::Core(kind) => of(cx, kind, x),
        Kind::Mean => {
            let sum = of(cx, ReduceKind::Sum, x)?;
            let dtype = cx.dtype(x)?;
            let count = which.n_reduced(&cx.shape(x)?);
            if count.is_const(1) {
                return Ok(sum);
            }
            let count = size_as(cx, count, dtype)?;
            cx.over(sum, count)
        }
        Kind::L1 => {
            let magnitude = match cx.dtype(x)?.is_unsigned_int() {
                true => x,
                false => cx.unary(UnaryKind::Abs, x)?,
            };
            of(cx, ReduceKind::Sum, magnitude)
        }
        Kind::SumSquare => {
            let square = cx.square(x)?;
            of(cx, ReduceKind::Sum, square)
        }
        Kind::L2 => {
            let sum = reduced(cx, Kind::SumSquare, which, x)?;
            cx.unary(UnaryKind::Sqrt, sum)
        }
        Kind::LogSum => {
            let sum = of(cx, ReduceKind::Sum, x)?;
            cx.unary(UnaryKind::Log, sum)
        }
        Kind::LogSumExp => {
            // Shifted by the maximum, unless that is infinite.
            let max = of(cx, ReduceKind::Max, x)?;
            let magnitude = cx.unary(UnaryKind::Abs, max)?;
            let is_finite = cx.compare_scalar(Cmp::Lt, magnitude, f64::INFINITY)?;
            let zero = cx.zero(cx.dtype(x)?);
            let shift = cx.select(is_finite, max, zero)?;
            let shifted = cx.minus(x, shift)?;
            let exp = cx.unary(UnaryKind::Exp, shifted)?;
            let sum = of(cx, ReduceKind::Sum, exp)?;
            let log = cx.unary(UnaryKind::Log, sum)?;
            cx.plus(log, shift)
        }
    }
}

impl Which {
    fn reduce(&self, cx: &mut NodeCx, kind: ReduceKind, x: ValueId) -> Result<ValueId> {
        match self {
            Which::Known(axes) if axes.is_empty() => Ok(x),
            Which::Known(axes) => cx.add(Reduce { kind, axes: axes.clone(), keepdims: true }, &[x]),
            Which::Told(axes) => {
                // Every axis becomes two: one to reduce and one to keep, the other of extent 1.
                let dims = cx.shape(x)?;
                let one = Dim::from(1);
                let apart = (0..dims.len())
                    .flat_map(|axis| {
                        let goes = axes.contains(axis);
                        let (dim, one) = (&dims[axis], &one);
                        [(dim, one), (one, dim)]
                            .map(|(then, otherwise)| Dim::select(Cmp::Eq, &goes, one, then, otherwise))
                    })
                    .collect();
                let apart = cx.reshape(x, apart)?;
                let axes = (0..dims.len()).map(|axis| 2 * axis).collect();
                cx.add(Reduce { kind, axes, keepdims: false }, &[apart])
            }
        }
    }

    /// How many elements each result is of.
    fn n_reduced(&self, dims: &[Dim]) -> Dim {
        match self {
            Which::Known(axes) => Dim::product(axes.iter().map(|&axis| dims[axis].clone())),
            Which::Told(axes) => Dim::product(dims.iter().enumerate().map(|(axis, dim)| {
                Dim::select(Cmp::Eq, &axes.contains(axis), &Dim::from(1), dim, &Dim::from(1))
            })),
        }
    }

    /// Removes the reduced axes, which have extent 1.
    fn drop_from(&self, cx: &mut NodeCx, y: ValueId) -> Result<ValueId> {
        let dims = cx.shape(y)?;
        match self {
            Which::Known(axes) if axes.is_empty() => Ok(y),
            Which::Known(axes) => {
                let kept = (0..dims.len()).filter(|axis| !axes.contains(axis));
                cx.reshape(y, kept.map(|axis| dims[axis].clone()).collect())
            }
            Which::Told(axes) => {
                let n_kept = dims.len().checked_sub(axes.len()).ok_or_else(|| {
                    ImportError::invalid(format!("{} axes of {} are reduced", axes.len(), dims.len()))
                })?;
                let (zero, one) = (Dim::from(0), Dim::from(1));
                let place = |index: usize| {
                    // The dim of the axis that stays and has `index` others before it.
                    dims.iter().enumerate().fold(one.clone(), |found, (axis, dim)| {
                        let here =
                            Dim::select(Cmp::Eq, &axes.n_others_before(axis), &Dim::from(index), dim, &found);
                        Dim::select(Cmp::Eq, &axes.contains(axis), &zero, &here, &found)
                    })
                };
                cx.reshape(y, (0..n_kept).map(place).collect())
            }
        }
    }
}
