//! Rotary positional embeddings, and the update of key and value caches.

use tcc_ir::ops::{BinaryKind, ScatterElements, Slice};
use tcc_ir::{DType, Dim, ValueId};

use super::{Entry, onnx};
use crate::onnx::node::{ImportError, NodeCx, Result};

pub(super) const TABLE: &[Entry] =
    &[onnx("RotaryEmbedding", 23, rotary_embedding), onnx("TensorScatter", 24, tensor_scatter)];

fn rotary_embedding(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let shape = cx.shape(x)?;
    let heads = cx.int("num_heads", 0)?;
    // [batch, sequence, heads, size] or [batch, heads, sequence, size]; the caches get a 1 for the heads.
    let (split, heads_axis) = match shape.len() {
        3 if heads > 0 => {
            let heads = Dim::from(heads);
            let dims = vec![shape[0].clone(), shape[1].clone(), heads.clone(), shape[2].floor_div(&heads)];
            (cx.reshape(x, dims)?, 2)
        }
        3 => return Err(ImportError::invalid("an input of rank 3 needs num_heads")),
        4 => (x, 1),
        rank => return Err(ImportError::invalid(format!("the input has rank {rank}, not 3 or 4"))),
    };
    let dims = cx.shape(split)?;
    let size = dims[3].clone();
    let rotated = match cx.int("rotary_embedding_dim", 0)? {
        0 => size.clone(),
        rotated if rotated > 0 => Dim::from(rotated),
        rotated => return Err(ImportError::invalid(format!("rotary_embedding_dim is {rotated}"))),
    };
    let half = rotated.floor_div(&Dim::from(2));
    let positions = cx.optional_input(3);
    let mut cache = |index: usize| -> Result<ValueId> {
        let cache = cx.input(index)?;
        let at = match positions {
            Some(positions) => cx.gather(cache, positions, 0)?,
            None => cache,
        };
        let mut dims = cx.shape(at)?;
        if dims.len() != 3 {
            return Err(ImportError::invalid(format!("a cache gives rank {}, not 3", dims.len())));
        }
        dims.insert(heads_axis, Dim::from(1));
        cx.reshape(at, dims)
    };
    let (cos, sin) = (cache(1)?, cache(2)?);
    let interleaved = cx.flag("interleaved", false)?;
    let (first, second) = if interleaved {
        (every(cx, split, 0, 2, &half)?, every(cx, split, 1, 2, &half)?)
    } else {
        let second = cx.slice_axis(split, 3, half.clone(), half.clone())?;
        (cx.slice_axis(split, 3, Dim::from(0), half.clone())?, second)
    };
    let mut mixed = |kind, a: (ValueId, ValueId), b: (ValueId, ValueId)| -> Result<ValueId> {
        let (a, b) = (cx.binary(BinaryKind::Mul, a.0, a.1)?, cx.binary(BinaryKind::Mul, b.0, b.1)?);
        cx.binary(kind, a, b)
    };
    let real = mixed(BinaryKind::Sub, (cos, first), (sin, second))?;
    let imaginary = mixed(BinaryKind::Add, (sin, first), (cos, second))?;
    let mut turned = if interleaved {
        let mut apart = dims.clone();
        apart[3] = half.clone();
        apart.push(Dim::from(1));
        let (real, imaginary) = (cx.reshape(real, apart.clone())?, cx.reshape(imaginary, apart)?);
        let pairs = cx.concat(&[real, imaginary], 4)?;
        let mut together = dims.clone();
        together[3] = half * Dim::from(2);
        cx.reshape(pairs, together)?
    } else {
        cx.concat(&[real, imaginary], 3)?
    };
    if rotated != size {
        let rest = cx.slice_axis(split, 3, rotated.clone(), size - rotated)?;
        turned = cx.concat(&[turned, rest], 3)?;
    }
    Ok(vec![cx.reshape(turned, shape)?])
}

/// Every `step`th element of the last axis.
fn every(cx: &mut NodeCx, x: ValueId, start: i64, step: i64, size: &Dim) -> Result<ValueId> {
    let mut sizes = cx.shape(x)?;
    let last = sizes.len() - 1;
    let mut starts = vec![Dim::from(0); sizes.len()];
    let mut steps = vec![Dim::from(1); sizes.len()];
    (starts[last], steps[last], sizes[last]) = (Dim::from(start), Dim::from(step), size.clone());
    cx.add(Slice { starts, sizes, steps }, &[x])
}

fn tensor_scatter(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let (cache, update) = (cx.input(0)?, cx.input(1)?);
    let (extents, dims) = (cx.shape(cache)?, cx.shape(update)?);
    let axis = cx.axis(cx.int("axis", -2)?, extents.len())?;
    if axis == 0 || dims.len() != extents.len() {
        return Err(ImportError::invalid("axis is the batch, or cache and update have different ranks"));
    }
    let along = |axis: usize| {
        let mut shape = vec![Dim::from(1); dims.len()];
        shape[axis] = dims[axis].clone();
        shape
    };
    let positions = cx.iota(dims[axis].clone(), DType::I64)?;
    let mut positions = cx.reshape(positions, along(axis))?;
    if let Some(starts) = cx.optional_input(2) {
        let starts = cx.cast(starts, DType::I64)?;
        let starts = cx.reshape(starts, along(0))?;
        positions = cx.binary(BinaryKind::Add, positions, starts)?;
    }
    match cx.string("mode", "linear")? {
        "linear" => {}
        "circular" => {
            let extent = cx.sizes(vec![extents[axis].clone()])?;
            positions = cx.binary(BinaryKind::Mod, positions, extent)?;
        }
        mode => return Err(ImportError::invalid(format!("mode `{mode}` is neither linear nor circular"))),
    }
    let positions = cx.broadcast(positions, dims)?;
    Ok(vec![cx.add(ScatterElements { axis, update: None }, &[cache, positions, update])?])
}
