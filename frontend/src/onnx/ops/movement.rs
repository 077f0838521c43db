//! Elements moved or repeated as they are: transpose, concat, split, expand, tile, where.

use tcc_ir::{Cmp, Dim, ValueId};

use super::{Entry, onnx};
use crate::onnx::node::{ImportError, NodeCx, Result};

pub(super) const TABLE: &[Entry] = &[
    onnx("Concat", 1, |cx| {
        let axis = cx.int("axis", 1)?;
        concat(cx, axis)
    }),
    onnx("Concat", 4, |cx| {
        let axis = cx.required_int("axis")?;
        concat(cx, axis)
    }),
    onnx("DepthToSpace", 1, depth_to_space),
    onnx("Expand", 8, expand),
    onnx("SpaceToDepth", 1, space_to_depth),
    onnx("Split", 2, |cx| {
        let sizes = cx.opt_ints("split")?.map(|sizes| sizes.iter().map(|&size| Dim::from(size)).collect());
        split(cx, sizes)
    }),
    onnx("Split", 13, |cx| {
        let sizes = match cx.optional_input(1) {
            Some(sizes) => Some(cx.elems(sizes)?),
            None => None,
        };
        split(cx, sizes)
    }),
    onnx("Tile", 6, tile),
    onnx("Transpose", 1, transpose),
    onnx("Where", 9, |cx| {
        let (cond, a, b) = (cx.input(0)?, cx.input(1)?, cx.input(2)?);
        Ok(vec![cx.select(cond, a, b)?])
    }),
];

fn transpose(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let rank = cx.rank(x)?;
    let perm = match cx.opt_ints("perm")? {
        Some(perm) => cx.axes(perm, rank)?,
        None => (0..rank).rev().collect(),
    };
    Ok(vec![cx.transpose(x, perm)?])
}

fn concat(cx: &mut NodeCx, axis: i64) -> Result<Vec<ValueId>> {
    let first = cx.input(0)?;
    let axis = cx.axis(axis, cx.rank(first)?)?;
    let parts = cx.inputs()?;
    Ok(vec![cx.concat(&parts, axis)?])
}

fn split(cx: &mut NodeCx, sizes: Option<Vec<Dim>>) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let dims = cx.shape(x)?;
    let axis = cx.axis(cx.int("axis", 0)?, dims.len())?;
    let extent = &dims[axis];
    let n_outputs = cx.n_outputs();
    let stated = cx.opt_int("num_outputs")?;
    let sizes = match (sizes, stated) {
        (Some(_), Some(_)) => return Err(ImportError::invalid("both split and num_outputs are given")),
        (Some(sizes), None) if sizes.len() == n_outputs => sizes,
        (Some(sizes), None) => {
            return Err(ImportError::invalid(format!(
                "{} sizes are given for {n_outputs} outputs",
                sizes.len()
            )));
        }
        (None, Some(stated)) if stated != n_outputs as i64 => {
            return Err(ImportError::invalid(format!(
                "num_outputs is {stated}, but {n_outputs} outputs are named"
            )));
        }
        (None, stated) => even_sizes(extent, n_outputs as i64, stated.is_some())?,
    };
    let mut start = Dim::from(0);
    let mut parts = Vec::new();
    for size in &sizes {
        parts.push(cx.slice_axis(x, axis, start.clone(), size.clone())?);
        start = start + size.clone();
    }
    if let Some(&first) = parts.first() {
        cx.require(first, Cmp::Eq, &start, extent, "the sizes of a split don't add up to the axis")?;
    }
    Ok(parts)
}

/// Equal parts; with `ragged` the last one may be smaller.
fn even_sizes(extent: &Dim, n_parts: i64, ragged: bool) -> Result<Vec<Dim>> {
    let Some(before_last) = usize::try_from(n_parts - 1).ok() else { return Ok(vec![]) };
    let parts = Dim::from(n_parts);
    let size = if ragged { extent.ceil_div(&parts) } else { extent.floor_div(&parts) };
    let last = if ragged { extent.clone() - size.clone() * Dim::from(n_parts - 1) } else { size.clone() };
    if last.as_const().is_some_and(|last| last < 0) {
        return Err(ImportError::invalid(format!(
            "an axis of size {extent} can't be split into {n_parts} parts"
        )));
    }
    let mut sizes = vec![size; before_last];
    sizes.push(last);
    Ok(sizes)
}

