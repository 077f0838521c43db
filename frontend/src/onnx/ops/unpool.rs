//! Inverses of windows: Col2Im and MaxUnpool.

use tcc_ir::ops::{ConvTranspose, Pad, PadMode, ScatterElements};
use tcc_ir::{Cmp, DType, Dim, ValueId};

use super::{Entry, onnx};
use crate::onnx::node::{ImportError, NodeCx, Result};

pub(super) const TABLE: &[Entry] = &[onnx("Col2Im", 18, col2im), onnx("MaxUnpool", 9, max_unpool)];

/// An attribute with an entry for each spatial axis.
pub(super) fn per_axis(cx: &NodeCx, name: &str, n_entries: usize, default: i64) -> Result<Vec<i64>> {
    match cx.opt_ints(name)? {
        None => Ok(vec![default; n_entries]),
        Some(entries) if entries.len() == n_entries && entries.iter().all(|&entry| entry >= default) => {
            Ok(entries.to_vec())
        }
        Some(entries) => Err(ImportError::invalid(format!("{name} is {entries:?}"))),
    }
}

/// A transposed convolution whose weights put the element at each position of a block at that position.
fn col2im(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let dtype = cx.dtype(x)?;
    let [batch, rows, columns] = &cx.shape(x)?[..] else {
        return Err(ImportError::invalid("the input must have rank 3"));
    };
    let image = cx.input(1)?;
    let image = cx.elems(image)?;
    let block = cx.input(2)?;
    let block = cx.elems(block)?;
    let n_axes = block.len();
    if image.len() != n_axes {
        return Err(ImportError::invalid(format!("the block has {n_axes} axes, the image {}", image.len())));
    }
    let n_positions = Dim::product(block.iter().cloned());
    let strides = per_axis(cx, "strides", n_axes, 1)?;
    let dilations = per_axis(cx, "dilations", n_axes, 1)?;
    let pads = per_axis(cx, "pads", 2 * n_axes, 0)?;
    let channels = rows.floor_div(&n_positions);
    let mut dims = vec![batch.clone() * channels.clone(), n_positions.clone()];
    let mut pads_after = Vec::new();
    for (axis, extent) in image.iter().enumerate() {
        let one = Dim::from(1);
        let reach = (block[axis].clone() - one.clone()) * Dim::from(dilations[axis]) + one;
        let stride = Dim::from(strides[axis]);
        let padded = extent.clone() + Dim::from(pads[axis] + pads[n_axes + axis]);
        let n_blocks = (padded - reach.clone()).floor_div(&stride) + Dim::from(1);
        let covered = (n_blocks.clone() - Dim::from(1)) * stride + reach;
        pads_after.push(covered - Dim::from(pads[axis]) - extent.clone());
        dims.push(n_blocks);
    }
    let blocks = Dim::product(dims[2..].iter().cloned());
    let apart = cx.reshape(x, dims)?;
    cx.require(apart, Cmp::Eq, &blocks, columns, "the number of blocks isn't the image's")?;
    let one = Dim::from(1);
    let column = cx.iota(n_positions.clone(), DType::I64)?;
    let row = cx.reshape(column, vec![n_positions.clone(), one.clone()])?;
    let is_own = cx.compare(Cmp::Eq, row, column)?;
    let weights = cx.cast(is_own, dtype)?;
    let shape = [n_positions, one].into_iter().chain(block.iter().cloned()).collect();
    let weights = cx.reshape(weights, shape)?;
    let sizes = |values: &[i64]| values.iter().map(|&value| value as usize).collect();
    let op = ConvTranspose {
        strides: sizes(&strides),
        dilations: sizes(&dilations),
        pads_before: pads[..n_axes].iter().map(|&pad| Dim::from(pad)).collect(),
        pads_after,
        output_padding: vec![0; n_axes],
        groups: 1,
    };
    let y = cx.add(op, &[apart, weights])?;
    let dims = [batch.clone(), channels].into_iter().chain(image).collect();
    Ok(vec![cx.reshape(y, dims)?])
}

/// Every element goes to the place that its index says, counted through the whole tensor.
fn max_unpool(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let (x, indices) = (cx.input(0)?, cx.input(1)?);
    let dims = cx.shape(x)?;
    let window = cx.required_ints("kernel_shape")?;
    let n_axes = window.len();
    if dims.len() != n_axes + 2 {
        return Err(ImportError::invalid(format!("kernel_shape is {window:?} for rank {}", dims.len())));
    }
    let strides = per_axis(cx, "strides", n_axes, 1)?;
    let pads = per_axis(cx, "pads", 2 * n_axes, 0)?;
    let mut inferred = dims[..2].to_vec();
    for (axis, extent) in dims[2..].iter().enumerate() {
        let last = (extent.clone() - Dim::from(1)) * Dim::from(strides[axis]);
        inferred.push(last + Dim::from(window[axis] - pads[axis] - pads[n_axes + axis]));
    }
    let flat = |cx: &mut NodeCx, x: ValueId| cx.reshape(x, vec![Dim::product(dims.iter().cloned())]);
    let zero = cx.zero(cx.dtype(x)?);
    let empty = cx.broadcast(zero, vec![Dim::product(inferred.iter().cloned())])?;
    let (x, indices) = (flat(cx, x)?, flat(cx, indices)?);
    let indices = cx.cast(indices, DType::I64)?;
    let filled = cx.add(ScatterElements { axis: 0, update: None }, &[empty, indices, x])?;
    let y = cx.reshape(filled, inferred.clone())?;
    let Some(shape) = cx.optional_input(2) else { return Ok(vec![y]) };
    let shape = cx.elems(shape)?;
    if shape.len() != inferred.len() {
        return Err(ImportError::invalid(format!("output_shape has {} elements", shape.len())));
    }
    let before = vec![Dim::from(0); shape.len()];
    let after = shape.into_iter().zip(inferred).map(|(size, inferred)| size - inferred).collect();
    Ok(vec![cx.add(Pad { before, after, mode: PadMode::Constant }, &[y, zero])?])
}
