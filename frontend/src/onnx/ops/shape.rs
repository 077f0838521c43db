//! Shapes: asking for them and changing them without touching elements.

use tcc_ir::ops::Sizes;
use tcc_ir::{Cmp, DType, Dim, ValueId};

use super::axes::Axes;
use super::{Entry, onnx};
use crate::onnx::node::{ImportError, NodeCx, Result};

pub(super) const TABLE: &[Entry] = &[
    onnx("Flatten", 1, flatten),
    onnx("Reshape", 1, |cx| {
        cx.ignore_attribute("consumed_inputs");
        let dims = dims_of(cx.required_ints("shape")?);
        reshape(cx, dims, false)
    }),
    onnx("Reshape", 5, |cx| {
        let allow_zero = cx.flag("allowzero", false)?;
        let dims = cx.elems(cx.input(1)?)?;
        reshape(cx, dims, allow_zero)
    }),
    onnx("Shape", 1, shape),
    onnx("Size", 1, |cx| {
        let elems = vec![cx.tensor_type(cx.input(0)?)?.n_elements()];
        Ok(vec![cx.add(Sizes { dtype: DType::I64, shape: vec![], elems }, &[])?])
    }),
    onnx("Squeeze", 1, |cx| {
        let axes = cx.opt_ints("axes")?.map(dims_of);
        squeeze(cx, axes)
    }),
    onnx("Squeeze", 13, |cx| {
        let axes = cx.optional_input(1).map(|axes| cx.elems(axes)).transpose()?;
        squeeze(cx, axes)
    }),
    onnx("Unsqueeze", 1, |cx| {
        let axes = dims_of(cx.required_ints("axes")?);
        unsqueeze(cx, &axes)
    }),
    onnx("Unsqueeze", 13, |cx| {
        let axes = cx.elems(cx.input(1)?)?;
        unsqueeze(cx, &axes)
    }),
];

fn dims_of(values: &[i64]) -> Vec<Dim> {
    values.iter().map(|&value| Dim::from(value)).collect()
}

fn shape(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let dims = cx.shape(cx.input(0)?)?;
    let rank = dims.len() as i64;
    let bound =
        |position: i64| (if position < 0 { position + rank } else { position }).clamp(0, rank) as usize;
    let (start, end) = (bound(cx.int("start", 0)?), bound(cx.int("end", rank)?));
    let elems = dims.get(start..end).unwrap_or_default().to_vec();
    Ok(vec![cx.sizes(elems)?])
}

/// `dims` as the operator has them: 0 copies the input's (unless `allow_zero`), -1 takes what is left.
fn reshape(cx: &mut NodeCx, mut dims: Vec<Dim>, allow_zero: bool) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let from = cx.shape(x)?;
    for (axis, dim) in dims.iter_mut().enumerate().filter(|(_, dim)| !allow_zero && may_be_code(dim, 0)) {
        match from.get(axis) {
            Some(copied) => *dim = Dim::select(Cmp::Eq, dim, &Dim::from(0), copied, dim),
            None if dim.is_const(0) => {
                return Err(ImportError::invalid(format!(
                    "dimension {axis} is 0, but the input has only {} dimensions",
                    from.len()
                )));
            }
            None => {}
        }
    }
    let minus_ones: Vec<usize> = (0..dims.len()).filter(|&axis| dims[axis].is_const(-1)).collect();
    match minus_ones[..] {
        [] => infer_at_run_time(&from, &mut dims),
        [axis] => dims[axis] = what_is_left(&from, &dims, axis, allow_zero)?,
        _ => return Err(ImportError::invalid("more than one dimension is -1")),
    }
    Ok(vec![cx.reshape(x, dims)?])
}

/// Whether a dim may be the number `code` that stands for something else. One that is a size of another tensor
/// means itself, also where it happens to be 0; one read from data at run time has no lower bound.
fn may_be_code(dim: &Dim, code: i64) -> bool {
    dim.is_const(code) || (dim.as_const().is_none() && dim.bounds().0.is_none_or(|low| low < -1))
}

