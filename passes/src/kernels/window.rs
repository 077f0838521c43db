//! Pooling: a reduction over a sliding window.

use super::{Operands, accumulator, buffers};
use tcc_ir::kernel::{Acc, AccOp, ExprId, Kernel};
use tcc_ir::ops::{BinaryKind, Window, WindowKind};
use tcc_ir::{Cmp, Dim};

pub fn window(io: &Operands, op: &Window) -> Kernel {
    let mut b = tcc_ir::kernel::Builder::new("window");
    let (ins, outs) = buffers(&mut b, io);
    let x = io.ins[0];
    let lead = x.rank() - op.window.len();
    let axes = b.axes(&io.outs[0].shape);
    let at = b.all(&axes);
    let extents: Vec<Dim> = op.window.iter().map(|n| Dim::from(*n)).collect();
    let reduce = b.axes(&extents);
    let k = b.all(&reduce);
    let mut index = at[..lead].to_vec();
    let mut guards = Vec::new();
    for i in 0..op.window.len() {
        let (stride, dilation) = (b.int(op.strides[i] as i64), b.int(op.dilations[i] as i64));
        let before = b.dim(&op.pads_before[i]);
        let base = b.mul(at[lead + i], stride);
        let step = b.mul(k[i], dilation);
        let place = b.add(base, step);
        let place = b.sub(place, before);
        if pads(&op.pads_before[i]) || pads(&op.pads_after[i]) {
            guards.push(b.in_range(place, &x.shape[lead + i]));
        }
        index.push(place);
    }
    let guard = b.all_of(guards);
    let raw = b.load_if(ins[0], index, guard);
    let (acc, dtype) = match op.kind {
        WindowKind::Sum => (AccOp::Sum, accumulator(x.dtype)),
        WindowKind::Max => (AccOp::Max, x.dtype),
        WindowKind::ArgMax => (AccOp::ArgMax { last: false }, x.dtype),
    };
    let value = match (guard, op.kind) {
        (Some(g), WindowKind::Max | WindowKind::ArgMax) => {
            let lowest = match x.dtype.int_range() {
                Some((lo, _)) => b.expr(tcc_ir::kernel::Scalar::Int(x.dtype, lo as i64)),
                None => b.float(x.dtype, f64::NEG_INFINITY),
            };
            b.select(g, raw, lowest)
        }
        _ => raw,
    };
    let acc = Acc { op: acc, value, dtype };
    let to = at.clone();
    b.reduce_stage((axes, reduce), acc, (outs[0], to), |b, acc| match op.kind {
        WindowKind::ArgMax => input_position(b, op, &x.shape, &at, acc),
        WindowKind::Sum | WindowKind::Max => acc,
    });
    b.finish()
}

/// Whether a pad may add anything.
fn pads(n: &Dim) -> bool {
    Dim::compare(Cmp::Le, n, &Dim::from(0)) != Some(true)
}

/// A position in a window of `extent` places, but none before the first that lies in x, if any does: where all of x is as
/// low as padding, that is found first.
fn from_the_first(
    b: &mut tcc_ir::kernel::Builder,
    k: ExprId,
    (base, before): (ExprId, ExprId),
    (extent, dilation): (i64, i64),
) -> ExprId {
    let (zero, step, rest) = (b.int(0), b.int(dilation), b.int(dilation - 1));
    let missing = b.sub(before, base);
    let missing = b.binary(BinaryKind::Max, missing, zero);
    let missing = b.add(missing, rest);
    let (first, last) = (b.binary(BinaryKind::Div, missing, step), b.int(extent - 1));
    let first = b.binary(BinaryKind::Min, first, last);
    b.binary(BinaryKind::Max, k, first)
}

/// The linear index in x's windowed axes that a position in the window stands for: 0 where no place of the window is in x.
fn input_position(
    b: &mut tcc_ir::kernel::Builder,
    op: &Window,
    shape: &[Dim],
    at: &[ExprId],
    acc: ExprId,
) -> ExprId {
    let lead = shape.len() - op.window.len();
    let mut linear = b.int(0);
    let mut inside = Vec::new();
    let mut inner: i64 = op.window.iter().map(|n| *n as i64).product();
    for i in 0..op.window.len() {
        let n = op.window[i] as i64;
        inner /= n.max(1);
        let (size, extent) = (b.int(inner), b.int(n));
        let k = b.binary(BinaryKind::Div, acc, size);
        let k = b.binary(BinaryKind::Mod, k, extent);
        let (stride, dilation) = (b.int(op.strides[i] as i64), b.int(op.dilations[i] as i64));
        let before = b.dim(&op.pads_before[i]);
        let base = b.mul(at[lead + i], stride);
        let k = match pads(&op.pads_before[i]) {
            true => from_the_first(b, k, (base, before), (n, op.dilations[i] as i64)),
            false => k,
        };
        let step = b.mul(k, dilation);
        let place = b.add(base, step);
        let place = b.sub(place, before);
        if pads(&op.pads_before[i]) || pads(&op.pads_after[i]) {
            inside.push(b.in_range(place, &shape[lead + i]));
        }
        let width = b.dim(&shape[lead + i]);
        let scaled = b.mul(linear, width);
        linear = b.add(scaled, place);
    }
    let none = b.int(0);
    match b.all_of(inside) {
        Some(inside) => b.select(inside, linear, none),
        None => linear,
    }
}
