//! Results whose size depends on the data: what isn't zero, what is distinct, what a condition or a score picks.

use tcc_ir::ops::{Nms, NonZero, Unique};
use tcc_ir::{DType, Dim, ValueId};

use super::{Entry, onnx};
use crate::onnx::node::{NodeCx, Result};

pub(super) const TABLE: &[Entry] = &[
    onnx("Compress", 9, compress),
    onnx("NonMaxSuppression", 10, non_max_suppression),
    onnx("NonZero", 9, |cx| {
        let x = cx.input(0)?;
        Ok(vec![cx.add(NonZero {}, &[x])?])
    }),
    onnx("Unique", 11, |cx| {
        let x = cx.input(0)?;
        let axis = cx.opt_int("axis")?.map(|axis| cx.axis(axis, cx.rank(x)?)).transpose()?;
        let sorted = cx.flag("sorted", true)?;
        cx.add_all(Unique { axis, sorted }, &[x])
    }),
];

/// The slices, or without an axis the elements, at the places where the condition holds.
fn compress(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let (x, cond) = (cx.input(0)?, cx.input(1)?);
    let dims = cx.shape(x)?;
    let (x, axis) = match cx.opt_int("axis")? {
        Some(axis) => (x, cx.axis(axis, dims.len())?),
        None => (cx.reshape(x, vec![Dim::product(dims)])?, 0),
    };
    let places = cx.add(NonZero {}, &[cond])?;
    let n_places = cx.shape(places)?.pop().unwrap_or_else(|| Dim::from(0));
    let places = cx.reshape(places, vec![n_places])?;
    Ok(vec![cx.gather(x, places, axis)?])
}

fn non_max_suppression(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let center_point_box = cx.flag("center_point_box", false)?;
    let (boxes, scores) = (cx.input(0)?, cx.input(1)?);
    let max_output = cx.optional_input(2).map_or_else(|| cx.scalar(DType::I64, 0.0), Ok)?;
    let dtype = cx.dtype(boxes)?;
    let iou = cx.optional_input(3).map_or_else(|| cx.scalar(dtype, 0.0), Ok)?;
    let least_score = cx.optional_input(4).map_or_else(|| cx.scalar(dtype, f64::NEG_INFINITY), Ok)?;
    let inputs = [boxes, scores, max_output, iou, least_score];
    Ok(vec![cx.add(Nms { center_point_box }, &inputs)?])
}
