//! Slice and Pad: parts of a tensor, and a tensor inside a larger one. Bounds, and even axes, may be known at run
//! time only; then they stay symbols in the result's shape.

use tcc_ir::ops::{Pad, PadMode, Slice};
use tcc_ir::{Cmp, Dim, ValueId};

use super::axes::Axes;
use super::{Entry, onnx};
use crate::onnx::node::{ImportError, NodeCx, Result};

pub(super) const TABLE: &[Entry] = &[
    onnx("CenterCropPad", 18, center_crop_pad),
    onnx("Pad", 2, pad_by_attributes),
    onnx("Pad", 11, pad_by_inputs),
    onnx("Slice", 1, slice_by_attributes),
    onnx("Slice", 10, slice_by_inputs),
];

/// A constant from here on is taken for "as far as it goes": exporters write various largest numbers.
const FAR: i64 = i32::MAX as i64;
const MINUS_FAR: i64 = -FAR;

fn slice_by_attributes(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let dims = |values: &[i64]| values.iter().map(|&value| Dim::from(value)).collect::<Vec<Dim>>();
    let (starts, ends) = (dims(cx.required_ints("starts")?), dims(cx.required_ints("ends")?));
    let axes = cx.opt_ints("axes")?.map(dims);
    slice(cx, starts, ends, axes, None)
}

fn slice_by_inputs(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let (starts, ends) = (cx.elems(cx.input(1)?)?, cx.elems(cx.input(2)?)?);
    let axes = optional_elems(cx, 3)?;
    let steps = optional_elems(cx, 4)?;
    slice(cx, starts, ends, axes, steps)
}

fn optional_elems(cx: &mut NodeCx, index: usize) -> Result<Option<Vec<Dim>>> {
    cx.optional_input(index).map(|value| cx.elems(value)).transpose()
}

fn slice(
    cx: &mut NodeCx,
    starts: Vec<Dim>,
    ends: Vec<Dim>,
    axes: Option<Vec<Dim>>,
    steps: Option<Vec<Dim>>,
) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let extents = cx.shape(x)?;
    let steps = steps.unwrap_or_else(|| vec![Dim::from(1); starts.len()]);
    if steps.iter().any(|step| step.is_const(0)) {
        return Err(ImportError::invalid("a step is 0"));
    }
    let axes = Axes::of_entries(cx, axes, starts.len(), extents.len())?;
    let mut op = Slice { starts: vec![], sizes: vec![], steps: vec![] };
    for (axis, extent) in extents.iter().enumerate() {
        let start = axes.entry(axis, &starts, &Dim::from(0))?;
        let end = axes.entry(axis, &ends, &Dim::from(FAR))?;
        let step = match axes.entry(axis, &steps, &Dim::from(1))?.as_const() {
            // A step beyond any extent takes one element, as the nearest such step does.
            Some(step) => Dim::from(step.clamp(MINUS_FAR, FAR)),
            None => axes.entry(axis, &steps, &Dim::from(1))?,
        };
        let (start, size) = range(&start, &end, &step, extent);
        op.starts.push(start);
        op.sizes.push(size);
        op.steps.push(step);
    }
    Ok(vec![cx.add(op, &[x])?])
}

/// First element and number of elements of `start:end:step` over `extent`.
fn range(start: &Dim, end: &Dim, step: &Dim, extent: &Dim) -> (Dim, Dim) {
    let zero = Dim::from(0);
    let forward = || {
        let (start, end) = (bound(start, extent, &zero, extent), bound(end, extent, &zero, extent));
        let size = (end - start.clone()).ceil_div(step).maximum(&zero);
        (start, size)
    };
    let backward = || {
        let last = extent.clone() - Dim::from(1);
        let (start, end) = (bound(start, extent, &zero, &last), bound(end, extent, &Dim::from(-1), &last));
        let size = (start.clone() - end).ceil_div(&(zero.clone() - step.clone())).maximum(&zero);
        (start, size)
    };
    match Dim::compare(Cmp::Gt, step, &zero) {
        Some(true) => forward(),
        Some(false) => backward(),
        None => {
            let (forward, backward) = (forward(), backward());
            let choose = |a: &Dim, b: &Dim| Dim::select(Cmp::Gt, step, &zero, a, b);
            (choose(&forward.0, &backward.0), choose(&forward.1, &backward.1))
        }
    }
}