/// Replaces whichever dim turns out to be -1 at run time.
fn infer_at_run_time(from: &[Dim], dims: &mut [Dim]) {
    if !dims.iter().any(|dim| may_be_code(dim, -1)) {
        return;
    }
    let (one, minus_one) = (Dim::from(1), Dim::from(-1));
    let known = dims.iter().map(|dim| Dim::select(Cmp::Eq, dim, &minus_one, &one, dim));
    let left = Dim::product(from.iter().cloned()).floor_div(&Dim::product(known).maximum(&one));
    for dim in dims.iter_mut().filter(|dim| may_be_code(dim, -1)) {
        *dim = Dim::select(Cmp::Eq, dim, &minus_one, &left, dim);
    }
}

/// The dim at `axis` that makes the element counts equal.
fn what_is_left(from: &[Dim], dims: &[Dim], axis: usize, allow_zero: bool) -> Result<Dim> {
    // Dims that stand on both sides cancel: this keeps the result simple, and right where one of them is 0.
    let mut left = from.to_vec();
    let mut others = Vec::new();
    for (_, dim) in dims.iter().enumerate().filter(|(other, _)| *other != axis) {
        match left.iter().position(|candidate| candidate == dim) {
            Some(position) => _ = left.remove(position),
            None => others.push(dim.clone()),
        }
    }
    let others = Dim::product(others);
    if others.is_const(0) {
        return Err(ImportError::invalid(if allow_zero {
            "a dimension is 0 and another is -1"
        } else {
            "a dimension of the result is 0, so that -1 could be anything"
        }));
    }
    Ok(Dim::product(left).floor_div(&others))
}

fn flatten(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let dims = cx.shape(x)?;
    let axis = match cx.int("axis", 1)? {
        axis if axis == dims.len() as i64 => dims.len(),
        axis => cx.axis(axis, dims.len())?,
    };
    let (outer, inner) = dims.split_at(axis);
    let dims = vec![Dim::product(outer.iter().cloned()), Dim::product(inner.iter().cloned())];
    Ok(vec![cx.reshape(x, dims)?])
}

fn squeeze(cx: &mut NodeCx, axes: Option<Vec<Dim>>) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let dims = cx.shape(x)?;
    let axes = match axes {
        Some(axes) => axes,
        None if dims.iter().all(|dim| dim.as_const().is_some()) => {
            (0..dims.len()).filter(|&axis| dims[axis].is_const(1)).map(Dim::from).collect()
        }
        None => {
            return Err(ImportError::unsupported(
                "without axes the rank depends on dimensions that aren't known",
            ));
        }
    };
    let axes = Axes::new(cx, &axes, dims.len())?;
    // The dims that stay, each put where the number of those before it says.
    let mut kept = vec![Dim::from(0); dims.len() - axes.len()];
    for (axis, dim) in dims.iter().enumerate() {
        let is_kept = Dim::from(1) - axes.contains(axis);
        if is_kept.is_const(0) && dim.as_const().is_some_and(|dim| dim != 1) {
            return Err(ImportError::invalid(format!("axis {axis} has size {dim}, not 1")));
        }
        let place = axes.n_others_before(axis);
        for (index, slot) in kept.iter_mut().enumerate() {
            let here = Dim::select(Cmp::Eq, &place, &Dim::from(index), &is_kept, &Dim::from(0));
            *slot = slot.clone() + here * dim.clone();
        }
    }
    Ok(vec![cx.reshape(x, kept)?])
}

fn unsqueeze(cx: &mut NodeCx, axes: &[Dim]) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let dims = cx.shape(x)?;
    let rank = dims.len() + axes.len();
    let axes = Axes::new(cx, axes, rank)?;
    let (zero, one) = (Dim::from(0), Dim::from(1));
    // The dim of the input that belongs at an axis is the one that the number of others before it says.
    let at = |axis: usize| {
        let place = axes.n_others_before(axis);
        let own = dims.iter().enumerate().fold(zero.clone(), |found, (index, dim)| {
            Dim::select(Cmp::Eq, &place, &Dim::from(index), dim, &found)
        });
        Dim::select(Cmp::Eq, &axes.contains(axis), &one, &one, &own)
    };
    Ok(vec![cx.reshape(x, (0..rank).map(at).collect())?])
}
