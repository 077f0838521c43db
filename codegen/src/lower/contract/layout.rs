//! Constant operands laid out ahead as the register block reads them: no packing when the model runs, and one stream
//! of memory in place of one a row.

use super::{Contract, uncast};
use crate::lower::access::depends;
use crate::lower::blocks::Blocks;
use crate::lower::collapse::{Rebuild, collapse, rebuild};
use crate::lower::stages::Stages;
use crate::target::Target;
use tcc_ir::kernel::{AxisId, BufferId, BufferKind, Builder, ExprId, Kernel, Scalar};
use tcc_ir::ops::BinaryKind;
use tcc_ir::{DType, Dim, Tensor};

/// A new layout of a matrix operand: positions of one axis in blocks, those within a block innermost.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Which of the operand's axes is blocked.
    blocked: usize,
    block: usize,
    /// The operand's other axes, in the order of the result's: outermost first.
    others: Vec<usize>,
}

impl Layout {
    /// Shape of the result: blocks, the other axes, positions in a block. The last block is filled up.
    fn shape(&self, operand: &[usize]) -> Vec<usize> {
        let others = self.others.iter().map(|axis| operand[*axis]);
        let blocks = operand[self.blocked].div_ceil(self.block);
        std::iter::once(blocks).chain(others).chain([self.block]).collect()
    }

    /// The tensor in this layout; what fills up the last block is zero.
    pub fn apply(&self, tensor: &Tensor) -> Tensor {
        let (from, size) = (tensor.shape(), tensor.dtype().size());
        let shape = self.shape(from);
        let strides: Vec<usize> = (0..from.len()).map(|axis| from[axis + 1..].iter().product()).collect();
        let bytes = tensor.bytes();
        let mut out = Vec::with_capacity(shape.iter().product::<usize>() * size);
        for block in 0..shape[0] {
            let first = block * self.block;
            let filled = self.block.min(from[self.blocked] - first);
            for_each_place(&self.others, from, &strides, first * strides[self.blocked], &mut |place| {
                for i in 0..filled {
                    let at = (place + i * strides[self.blocked]) * size;
                    out.extend_from_slice(&bytes[at..at + size]);
                }
                out.resize(out.len() + (self.block - filled) * size, 0);
            });
        }
        Tensor::from_bytes(tensor.dtype(), shape, out.into()).expect("as many bytes as the shape says")
    }
}

/// Visits every position on `axes`, the last one fastest, as a place in memory from `start` on.
fn for_each_place(
    axes: &[usize],
    shape: &[usize],
    strides: &[usize],
    start: usize,
    f: &mut dyn FnMut(usize),
) {
    let Some((axis, rest)) = axes.split_first() else { return f(start) };
    for i in 0..shape[*axis] {
        for_each_place(rest, shape, strides, start + i * strides[*axis], f);
    }
}

/// A kernel that reads operands in another layout.
pub struct Prepacked {
    pub kernel: Kernel,
    /// The inputs (by their number) to be laid out anew.
    pub layouts: Vec<(usize, Layout)>,
}

#[derive(Clone, Copy)]
enum Side {
    Rows,
    Columns,
}

/// The kernel with the layouts that its schedule likes best of those inputs that are constant; None when there are
/// none to change.
pub fn prepack(kernel: &Kernel, target: &Target, is_constant: &dyn Fn(usize) -> bool) -> Option<Prepacked> {
    let mut next = Prepacked { kernel: kernel.clone(), layouts: Vec::new() };
    if Contract::if_laid_out(&collapse(kernel), target).is_some() {
        for side in [Side::Rows, Side::Columns] {
            let c = Contract::if_laid_out(&next.kernel, target)?;
            next.relay(c.layout(&next.kernel, side), is_constant);
        }
    } else if Blocks::of(kernel, target, &|_| false).is_none() {
        for stage in 0..kernel.stages.len() {
            let stages = Stages::of(&next.kernel, target)?;
            if let Some(c) = &stages.products[stage] {
                next.relay(c.layout(&next.kernel, Side::Rows), is_constant);
            }
        }
    } else {
        for stage in 0..kernel.stages.len() {
            let fixed = |buffer| number(&next.kernel, buffer).is_some_and(is_constant);
            let blocks = Blocks::of(&next.kernel, target, &fixed)?;
            if let Some(c) = &blocks.products[stage] {
                next.relay(c.layout(&blocks.kernel, Side::Columns), is_constant);
            }
        }
    }
    (!next.layouts.is_empty()).then_some(next)
}

/// A new layout of a buffer, for a product with this axis of its own, and these that are summed over.
struct Relaid {
    buffer: BufferId,
    layout: Layout,
    axis: AxisId,
    /// The axes of the layout's others.
    others: Vec<AxisId>,
}

impl Prepacked {
    /// Takes a layout up if the operand is constant.
    fn relay(&mut self, new: Option<Relaid>, is_constant: &dyn Fn(usize) -> bool) {
        let Some(Relaid { buffer, layout, axis, others }) = new else { return };
        if let Some(input) = number(&self.kernel, buffer).filter(|input| is_constant(*input)) {
            self.kernel = relaid(&self.kernel, buffer, &layout, axis, &others);
            self.layouts.push((input, layout));
        }
    }
}

/// Which of the inputs a buffer is.
fn number(kernel: &Kernel, buffer: BufferId) -> Option<usize> {
    kernel.buffers_of(BufferKind::Input).position(|(id, _)| id == buffer)
}