/// A position that may count from the end, held within `low..=high`.
fn bound(position: &Dim, extent: &Dim, low: &Dim, high: &Dim) -> Dim {
    match position.as_const() {
        Some(FAR..) => high.clone(),
        Some(..=MINUS_FAR) => low.clone(),
        _ => {
            let from_end = position.clone() + extent.clone();
            let from_start = Dim::select(Cmp::Lt, position, &Dim::from(0), &from_end, position);
            from_start.maximum(low).minimum(high)
        }
    }
}

fn pad_by_attributes(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let pads = cx.required_ints("pads")?.iter().map(|&pad| Dim::from(pad)).collect();
    let (x, value) = (cx.input(0)?, cx.float("value", 0.0)?);
    let value = cx.scalar(cx.dtype(x)?, value)?;
    pad(cx, pads, value, None)
}

fn pad_by_inputs(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let pads = cx.elems(cx.input(1)?)?;
    let value = match cx.optional_input(2) {
        Some(value) => cx.to_scalar(value, "constant_value")?,
        None => cx.zero(cx.dtype(cx.input(0)?)?),
    };
    let axes = optional_elems(cx, 3)?;
    pad(cx, pads, value, axes)
}

fn pad(cx: &mut NodeCx, pads: Vec<Dim>, value: ValueId, axes: Option<Vec<Dim>>) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let rank = cx.rank(x)?;
    let mode = cx.string("mode", "constant")?;
    let mode =
        PadMode::from_name(mode).ok_or_else(|| ImportError::invalid(format!("mode `{mode}` is unknown")))?;
    let n_entries = axes.as_ref().map_or(rank, Vec::len);
    if pads.len() != 2 * n_entries {
        return Err(ImportError::invalid(format!("{} pads are given for {n_entries} axes", pads.len())));
    }
    let (before, after) = pads.split_at(n_entries);
    let axes = Axes::of_entries(cx, axes, n_entries, rank)?;
    let zero = Dim::from(0);
    let at = |entries| (0..rank).map(|axis| axes.entry(axis, entries, &zero)).collect::<Result<Vec<Dim>>>();
    let (before, after) = (at(before)?, at(after)?);
    let grows = |pad: &Dim| Dim::compare(Cmp::Ge, pad, &zero) == Some(true);
    if mode == PadMode::Constant || before.iter().chain(&after).all(grows) {
        return Ok(vec![cx.add(Pad { before, after, mode }, &[x, value])?]);
    }
    // The IR's operator crops first and fills from what is left; here the whole tensor is what is mirrored.
    let positive = |pads: &[Dim]| pads.iter().map(|pad| pad.maximum(&zero)).collect::<Vec<Dim>>();
    let starts = before.iter().map(|pad| (zero.clone() - pad.clone()).maximum(&zero)).collect();
    let extents = cx.shape(x)?.into_iter().zip(before.iter().zip(&after));
    let sizes = extents.map(|(extent, (before, after))| extent + before.clone() + after.clone()).collect();
    let padded = cx.add(Pad { before: positive(&before), after: positive(&after), mode }, &[x, value])?;
    Ok(vec![cx.add(Slice { starts, sizes, steps: vec![Dim::from(1); rank] }, &[padded])?])
}

/// Crops or pads each axis to its size, the same amount on both sides; an odd element is at the end.
fn center_crop_pad(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let extents = cx.shape(x)?;
    let sizes = cx.elems(cx.input(1)?)?;
    let axes = match cx.opt_ints("axes")? {
        Some(axes) => cx.axes(axes, extents.len())?,
        None => (0..extents.len()).collect(),
    };
    if axes.len() != sizes.len() {
        return Err(ImportError::invalid(format!("{} sizes are given for {} axes", sizes.len(), axes.len())));
    }
    let (zero, two) = (Dim::from(0), Dim::from(2));
    let mut before = vec![zero.clone(); extents.len()];
    let mut after = before.clone();
    for (axis, size) in axes.into_iter().zip(sizes) {
        // Cropping rounds the front down as padding does, so a negative amount is rounded toward zero.
        let grow = size - extents[axis].clone();
        let shrink = zero.clone() - grow.clone();
        let front = grow.clone().maximum(&zero).floor_div(&two) - shrink.maximum(&zero).floor_div(&two);
        after[axis] = grow - front.clone();
        before[axis] = front;
    }
    let value = cx.zero(cx.dtype(x)?);
    Ok(vec![cx.add(Pad { before, after, mode: PadMode::Constant }, &[x, value])?])
}
