//! Elements found by index: gather, scatter, one-hot, reversed sequences.

use tcc_ir::ops::{BinaryKind, GatherElements, GatherNd, ScatterElements, ScatterNd};
use tcc_ir::{Cmp, DType, Dim, ValueId};

use super::{Entry, onnx};
use crate::onnx::node::{ImportError, NodeCx, Result};

pub(super) const TABLE: &[Entry] = &[
    onnx("Gather", 1, |cx| {
        let (x, indices) = (cx.input(0)?, cx.input(1)?);
        let axis = cx.axis(cx.int("axis", 0)?, cx.rank(x)?)?;
        Ok(vec![cx.gather(x, indices, axis)?])
    }),
    onnx("GatherElements", 11, |cx| {
        let (x, indices) = (cx.input(0)?, cx.input(1)?);
        let axis = cx.axis(cx.int("axis", 0)?, cx.rank(x)?)?;
        Ok(vec![cx.add(GatherElements { axis }, &[x, indices])?])
    }),
    onnx("GatherND", 11, |cx| {
        let (x, indices) = (cx.input(0)?, cx.input(1)?);
        let batch_dims = usize::try_from(cx.int("batch_dims", 0)?)
            .map_err(|_| ImportError::invalid("batch_dims is negative"))?;
        Ok(vec![cx.add(GatherNd { batch_dims }, &[x, indices])?])
    }),
    onnx("OneHot", 9, one_hot),
    onnx("ReverseSequence", 10, reverse_sequence),
    onnx("Scatter", 9, scatter_elements),
    onnx("ScatterElements", 11, scatter_elements),
    onnx("ScatterND", 11, |cx| {
        let update = update(cx)?;
        let inputs = [cx.input(0)?, cx.input(1)?, cx.input(2)?];
        Ok(vec![cx.add(ScatterNd { update }, &inputs)?])
    }),
];

fn scatter_elements(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let inputs = [cx.input(0)?, cx.input(1)?, cx.input(2)?];
    let axis = cx.axis(cx.int("axis", 0)?, cx.rank(inputs[0])?)?;
    let update = update(cx)?;
    Ok(vec![cx.add(ScatterElements { axis, update }, &inputs)?])
}

/// How an update combines with what is there.
fn update(cx: &NodeCx) -> Result<Option<BinaryKind>> {
    Ok(match cx.string("reduction", "none")? {
        "none" => None,
        "add" => Some(BinaryKind::Add),
        "mul" => Some(BinaryKind::Mul),
        "max" => Some(BinaryKind::Max),
        "min" => Some(BinaryKind::Min),
        other => return Err(ImportError::invalid(format!("reduction `{other}` is unknown"))),
    })
}

fn one_hot(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let (indices, depth, values) = (cx.input(0)?, cx.input(1)?, cx.input(2)?);
    let mut dims = cx.shape(indices)?;
    let axis = cx.axis(cx.int("axis", -1)?, dims.len() + 1)?;
    let depth = cx.cast(depth, DType::I64)?;
    let size = cx.scalar_dim(depth, "depth")?;
    // Negative indices count from the end.
    let indices = cx.cast(indices, DType::I64)?;
    let (depth, zero) = (cx.to_scalar(depth, "depth")?, cx.scalar(DType::I64, 0.0)?);
    let is_negative = cx.compare(Cmp::Lt, indices, zero)?;
    let from_end = cx.binary(BinaryKind::Add, indices, depth)?;
    let indices = cx.select(is_negative, from_end, indices)?;
    dims.insert(axis, Dim::from(1));
    let indices = cx.reshape(indices, dims.clone())?;
    // The class of each place, along an axis of its own.
    let mut class_dims = vec![Dim::from(1); dims.len()];
    class_dims[axis] = size.clone();
    let classes = cx.iota(size, DType::I64)?;
    let classes = cx.reshape(classes, class_dims)?;
    let is_hot = cx.compare(Cmp::Eq, indices, classes)?;
    let one = Dim::from(1);
    let off = cx.slice_axis(values, 0, Dim::from(0), one.clone())?;
    let on = cx.slice_axis(values, 0, one.clone(), one)?;
    let (off, on) = (cx.to_scalar(off, "a value")?, cx.to_scalar(on, "a value")?);
    Ok(vec![cx.select(is_hot, on, off)?])
}

/// Element t of a sequence of length n comes from n - 1 - t where t < n, else from t.
fn reverse_sequence(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let (x, lengths) = (cx.input(0)?, cx.input(1)?);
    let dims = cx.shape(x)?;
    let time = cx.axis(cx.int("time_axis", 0)?, dims.len())?;
    let batch = cx.axis(cx.int("batch_axis", 1)?, dims.len())?;
    if time == batch {
        return Err(ImportError::invalid("time_axis and batch_axis are the same"));
    }
    let along = |cx: &mut NodeCx, vector: ValueId, axis: usize| {
        let mut shape = vec![Dim::from(1); dims.len()];
        shape[axis] = dims[axis].clone();
        cx.reshape(vector, shape)
    };
    let lengths = cx.cast(lengths, DType::I64)?;
    let lengths = along(cx, lengths, batch)?;
    let position = cx.iota(dims[time].clone(), DType::I64)?;
    let position = along(cx, position, time)?;
    let one = cx.scalar(DType::I64, 1.0)?;
    let last = cx.binary(BinaryKind::Sub, lengths, one)?;
    let reversed = cx.binary(BinaryKind::Sub, last, position)?;
    let is_inside = cx.compare(Cmp::Lt, position, lengths)?;
    let source = cx.select(is_inside, reversed, position)?;
    let source = cx.broadcast(source, dims.clone())?;
    Ok(vec![cx.add(GatherElements { axis: time }, &[x, source])?])
}
