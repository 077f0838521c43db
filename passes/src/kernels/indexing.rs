//! Kernels whose indices are data: gather and scatter.

use super::{Operands, buffers};
use tcc_ir::kernel::{AxisId, BufferId, Builder, ExprId, Kernel, Scalar, Stage, Store};
use tcc_ir::ops::{BinaryKind, Gather, GatherElements, GatherNd, ScatterElements, ScatterNd};
use tcc_ir::{Cmp, DType, Dim};

/// An index from data as a place on an axis of extent `n`: negative ones count from the end, others out of range
/// stop the run.
fn place(b: &mut Builder, raw: ExprId, from: DType, n: &Dim) -> ExprId {
    let i = if from == DType::I64 { raw } else { b.cast(DType::I64, raw) };
    let (zero, extent) = (b.int(0), b.dim(n));
    let negative = b.compare(Cmp::Lt, i, zero);
    let wrapped = b.add(i, extent);
    let i = b.select(negative, wrapped, i);
    let cond = b.in_range(i, n);
    b.expr(Scalar::Check { cond, value: i })
}

pub fn gather(io: &Operands, op: &Gather) -> Kernel {
    let mut b = Builder::new("gather");
    let (ins, outs) = buffers(&mut b, io);
    let axes = b.axes(&io.outs[0].shape);
    let at = b.all(&axes);
    let rank = io.ins[1].rank();
    let raw = b.load(ins[1], at[op.axis..op.axis + rank].to_vec());
    let i = place(&mut b, raw, io.ins[1].dtype, &io.ins[0].shape[op.axis]);
    let index = [&at[..op.axis], &[i], &at[op.axis + rank..]].concat();
    let v = b.load(ins[0], index);
    b.map_stage(axes, outs[0], at, v);
    b.finish()
}

pub fn gather_elements(io: &Operands, op: &GatherElements) -> Kernel {
    let mut b = Builder::new("gather_elements");
    let (ins, outs) = buffers(&mut b, io);
    let axes = b.axes(&io.outs[0].shape);
    let at = b.all(&axes);
    let raw = b.load(ins[1], at.clone());
    let mut index = at.clone();
    index[op.axis] = place(&mut b, raw, io.ins[1].dtype, &io.ins[0].shape[op.axis]);
    let v = b.load(ins[0], index);
    b.map_stage(axes, outs[0], at, v);
    b.finish()
}

/// The tuple of places at the end of an index tensor, for the axes of `extents`.
fn tuple(b: &mut Builder, (buffer, dtype): (BufferId, DType), at: &[ExprId], extents: &[Dim]) -> Vec<ExprId> {
    extents
        .iter()
        .enumerate()
        .map(|(k, n)| {
            let k = b.int(k as i64);
            let raw = b.load(buffer, [at, &[k]].concat());
            place(b, raw, dtype, n)
        })
        .collect()
}

/// Length of the tuples of an index tensor: its last extent, which inference has made sure is a constant.
fn tuple_len(shape: &[Dim]) -> usize {
    shape
        .last()
        .and_then(Dim::as_const)
        .and_then(|k| usize::try_from(k).ok())
        .expect("inference wants a constant")
}

pub fn gather_nd(io: &Operands, op: &GatherNd) -> Kernel {
    let mut b = Builder::new("gather_nd");
    let (ins, outs) = buffers(&mut b, io);
    let axes = b.axes(&io.outs[0].shape);
    let at = b.all(&axes);
    let (x, indices) = (io.ins[0], io.ins[1]);
    let (k, lead) = (tuple_len(&indices.shape), indices.rank() - 1);
    let extents = &x.shape[op.batch_dims..op.batch_dims + k];
    let places = tuple(&mut b, (ins[1], indices.dtype), &at[..lead], extents);
    let index = [&at[..op.batch_dims], &places, &at[lead..]].concat();
    let v = b.load(ins[0], index);
    b.map_stage(axes, outs[0], at, v);
    b.finish()
}

/// The first stage of a scatter: the result begins as a copy.
fn begin(b: &mut Builder, io: &Operands, from: BufferId, to: BufferId) {
    let axes = b.axes(&io.outs[0].shape);
    let at = b.all(&axes);
    let v = b.load(from, at.clone());
    b.map_stage(axes, to, at, v);
    b.kernel_mut().serial = true;
}

fn update(
    b: &mut Builder,
    axes: Vec<AxisId>,
    store: (BufferId, Vec<ExprId>),
    value: ExprId,
    kind: Option<BinaryKind>,
) {
    let (buffer, index) = store;
    let store = Store { buffer, index, value, update: kind, guard: None };
    b.stage(Stage { axes, stores: vec![store], ..Stage::default() });
}

pub fn scatter_elements(io: &Operands, op: &ScatterElements) -> Kernel {
    let mut b = Builder::new("scatter_elements");
    let (ins, outs) = buffers(&mut b, io);
    begin(&mut b, io, ins[0], outs[0]);
    let axes = b.axes(&io.ins[1].shape);
    let at = b.all(&axes);
    let raw = b.load(ins[1], at.clone());
    let mut to = at.clone();
    to[op.axis] = place(&mut b, raw, io.ins[1].dtype, &io.ins[0].shape[op.axis]);
    let v = b.load(ins[2], at);
    update(&mut b, axes, (outs[0], to), v, op.update);
    b.finish()
}

pub fn scatter_nd(io: &Operands, op: &ScatterNd) -> Kernel {
    let mut b = Builder::new("scatter_nd");
    let (ins, outs) = buffers(&mut b, io);
    begin(&mut b, io, ins[0], outs[0]);
    let (x, indices) = (io.ins[0], io.ins[1]);
    let (k, lead) = (tuple_len(&indices.shape), indices.rank() - 1);
    let axes = b.axes(&io.ins[2].shape);
    let at = b.all(&axes);
    let places = tuple(&mut b, (ins[1], indices.dtype), &at[..lead], &x.shape[..k]);
    let to = [&places, &at[lead..]].concat();
    let v = b.load(ins[2], at);
    update(&mut b, axes, (outs[0], to), v, op.update);
    b.finish()
}
