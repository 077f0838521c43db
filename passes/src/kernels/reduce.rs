//! Kernels that accumulate: reductions, running sums, contractions.

use super::{Operands, accumulator, buffers};
use tcc_ir::DType;
use tcc_ir::kernel::{Acc, AccOp, AxisId, Builder, ExprId, Kernel, Scalar, Stage, Store};
use tcc_ir::ops::{ArgKind, ArgReduce, BinaryKind, Contract, Cumulative, CumulativeKind, Reduce, ReduceKind};

/// A reduction over some axes of the operand. `keep` leaves them in the result with extent 1.
fn over(io: &Operands, name: &str, reduced: &[usize], keep: bool, acc: impl FnOnce(ExprId) -> Acc) -> Kernel {
    let mut b = Builder::new(name);
    let (ins, outs) = buffers(&mut b, io);
    let axes = b.axes(&io.ins[0].shape);
    let at = b.all(&axes);
    let (mut kept, mut gone, mut index) = (vec![], vec![], vec![]);
    for (i, axis) in axes.iter().enumerate() {
        if reduced.contains(&i) {
            gone.push(*axis);
            if keep {
                index.push(b.int(0));
            }
        } else {
            kept.push(*axis);
            index.push(at[i]);
        }
    }
    let v = b.load(ins[0], at);
    b.reduce_stage((kept, gone), acc(v), (outs[0], index), |_, acc| acc);
    b.finish()
}

pub fn reduce(io: &Operands, op: &Reduce) -> Kernel {
    let dtype = io.ins[0].dtype;
    let (acc, dtype) = match op.kind {
        ReduceKind::Sum => (AccOp::Sum, accumulator(dtype)),
        ReduceKind::Prod => (AccOp::Prod, accumulator(dtype)),
        ReduceKind::Max => (AccOp::Max, dtype),
        ReduceKind::Min => (AccOp::Min, dtype),
    };
    over(io, acc.name(), &op.axes, op.keepdims, |value| Acc { op: acc, value, dtype })
}

pub fn arg_reduce(io: &Operands, op: &ArgReduce) -> Kernel {
    let acc = match op.kind {
        ArgKind::Max => AccOp::ArgMax { last: op.last },
        ArgKind::Min => AccOp::ArgMin { last: op.last },
    };
    let dtype = io.ins[0].dtype;
    over(io, acc.name(), &[op.axis], op.keepdims, |value| Acc { op: acc, value, dtype })
}

pub fn cumulative(io: &Operands, op: &Cumulative) -> Kernel {
    let mut b = Builder::new("cumulative");
    let (ins, outs) = buffers(&mut b, io);
    let mut axes: Vec<AxisId> = b.axes(&io.ins[0].shape);
    let mut at = b.all(&axes);
    if op.reverse {
        let last = b.dim(&(io.ins[0].shape[op.axis].clone() - 1.into()));
        at[op.axis] = b.sub(last, at[op.axis]);
    }
    let along = axes.remove(op.axis);
    let value = b.load(ins[0], at.clone());
    let acc = match op.kind {
        CumulativeKind::Sum => AccOp::Sum,
        CumulativeKind::Prod => AccOp::Prod,
    };
    let running = b.expr(if op.exclusive { Scalar::AccBefore(0) } else { Scalar::Acc(0) });
    let store = Store { buffer: outs[0], index: at, value: running, update: None, guard: None };
    let acc = Acc { op: acc, value, dtype: accumulator(io.ins[0].dtype) };
    b.stage(Stage { axes, reduce: vec![along], accs: vec![acc], scan: true, stores: vec![store] });
    b.finish()
}

/// The product of two loaded elements in the type that it is accumulated in.
pub fn product(b: &mut Builder, acc: DType, (x, xt): (ExprId, DType), (y, yt): (ExprId, DType)) -> ExprId {
    let x = if xt == acc { x } else { b.cast(acc, x) };
    let y = if yt == acc { y } else { b.cast(acc, y) };
    b.binary(BinaryKind::Mul, x, y)
}

pub fn contract(io: &Operands, op: &Contract) -> Kernel {
    let mut b = Builder::new("contract");
    let (ins, outs) = buffers(&mut b, io);
    let (lhs, rhs) = (io.ins[0], io.ins[1]);
    let mut left: Vec<Option<AxisId>> = vec![None; lhs.rank()];
    let mut right: Vec<Option<AxisId>> = vec![None; rhs.rank()];
    let mut axes = Vec::new();
    let mut reduce = Vec::new();
    for (pairs, list) in [((&op.lhs_batch, &op.rhs_batch), &mut axes), ((&op.lhs, &op.rhs), &mut reduce)] {
        for (i, j) in pairs.0.iter().zip(pairs.1) {
            let axis = b.axis(&lhs.shape[*i]);
            (left[*i], right[*j]) = (Some(axis), Some(axis));
            list.push(axis);
        }
    }
    for (places, t) in [(&mut left, lhs), (&mut right, rhs)] {
        for (place, n) in places.iter_mut().zip(&t.shape).filter(|(p, _)| p.is_none()) {
            let axis = b.axis(n);
            *place = Some(axis);
            axes.push(axis);
        }
    }
    let at = |b: &mut Builder, places: &[Option<AxisId>]| -> Vec<ExprId> {
        places.iter().flatten().map(|a| b.at(*a)).collect()
    };
    let index = at(&mut b, &left);
    let x = b.load(ins[0], index);
    let index = at(&mut b, &right);
    let y = b.load(ins[1], index);
    let dtype = accumulator(op.out);
    let value = product(&mut b, dtype, (x, lhs.dtype), (y, rhs.dtype));
    let to = b.all(&axes);
    b.reduce_stage((axes, reduce), Acc { op: AccOp::Sum, value, dtype }, (outs[0], to), |_, acc| acc);
    b.finish()
}
