//! Kernels that move elements by index arithmetic.

use super::{Operands, buffers};
use tcc_ir::kernel::{Builder, ExprId, Kernel, Scalar};
use tcc_ir::ops::{BinaryKind, Concat, Iota, Pad, PadMode, Slice, Transpose};
use tcc_ir::{DType, Dim};

pub fn iota(io: &Operands, op: &Iota) -> Kernel {
    let mut b = Builder::new("iota");
    let (_, outs) = buffers(&mut b, io);
    let axes = b.axes(&op.dims);
    let at = b.all(&axes);
    let i = at[op.axis];
    let value = if op.dtype == DType::I64 { i } else { b.cast(op.dtype, i) };
    b.map_stage(axes, outs[0], at, value);
    b.finish()
}

/// A copy whose source index is computed from the position in the result.
fn copy(io: &Operands, name: &str, source: impl FnOnce(&mut Builder, &[ExprId]) -> Vec<ExprId>) -> Kernel {
    let mut b = Builder::new(name);
    let (ins, outs) = buffers(&mut b, io);
    let axes = b.axes(&io.outs[0].shape);
    let at = b.all(&axes);
    let index = source(&mut b, &at);
    let v = b.load(ins[0], index);
    b.map_stage(axes, outs[0], at, v);
    b.finish()
}

pub fn transpose(io: &Operands, op: &Transpose) -> Kernel {
    copy(io, "transpose", |_, at| {
        let mut index = at.to_vec();
        op.perm.iter().zip(at).for_each(|(from, i)| index[*from] = *i);
        index
    })
}

pub fn slice(io: &Operands, op: &Slice) -> Kernel {
    copy(io, "slice", |b, at| {
        at.iter()
            .zip(op.starts.iter().zip(&op.steps))
            .map(|(i, (start, step))| {
                let (start, step) = (b.dim(start), b.dim(step));
                let moved = b.mul(*i, step);
                b.add(moved, start)
            })
            .collect()
    })
}

pub fn pad(io: &Operands, op: &Pad) -> Kernel {
    let mut b = Builder::new("pad");
    let (ins, outs) = buffers(&mut b, io);
    let axes = b.axes(&io.outs[0].shape);
    let at = b.all(&axes);
    let zero = Dim::from(0);
    let mut guards = Vec::new();
    let mut index = Vec::new();
    for (axis, n) in io.ins[0].shape.iter().enumerate() {
        let (before, after) = (&op.before[axis], &op.after[axis]);
        // What cropping leaves of the axis: `kept` elements from `first` on.
        let first = (zero.clone() - before.clone()).maximum(&zero);
        let kept = n.clone() + before.minimum(&zero) + after.minimum(&zero);
        let added = b.dim(&before.maximum(&zero));
        let place = b.sub(at[axis], added);
        let inside = match op.mode {
            PadMode::Constant => {
                if !(before.maximum(&zero).is_const(0) && after.maximum(&zero).is_const(0)) {
                    guards.push(b.in_range(place, &kept));
                }
                place
            }
            PadMode::Edge => {
                let (low, last) = (b.int(0), b.dim(&(kept.clone() - 1.into())));
                let i = b.binary(BinaryKind::Min, place, last);
                b.binary(BinaryKind::Max, i, low)
            }
            PadMode::Wrap => {
                let n = b.dim(&kept);
                b.binary(BinaryKind::Mod, place, n)
            }
            PadMode::Reflect => {
                // Mirroring at both ends has the period 2 * (kept - 1).
                let period = b.dim(&((kept.clone() - 1.into()) * 2.into()));
                let i = b.binary(BinaryKind::Mod, place, period);
                let back = b.sub(period, i);
                b.binary(BinaryKind::Min, i, back)
            }
        };
        let first = b.dim(&first);
        index.push(b.add(inside, first));
    }
    let guard = b.all_of(guards);
    let x = b.load_if(ins[0], index, guard);
    let value = match guard {
        Some(g) => {
            let fill = b.load(ins[1], vec![]);
            b.select(g, x, fill)
        }
        None => x,
    };
    b.map_stage(axes, outs[0], at, value);
    b.finish()
}

/// One stage an operand: each is copied to its place.
pub fn concat(io: &Operands, op: &Concat) -> Kernel {
    let mut b = Builder::new("concat");
    let (ins, outs) = buffers(&mut b, io);
    let mut offset = Dim::from(0);
    for (buffer, t) in ins.iter().zip(&io.ins) {
        let axes = b.axes(&t.shape);
        let at = b.all(&axes);
        let v = b.expr(Scalar::Load { buffer: *buffer, index: at.clone(), guard: None });
        let mut to = at;
        let start = b.dim(&offset);
        to[op.axis] = b.add(to[op.axis], start);
        b.map_stage(axes, outs[0], to, v);
        offset = offset + t.shape[op.axis].clone();
    }
    b.finish()
}
