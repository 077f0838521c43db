//! Maps: each element of the result from the elements at the same place.

use super::{Operands, broadcast_index, buffers};
use tcc_ir::DType;
use tcc_ir::kernel::{Builder, ExprId, Kernel, Scalar, Stage, Store};
use tcc_ir::ops::{BinaryKind, Cast, Sizes};

/// A map of broadcast operands.
pub fn map(io: &Operands, name: &str, f: impl FnOnce(&mut Builder, &[ExprId]) -> ExprId) -> Kernel {
    let mut b = Builder::new(name);
    let (ins, outs) = buffers(&mut b, io);
    let shape = &io.outs[0].shape;
    let axes = b.axes(shape);
    let at = b.all(&axes);
    let values: Vec<ExprId> = ins
        .iter()
        .zip(&io.ins)
        .map(|(buffer, t)| {
            let index = broadcast_index(&mut b, &t.shape, shape, &at);
            b.load(*buffer, index)
        })
        .collect();
    let y = f(&mut b, &values);
    b.map_stage(axes, outs[0], at, y);
    b.finish()
}

pub fn cast(io: &Operands, op: &Cast) -> Kernel {
    let from = io.ins[0].dtype;
    map(io, "cast", |b, v| {
        let mut x = v[0];
        if let Some(format) = op.to.format8().filter(|_| op.saturate) {
            // Saturation is a clamp to the largest value, in a type that holds it.
            let wide = if from == DType::F64 { from } else { DType::F32 };
            x = if from == wide { x } else { b.cast(wide, x) };
            let top = format.decode(format.max);
            let (high, low) = (b.float(wide, top), b.float(wide, if format.signed { -top } else { 0.0 }));
            x = b.binary(BinaryKind::Min, x, high);
            if format.signed {
                x = b.binary(BinaryKind::Max, x, low);
            }
        }
        if from == op.to { x } else { b.cast(op.to, x) }
    })
}

/// Bits read as another type; those of a bool are the byte 0 or 1.
pub fn bitcast(b: &mut Builder, to: DType, v: ExprId) -> ExprId {
    b.expr(Scalar::Bitcast(to, v))
}

pub fn sizes(io: &Operands, op: &Sizes) -> Kernel {
    let mut b = Builder::new("sizes");
    let (_, outs) = buffers(&mut b, io);
    let strides = tcc_ir::ops::broadcast::strides(&op.shape);
    let stores = op
        .elems
        .iter()
        .enumerate()
        .map(|(i, d)| {
            let index = strides.iter().zip(&op.shape).map(|(s, n)| b.int((i / s % n) as i64)).collect();
            let v = b.dim(d);
            let value = if op.dtype == DType::I64 { v } else { b.cast(op.dtype, v) };
            Store { buffer: outs[0], index, value, update: None, guard: None }
        })
        .collect();
    b.stage(Stage { stores, ..Stage::default() });
    b.finish()
}
