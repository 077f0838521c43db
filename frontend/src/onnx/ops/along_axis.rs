//! Along one axis: positions of extremes, running sums, the largest elements.

use tcc_ir::ops::{ArgKind, ArgReduce, Cumulative, CumulativeKind, TopK};
use tcc_ir::{Cmp, Dim, ValueId};

use super::{Entry, onnx};
use crate::onnx::node::{ImportError, NodeCx, Result};

pub(super) const TABLE: &[Entry] = &[
    onnx("ArgMax", 1, |cx| arg_reduce(cx, ArgKind::Max)),
    onnx("ArgMin", 1, |cx| arg_reduce(cx, ArgKind::Min)),
    onnx("CumProd", 26, |cx| cumulative(cx, CumulativeKind::Prod)),
    onnx("CumSum", 11, |cx| cumulative(cx, CumulativeKind::Sum)),
    onnx("TopK", 1, |cx| {
        let k = Dim::from(cx.required_int("k")?);
        top_k(cx, k)
    }),
    onnx("TopK", 10, |cx| {
        let k = cx.input(1)?;
        let k = cx.scalar_dim(k, "k")?;
        top_k(cx, k)
    }),
];

fn arg_reduce(cx: &mut NodeCx, kind: ArgKind) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let axis = cx.axis(cx.int("axis", 0)?, cx.rank(x)?)?;
    let (last, keepdims) = (cx.flag("select_last_index", false)?, cx.flag("keepdims", true)?);
    Ok(vec![cx.add(ArgReduce { kind, axis, last, keepdims }, &[x])?])
}

fn top_k(cx: &mut NodeCx, k: Dim) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let axis = cx.axis(cx.int("axis", -1)?, cx.rank(x)?)?;
    let (largest, sorted) = (cx.flag("largest", true)?, cx.flag("sorted", true)?);
    cx.add_all(TopK { axis, k, largest, sorted }, &[x])
}

fn cumulative(cx: &mut NodeCx, kind: CumulativeKind) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let (exclusive, reverse) = (cx.flag("exclusive", false)?, cx.flag("reverse", false)?);
    let dims = cx.shape(x)?;
    let axis = cx.input(1)?;
    let axis = cx.scalar_dim(axis, "the axis")?;
    if let Some(axis) = axis.as_const() {
        let axis = cx.axis(axis, dims.len())?;
        return Ok(vec![cx.add(Cumulative { kind, axis, exclusive, reverse }, &[x])?]);
    }
    if dims.is_empty() {
        return Err(ImportError::invalid("the input has no dimensions"));
    }
    // An axis told at run time: the axes before and after it are joined, so that it is the middle one of three.
    let (zero, one, rank) = (Dim::from(0), Dim::from(1), Dim::from(dims.len()));
    let from_front = Dim::select(Cmp::Lt, &axis, &zero, &(axis.clone() + rank.clone()), &axis);
    let joined = |cmp: Cmp| {
        Dim::product(
            dims.iter()
                .enumerate()
                .map(|(axis, dim)| Dim::select(cmp, &Dim::from(axis), &from_front, dim, &one)),
        )
    };
    let folded = cx.reshape(x, vec![joined(Cmp::Lt), joined(Cmp::Eq), joined(Cmp::Gt)])?;
    let y = cx.add(Cumulative { kind, axis: 1, exclusive, reverse }, &[folded])?;
    let y = cx.reshape(y, dims)?;
    cx.require(y, Cmp::Ge, &from_front, &zero, "the axis is out of range")?;
    cx.require(y, Cmp::Lt, &from_front, &rank, "the axis is out of range")?;
    Ok(vec![y])
}
