//! Convolutions with 3x3 windows, by fewer products.

use super::range::is_moderate;
use super::{New, Numerics, Rule, class_of};
use crate::egraph::analysis::View;
use crate::egraph::language::Id;
use crate::kernels::winograd::{FOUR, TWO, Tile, winograd};
use tcc_ir::ops::{Constant, Contract, Conv, KernelOp, Reshape};
use tcc_ir::{DType, Dim, Op, TensorType};

pub const RULES: &[Rule] = &[
    // conv(x, w) by tiles of 2x2 results, of which each takes 16 products in place of 36, or of 4x4, with 36 in place of
    // 144: more weights then, more in vain at the edges of small images, and less that two cores can share. Not so with
    // infinities or NaN in x, which then reach all results of a tile.
    Rule {
        name: "winograd-2",
        numerics: Numerics::Reassociate,
        apply: |view, op, ins| by_tiles(&TWO, view, op, ins),
    },
    Rule {
        name: "winograd-4",
        numerics: Numerics::Reassociate,
        apply: |view, op, ins| by_tiles(&FOUR, view, op, ins),
    },
];

fn by_tiles(tile: &'static Tile, view: View, op: &Op, ins: &[Id]) -> Option<New> {
    let Op::Conv(conv) = op else { return None };
    let (x, w) = (view.tensor(ins[0])?, view.tensor(ins[1])?);
    let [m, c, height, width] = &w.shape[..] else { return None };
    let whole = !view.shared(ins[1]) && view.fixed(ins[1]);
    if !is_plain(conv) || !whole || w.dtype != DType::F32 || !height.is_const(3) || !width.is_const(3) {
        return None;
    }
    let [top, left, bottom, right] = pads(conv)?;
    let out = |n: &Dim, pads: i64| n.clone() + Dim::from(pads - 2);
    let y = [x.shape[0].clone(), m.clone(), out(&x.shape[2], top + bottom), out(&x.shape[3], left + right)];
    let y = TensorType::new(DType::F32, y);
    let u = TensorType::new(DType::F32, [tile.places().into(), m.clone(), c.clone()]);
    let kernel = winograd(tile, view.machine(), x, &u, &y, [top, left])?;
    let new = Op::from(KernelOp { kernel });
    let there = |class| view.ops(class).any(|(o, _)| *o == new);
    if class_of(view, op, ins).is_some_and(there) || !is_moderate(view, ins[1]) {
        return None;
    }
    let rows = New::op(Reshape { dims: vec![m.clone(), c.clone(), 9.into()] }, [ins[1].into()]);
    let matrix = New::op(Constant { value: tile.of_weights() }, []);
    let transform =
        Contract { lhs_batch: vec![], rhs_batch: vec![], lhs: vec![1], rhs: vec![2], out: DType::F32 };
    Some(New::op(new, [ins[0].into(), New::op(transform, [matrix, rows])]))
}

/// Whether a convolution moves by one place, over neighbours, with every filter seeing all channels.
fn is_plain(conv: &Conv) -> bool {
    conv.groups == 1 && conv.strides == [1, 1] && conv.dilations == [1, 1]
}

/// Zeros above, left, below and right; None where they aren't known, or crop.
fn pads(conv: &Conv) -> Option<[i64; 4]> {
    let known = |d: &Dim| d.as_const().filter(|n| (0..1 << 10).contains(n));
    let ([top, left], [bottom, right]) = (&conv.pads_before[..], &conv.pads_after[..]) else { return None };
    Some([known(top)?, known(left)?, known(bottom)?, known(right)?])
}
