//! The largest or smallest elements of short axes: each element counts those that come before it, which is its place.

use super::{Operands, buffers};
use tcc_ir::kernel::{Acc, AccOp, Builder, ExprId, Kernel, Stage, Store};
use tcc_ir::ops::{BinaryKind, TopK, UnaryKind};
use tcc_ir::{Cmp, DType};

/// Extent up to which comparing every pair is about as quick as sorting: the experts of a router, the classes of a head.
const MAX_EXTENT: i64 = 64;

/// None for long axes: those are the runtime's to sort.
pub fn top_k(io: &Operands, op: &TopK) -> Option<Kernel> {
    let x = io.ins[0];
    if x.shape[op.axis].as_const().is_none_or(|extent| extent > MAX_EXTENT) {
        return None;
    }
    let mut b = Builder::new("top_k");
    let (ins, outs) = buffers(&mut b, io);
    let axes = b.axes(&x.shape);
    let other = b.axis(&x.shape[op.axis]);
    let at = b.all(&axes);
    let (here, there) = (at[op.axis], b.at(other));
    let own = b.load(ins[0], at.clone());
    let mut index = at.clone();
    index[op.axis] = there;
    let theirs = b.load(ins[0], index);
    let (larger, smaller) = if op.largest { (theirs, own) } else { (own, theirs) };
    let ahead = above(&mut b, x.dtype, larger, smaller);
    let behind = above(&mut b, x.dtype, smaller, larger);
    // Of equal elements those at lower positions come first.
    let apart = b.binary(BinaryKind::Or, ahead, behind);
    let equal = b.unary(UnaryKind::Not, apart);
    let earlier = b.compare(Cmp::Lt, there, here);
    let tie = b.binary(BinaryKind::And, equal, earlier);
    let before = b.binary(BinaryKind::Or, ahead, tie);
    let value = b.cast(DType::I64, before);
    let acc = Acc { op: AccOp::Sum, value, dtype: DType::I64 };
    let place = b.expr(tcc_ir::kernel::Scalar::Acc(0));
    let k = b.dim(&op.k);
    let guard = Some(b.compare(Cmp::Lt, place, k));
    let mut to = at;
    to[op.axis] = place;
    let stores = [(outs[0], own), (outs[1], here)].map(|(buffer, value)| Store {
        buffer,
        index: to.clone(),
        value,
        update: None,
        guard,
    });
    b.stage(Stage { axes, reduce: vec![other], accs: vec![acc], scan: false, stores: stores.into() });
    Some(b.finish())
}

/// Whether `a` is larger than `c`, where NaN is larger than every number.
fn above(b: &mut Builder, dtype: DType, a: ExprId, c: ExprId) -> ExprId {
    let larger = b.compare(Cmp::Gt, a, c);
    if !dtype.is_float() {
        return larger;
    }
    let (nan, other_nan) = (b.unary(UnaryKind::IsNan, a), b.unary(UnaryKind::IsNan, c));
    let number = b.unary(UnaryKind::Not, other_nan);
    let wins = b.binary(BinaryKind::And, nan, number);
    b.binary(BinaryKind::Or, larger, wins)
}
