//! Softmax and its relatives.

use tcc_ir::ops::{ArgKind, ArgReduce, ReduceKind, UnaryKind};
use tcc_ir::{Cmp, DType, Dim, ValueId};

use super::pool::reduce;
use super::precision::in_compute_type;
use super::{Entry, onnx};
use crate::onnx::node::{NodeCx, Result};

pub(super) const TABLE: &[Entry] = &[
    onnx("Hardmax", 1, hardmax),
    onnx("LogSoftmax", 1, |cx| over_axes(cx, log_softmax)),
    onnx("Softmax", 1, |cx| over_axes(cx, softmax)),
];

/// The axes that the node normalises over. Until opset 13 these are all from `axis` on: the input is seen as a matrix.
fn axes(cx: &NodeCx, x: ValueId) -> Result<std::ops::Range<usize>> {
    let rank = cx.rank(x)?;
    if cx.opset() >= 13 {
        let axis = cx.axis(cx.int("axis", -1)?, rank)?;
        return Ok(axis..axis + 1);
    }
    let axis = cx.int("axis", 1)?;
    Ok(if axis == rank as i64 { rank..rank } else { cx.axis(axis, rank)?..rank })
}

fn over_axes(
    cx: &mut NodeCx,
    f: fn(&mut NodeCx, ValueId, Vec<usize>) -> Result<ValueId>,
) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let axes = axes(cx, x)?.collect();
    Ok(vec![in_compute_type(cx, x, |cx, x| f(cx, x, axes))?])
}

/// `x` less its maximum over the axes, and the sum of its exponentials.
fn shifted_and_sum(cx: &mut NodeCx, x: ValueId, axes: Vec<usize>) -> Result<(ValueId, ValueId, ValueId)> {
    let max = reduce(cx, ReduceKind::Max, x, axes.clone())?;
    let shifted = cx.minus(x, max)?;
    let exp = cx.unary(UnaryKind::Exp, shifted)?;
    let sum = reduce(cx, ReduceKind::Sum, exp, axes)?;
    Ok((shifted, exp, sum))
}

/// `exp(x) / sum(exp(x))` over `axes`.
pub(super) fn softmax(cx: &mut NodeCx, x: ValueId, axes: Vec<usize>) -> Result<ValueId> {
    let (_, exp, sum) = shifted_and_sum(cx, x, axes)?;
    cx.over(exp, sum)
}

/// The logarithm of the softmax over `axes`.
pub(super) fn log_softmax(cx: &mut NodeCx, x: ValueId, axes: Vec<usize>) -> Result<ValueId> {
    let (shifted, _, sum) = shifted_and_sum(cx, x, axes)?;
    let log = cx.unary(UnaryKind::Log, sum)?;
    cx.minus(shifted, log)
}

/// 1 at the first maximum, else 0.
fn hardmax(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let axes = axes(cx, x)?;
    let (dims, dtype) = (cx.shape(x)?, cx.dtype(x)?);
    let product = |dims: &[Dim]| Dim::product(dims.iter().cloned());
    // Seen as [before, axes, after].
    let folded = [product(&dims[..axes.start]), product(&dims[axes.clone()]), product(&dims[axes.end..])];
    let x = cx.reshape(x, folded.to_vec())?;
    let best = cx.add(ArgReduce { kind: ArgKind::Max, axis: 1, last: false, keepdims: true }, &[x])?;
    let place = cx.iota(folded[1].clone(), DType::I64)?;
    let place = cx.reshape(place, vec![folded[1].clone(), Dim::from(1)])?;
    let is_best = cx.compare(Cmp::Eq, place, best)?;
    let y = cx.cast(is_best, dtype)?;
    Ok(vec![cx.reshape(y, dims)?])
}