impl Contract {
    /// The operand of the columns, if it can be laid out anew.
    pub fn column_buffer(&self, kernel: &Kernel) -> Option<BufferId> {
        self.layout(kernel, Side::Columns).map(|new| new.buffer)
    }

    fn layout(&self, kernel: &Kernel, side: Side) -> Option<Relaid> {
        let (operand, axes, block) = match side {
            // Rows of pairs are packed along k.
            Side::Rows if self.has_few_rows() || self.pairs => return None,
            Side::Rows => (self.rows, &self.m, self.mr),
            Side::Columns => (self.columns, &self.n, self.nr()),
        };
        let [axis] = axes[..] else { return None };
        let operand = if self.pairs { uncast(kernel, operand) } else { operand };
        let as_is = |dtype: DType| self.pairs || dtype == self.dtype;
        let moves = |batch: &AxisId| depends(kernel, operand, *batch);
        let batch = self.batch.iter().copied().filter(moves);
        let others: Vec<AxisId> = batch.chain(self.k.iter().copied()).collect();
        let (buffer, layout) = layout_of(kernel, operand, axis, &others, block as usize, &as_is)?;
        Some(Relaid { buffer, layout, axis, others })
    }
}

/// The layout for an operand that is one load, by one axis of the result and the others that it has alone.
fn layout_of(
    kernel: &Kernel,
    operand: ExprId,
    axis: AxisId,
    others: &[AxisId],
    block: usize,
    as_is: &dyn Fn(DType) -> bool,
) -> Option<(BufferId, Layout)> {
    let Scalar::Load { buffer, index, guard: None } = kernel.expr(operand) else { return None };
    let loads = kernel.exprs.iter().filter(|e| matches!(e, Scalar::Load { buffer: b, .. } if b == buffer));
    let ty = &kernel.buffer(*buffer).ty;
    if !as_is(ty.dtype) || loads.count() != 1 {
        return None;
    }
    let place = |a: &AxisId| {
        let at = index.iter().position(|i| *kernel.expr(*i) == Scalar::Axis(*a))?;
        (ty.shape[at].as_const().is_some() && ty.shape[at] == *kernel.extent(*a)).then_some(at)
    };
    let others = others.iter().map(place).collect::<Option<Vec<_>>>()?;
    let blocked = place(&axis)?;
    let covered = |at: usize| at == blocked || others.contains(&at) || ty.shape[at].is_const(1);
    (0..index.len()).all(covered).then_some((*buffer, Layout { blocked, block, others }))
}

struct Relay<'l> {
    buffer: BufferId,
    layout: &'l Layout,
}

impl Rebuild for Relay<'_> {
    fn axis(&self, b: &mut Builder, axis: AxisId) -> ExprId {
        b.at(axis)
    }

    fn index(&self, _: &Kernel, buffer: BufferId, index: Vec<ExprId>, b: &mut Builder) -> Vec<ExprId> {
        if buffer != self.buffer {
            return index;
        }
        let block = b.int(self.layout.block as i64);
        let at = index[self.layout.blocked];
        let (outer, inner) = (b.binary(BinaryKind::Div, at, block), b.binary(BinaryKind::Mod, at, block));
        let others = self.layout.others.iter().map(|axis| index[*axis]);
        std::iter::once(outer).chain(others).chain([inner]).collect()
    }
}

fn relaid(kernel: &Kernel, buffer: BufferId, layout: &Layout, axis: AxisId, others: &[AxisId]) -> Kernel {
    let block = Dim::from(layout.block);
    let blocks = kernel.extent(axis).ceil_div(&block);
    let mut shapes = kernel.clone();
    let others = others.iter().map(|a| kernel.extent(*a).clone());
    shapes.buffers[buffer.0 as usize].ty.shape =
        std::iter::once(blocks).chain(others).chain([block]).collect();
    rebuild(kernel, shapes, &|_| true, &Relay { buffer, layout })
}

/// The load of an operand that lies in blocks of `block` positions of its only axis, in the order of `k`, perhaps for
/// each point of other axes.
pub fn blocked_load(
    kernel: &Kernel,
    operand: ExprId,
    axes: &[AxisId],
    k: &[AxisId],
    block: i64,
) -> Option<ExprId> {
    let Scalar::Load { buffer, index, guard: None } = kernel.expr(operand) else { return None };
    let ([axis], [outer, others @ .., inner]) = (axes, index.as_slice()) else { return None };
    let shape = &kernel.buffer(*buffer).ty.shape;
    let part = |id: &ExprId, kind: BinaryKind| {
        matches!(kernel.expr(*id), Scalar::Binary(op, a, b) if *op == kind
            && *kernel.expr(*a) == Scalar::Axis(*axis)
            && *kernel.expr(*b) == Scalar::Int(DType::I64, block))
    };
    let (batch, others) = others.split_at(others.len().checked_sub(k.len())?);
    let extents = &shape[1 + batch.len()..];
    let free = |id: &ExprId| [axis].into_iter().chain(k).all(|a| !depends(kernel, *id, *a));
    let along = batch.iter().all(free)
            && others.iter().zip(k).all(|(id, a)| *kernel.expr(*id) == Scalar::Axis(*a))
            // Of the outermost one there may be more.
            && k.iter().zip(extents).skip(1).all(|(a, extent)| extent == kernel.extent(*a));
    let fits = part(outer, BinaryKind::Div) && part(inner, BinaryKind::Mod) && shape.last()?.is_const(block);
    (fits && along).then_some(operand)
}