/// Broadcasts to a shape that itself broadcasts to the input's.
fn expand(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let from = cx.shape(x)?;
    let to = cx.elems(cx.input(1)?)?;
    let one = Dim::from(1);
    let rank = from.len().max(to.len());
    let at = |dims: &[Dim], axis: usize| {
        (axis + dims.len()).checked_sub(rank).map_or_else(|| one.clone(), |axis| dims[axis].clone())
    };
    let mut dims = Vec::new();
    let mut checks = Vec::new();
    for axis in 0..rank {
        let (from, to) = (at(&from, axis), at(&to, axis));
        if from.is_const(1) || to == from {
            dims.push(to);
        } else if from.as_const().is_some() {
            checks.push((Dim::select(Cmp::Eq, &to, &one, &from, &to), from.clone()));
            dims.push(from);
        } else {
            dims.push(Dim::select(Cmp::Eq, &to, &one, &from, &to));
        }
    }
    let y = cx.broadcast(x, dims)?;
    for (widened, dim) in checks {
        cx.require(y, Cmp::Eq, &widened, &dim, "the input doesn't broadcast to the shape")?;
    }
    Ok(vec![y])
}

/// Every axis in front of which a new one of the repeats' size goes, then joined with it.
fn tile(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let dims = cx.shape(x)?;
    let repeats = cx.elems(cx.input(1)?)?;
    if repeats.len() != dims.len() {
        return Err(ImportError::invalid(format!(
            "{} repeats are given for rank {}",
            repeats.len(),
            dims.len()
        )));
    }
    let pairs = |first: &dyn Fn(usize) -> Dim| {
        (0..dims.len()).flat_map(|axis| [first(axis), dims[axis].clone()]).collect()
    };
    let apart = cx.reshape(x, pairs(&|_| Dim::from(1)))?;
    let repeated = cx.broadcast(apart, pairs(&|axis| repeats[axis].clone()))?;
    let joined = repeats.iter().zip(&dims).map(|(repeat, dim)| repeat.clone() * dim.clone()).collect();
    Ok(vec![cx.reshape(repeated, joined)?])
}

fn depth_to_space(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let [batch, channels, height, width] = image(cx, x)?;
    let block = Dim::from(block_size(cx)?);
    let depth = channels.floor_div(&(block.clone() * block.clone()));
    let (order, perm) = match cx.string("mode", "DCR")? {
        "DCR" => ([&block, &block, &depth], [0, 3, 4, 1, 5, 2]),
        "CRD" => ([&depth, &block, &block], [0, 1, 4, 2, 5, 3]),
        mode => return Err(ImportError::invalid(format!("mode `{mode}` is neither DCR nor CRD"))),
    };
    let apart = [&batch, order[0], order[1], order[2], &height, &width].map(Dim::clone).to_vec();
    let apart = cx.reshape(x, apart)?;
    let moved = cx.transpose(apart, perm.to_vec())?;
    let dims = vec![batch, depth, height * block.clone(), width * block];
    Ok(vec![cx.reshape(moved, dims)?])
}

fn space_to_depth(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let [batch, channels, height, width] = image(cx, x)?;
    let block = Dim::from(block_size(cx)?);
    let (height, width) = (height.floor_div(&block), width.floor_div(&block));
    let perm = match cx.string("mode", "DCR")? {
        "DCR" => vec![0, 3, 5, 1, 2, 4],
        "CRD" => vec![0, 1, 3, 5, 2, 4],
        mode => return Err(ImportError::invalid(format!("mode `{mode}` is neither DCR nor CRD"))),
    };
    let apart = [&batch, &channels, &height, &block, &width, &block].map(Dim::clone).to_vec();
    let apart = cx.reshape(x, apart)?;
    let moved = cx.transpose(apart, perm)?;
    let dims = vec![batch, channels * block.clone() * block, height, width];
    Ok(vec![cx.reshape(moved, dims)?])
}

fn image(cx: &NodeCx, x: ValueId) -> Result<[Dim; 4]> {
    let dims = cx.shape(x)?;
    dims.try_into()
        .map_err(|dims: Vec<Dim>| ImportError::invalid(format!("the input has rank {}, not 4", dims.len())))
}

fn block_size(cx: &NodeCx) -> Result<i64> {
    let size = cx.required_int("blocksize")?;
    if size < 1 || size > i64::from(u16::MAX) {
        return Err(ImportError::invalid(format!("blocksize is {size}")));
    }
    Ok(size)
}
