//! Matrix products and convolutions: what their weights can take in.

use super::algebra::{binary, mul, pairs};
use super::range::{are_moderate, is_wide, weights_fit};
use super::{New, Numerics, Rule, is_there};
use crate::egraph::analysis::View;
use crate::egraph::language::Id;
use tcc_ir::ops::{Binary, BinaryKind, Contract, Conv, PadMode, Reshape};
use tcc_ir::{Dim, Op, TensorType};

use Numerics::{Approximate, Reassociate};

pub const RULES: &[Rule] = &[
    // contract(x, w) * s is contract(x, w * s), conv(x, w) * s is conv(x, w * s).
    Rule { name: "scale-into-weights", numerics: Reassociate, apply: scale_into_weights },
    // (conv(x, w) + b) * s is conv(x, w * s) + b * s.
    Rule { name: "scale-past-bias", numerics: Reassociate, apply: scale_past_bias },
    // contract(x * s, w) is contract(x, w * s).
    Rule { name: "operand-scale-into-contract", numerics: Reassociate, apply: operand_scale_into_contract },
    // Convolutions pad by themselves.
    Rule { name: "pad-into-conv", numerics: Reassociate, apply: pad_into_conv },
    // contract(x, w) + contract(y, w) is contract(x + y, w), and so for the other operand.
    Rule { name: "sum-of-products", numerics: Reassociate, apply: sum_of_products },
    // contract(contract(x, v), w) is contract(x, contract(v, w)): of constants the inner one costs nothing. Not so
    // with infinities in x, of which the first product makes NaN, and the last may not.
    Rule { name: "product-of-products", numerics: Approximate, apply: product_of_products },
];

/// A product with a fixed factor: what is scaled, and the factor.
fn scaled(view: View, op: &Op, ins: &[Id]) -> Option<(Id, Id)> {
    let Op::Binary(Binary { kind: BinaryKind::Mul }) = op else { return None };
    view.tensor(ins[0]).filter(|t| t.dtype.is_float())?;
    if view.fixed(ins[1]) { Some((ins[0], ins[1])) } else { view.fixed(ins[0]).then_some((ins[1], ins[0])) }
}

/// `factor`, which is broadcast to a shape of rank `rank`, as a factor of something of rank `own` whose axis `to(i)`
/// is the result's axis `i`. None when it varies along another one.
pub(super) fn along(
    factor: &TensorType,
    rank: usize,
    own: usize,
    to: impl Fn(usize) -> Option<usize>,
) -> Option<Vec<Dim>> {
    let lead = rank.checked_sub(factor.rank())?;
    let mut dims = vec![Dim::from(1); own];
    let mut next = 0;
    for (i, d) in factor.shape.iter().enumerate().filter(|(_, d)| !d.is_const(1)) {
        let place = to(lead + i).filter(|place| *place >= next)?;
        dims[place] = d.clone();
        next = place + 1;
    }
    Some(dims)
}

/// Whether sums over these extents have a term: a sum of none stays 0 whatever the weights are scaled by.
fn some<'d>(extents: impl IntoIterator<Item = &'d Dim>) -> bool {
    extents.into_iter().all(|d| d.bounds().0.is_some_and(|lo| lo > 0))
}

fn reshaped(x: Id, dims: Vec<Dim>) -> New {
    New::op(Reshape { dims }, [x.into()])
}

fn scale_into_weights(view: View, op: &Op, ins: &[Id]) -> Option<New> {
    let (product, factor) = scaled(view, op, ins)?;
    with_scaled_weights(view, product, factor)
        .find_map(|scaled| scaled.if_fits(view, op, ins, |product| product))
}

fn scale_past_bias(view: View, op: &Op, ins: &[Id]) -> Option<New> {
    let (sum, factor) = scaled(view, op, ins)?;
    if !view.single(sum) {
        return None;
    }
    let biased = pairs(view, sum, BinaryKind::Add);
    biased.filter(|(_, bias)| view.fixed(*bias) && are_moderate(view, *bias, factor)).find_map(
        |(product, bias)| {
            with_scaled_weights(view, product, factor).find_map(|scaled| {
                scaled.if_fits(view, op, ins, |product| binary(BinaryKind::Add, product, mul(bias, factor)))
            })
        },
    )
}

/// A product whose weights are multiplied by a factor.
struct Scaled {
    product: New,
    weights: Id,
    factor: Id,
    /// The factor's extents along the axes of the weights.
    dims: Vec<Dim>,
}

impl Scaled {
    /// `whole` of the product for `op(ins)`, if the weights have room for the factor. Not again if it is there: looking
    /// at all weights takes time.
    fn if_fits(self, view: View, op: &Op, ins: &[Id], whole: impl Fn(New) -> New) -> Option<New> {
        let new = whole(self.product);
        let offered =
            !is_there(view, op, ins, &new) && weights_fit(view, self.weights, self.factor, &self.dims);
        offered.then_some(new)
    }
}

/// A matrix product or convolution times a fixed factor. None where something else reads the product: it would be
/// computed twice.
fn with_scaled_weights(view: View, product: Id, factor: Id) -> impl Iterator<Item = Scaled> {
    let types = || Some((view.tensor(factor)?, view.tensor(product)?));
    let ops = types()
        .filter(|_| view.single(product))
        .into_iter()
        .flat_map(move |types| view.ops(product).map(move |(o, operands)| (types, o, operands)));
    ops.filter_map(move |((s, out), o, operands)| match o {
        Op::Contract(c) => scaled_contract(view, c, operands, (factor, s), out),
        Op::Conv(conv) => {
            let w = weights(view, operands[1])?;
            if !some(&w.shape[1..]) {
                return None;
            }
            // The result's channels are the first axis of the weights.
            let dims = along(s, out.rank(), w.rank(), |i| (i == 1).then_some(0))?;
            let scaled = mul(operands[1], reshaped(factor, dims.clone()));
            let product = New::op(conv.clone(), [operands[0].into(), scaled]);
            Some(Scaled { product, weights: operands[1], factor, dims })
        }
        _ => None,
    })
}

/// The type of an operand that is made of constants, for this product only.
fn weights<'a>(view: View<'a>, id: Id) -> Option<&'a TensorType> {
    view.tensor(id).filter(|_| view.fixed(id) && !view.shared(id))
}

fn scaled_contract(
    view: View,
    c: &Contract,
    operands: &[Id],
    (factor, s): (Id, &TensorType),
    out: &TensorType,
) -> Option<Scaled> {
    let (a, b) = (view.tensor(operands[0])?, view.tensor(operands[1])?);
    if a.dtype != out.dtype || b.dtype != out.dtype || !some(c.lhs.iter().map(|k| &a.shape[*k])) {
        return None;
    }
    // Axes of the result: batch, those left of the first operand, those left of the second.
    let (first, second) = (c.lhs_free(a.rank()), c.rhs_free(b.rank()));
    let batch = c.lhs_batch.len();
    let place = |i: usize, own_batch: &[usize], free: &[usize], start: usize| -> Option<usize> {
        if i < batch { Some(own_batch[i]) } else { i.checked_sub(start).and_then(|j| free.get(j).copied()) }
    };
    if weights(view, operands[1]).is_some() {
        let to = |i| place(i, &c.rhs_batch, &second, batch + first.len());
        let dims = along(s, out.rank(), b.rank(), to)?;
        let scaled = mul(operands[1], reshaped(factor, dims.clone()));
        let product = New::op(c.clone(), [operands[0].into(), scaled]);
        return Some(Scaled { product, weights: operands[1], factor, dims });
    }
    weights(view, operands[0])?;
    let to = |i| place(i, &c.lhs_batch, &first, batch).filter(|_| i < batch + first.len());
    let dims = along(s, out.rank(), a.rank(), to)?;
    let scaled = mul(operands[0], reshaped(factor, dims.clone()));
    let product = New::op(c.clone(), [scaled, operands[1].into()]);
    Some(Scaled { product, weights: operands[0], factor, dims })
}

fn operand_scale_into_contract(view: View, op: &Op, ins: &[Id]) -> Option<New> {
    let Op::Contract(c) = op else { return None };
    let (x, w) = (view.tensor(ins[0])?, view.tensor(ins[1])?);
    if !view.fixed(ins[1])
        || view.shared(ins[1])
        // The factor may differ from one term of a sum to the next: narrow types would lose the smaller ones.
        || !is_wide(x.dtype)
        || x.dtype != w.dtype
        || c.out != w.dtype
    {
        return None;
    }
    view.ops(ins[0]).find_map(|(o, operands)| {
        let (inner, factor) = scaled(view, o, operands)?;
        let s = view.tensor(factor)?;
        if view.tensor(inner)?.shape != x.shape {
            return None;
        }
        let to = |i: usize| {
            let summed = c.lhs.iter().position(|a| *a == i).map(|k| c.rhs[k]);
            summed.or_else(|| c.lhs_batch.iter().position(|a| *a == i).map(|k| c.rhs_batch[k]))
        };
        let dims = along(s, x.rank(), w.rank(), to)?;
        let product = New::op(c.clone(), [inner.into(), mul(ins[1], reshaped(factor, dims.clone()))]);
        Scaled { product, weights: ins[1], factor, dims }.if_fits(view, op, ins, |product| product)
    })
}

fn pad_into_conv(view: View, op: &Op, ins: &[Id]) -> Option<New> {
    let Op::Conv(conv) = op else { return None };
    view.ops(ins[0]).find_map(|(o, operands)| {
        let Op::Pad(pad) = o else { return None };
        let zero = view.uniform(operands[1]).is_some_and(|t| t.floats() == [0.0]);
        let counts = || pad.before.iter().chain(&pad.after);
        let grows = counts().all(|d| d.as_const().is_some_and(|c| c >= 0));
        let own = conv.pads_before.iter().chain(&conv.pads_after);
        let plain = own.into_iter().all(|d| d.as_const().is_some_and(|c| c >= 0));
        let spatial = pad.before[..2].iter().chain(&pad.after[..2]).all(|d| d.is_const(0));
        if pad.mode != PadMode::Constant || !zero || !grows || !plain || !spatial {
            return None;
        }
        // Padding that is there is multiplied: 0 times infinity isn't 0.
        view.constant(ins[1]).filter(|w| w.floats().iter().all(|v| v.is_finite()))?;
        let sum = |own: &[Dim], more: &[Dim]| {
            own.iter().zip(&more[2..]).map(|(a, b)| a.clone() + b.clone()).collect()
        };
        let padded = Conv {
            pads_before: sum(&conv.pads_before, &pad.before),
            pads_after: sum(&conv.pads_after, &pad.after),
            ..conv.clone()
        };
        Some(New::op(padded, [operands[0].into(), ins[1].into()]))
    })
}

fn sum_of_products(view: View, op: &Op, ins: &[Id]) -> Option<New> {
    let Op::Binary(Binary { kind: BinaryKind::Add }) = op else { return None };
    if view.tensor(ins[0])? != view.tensor(ins[1])? || !view.single(ins[0]) || !view.single(ins[1]) {
        return None;
    }
    let contracts = |id: Id| {
        view.ops(id).filter_map(|(o, x)| match o {
            Op::Contract(c) => Some((c, x)),
            _ => None,
        })
    };
    contracts(ins[0]).find_map(|(c, x)| {
        let plain = |id: Id| view.tensor(id).is_some_and(|t| t.dtype == c.out && is_wide(t.dtype));
        contracts(ins[1])
            .filter(|(d, y)| *d == c && plain(x[0]) && plain(x[1]) && plain(y[0]) && plain(y[1]))
            .find_map(|(_, y)| {
                let alike = |k: usize| view.tensor(x[k]) == view.tensor(y[k]);
                // Sums of large constants for this alone would be kept beside them.
                let own = |k: usize| !view.shared(x[k]) && !view.shared(y[k]);
                if x[1] == y[1] && alike(0) && own(0) {
                    Some(New::op(c.clone(), [binary(BinaryKind::Add, x[0], y[0]), x[1].into()]))
                } else if x[0] == y[0] && alike(1) && own(1) {
                    Some(New::op(c.clone(), [x[0].into(), binary(BinaryKind::Add, x[1], y[1])]))
                } else {
                    None
                }
            })
    })
}

fn product_of_products(view: View, op: &Op, ins: &[Id]) -> Option<New> {
    let Op::Contract(outer) = op else { return None };
    if !outer.lhs_batch.is_empty() || !weights(view, ins[1]).is_some_and(|w| w.dtype == outer.out) {
        return None;
    }
    view.ops(ins[0]).find_map(|(o, operands)| {
        let Op::Contract(inner) = o else { return None };
        let (x, v) = (view.tensor(operands[0])?, weights(view, operands[1])?);
        let plain =
            is_wide(x.dtype) && x.dtype == outer.out && v.dtype == outer.out && inner.out == outer.out;
        if !inner.lhs_batch.is_empty() || !plain || !view.single(ins[0]) {
            return None;
        }
        // What is summed over further out is left of the second operand.
        let (kept, free) = (inner.lhs_free(x.rank()).len(), inner.rhs_free(v.rank()));
        let summed: Vec<usize> =
            outer.lhs.iter().map(|a| free.get(a.checked_sub(kept)?).copied()).collect::<Option<_>>()?;
        if !some(summed.iter().chain(&inner.rhs).map(|a| &v.shape[*a])) {
            return None;
        }
        let left: Vec<usize> = (0..v.rank()).filter(|a| !summed.contains(a)).collect();
        let rhs = inner.rhs.iter().map(|a| left.iter().position(|b| b == a)).collect::<Option<_>>()?;
        let both = Contract { lhs: summed, ..outer.clone() };
        let both = New::op(both, [operands[1].into(), ins[1].into()]);
        let new = New::op(Contract { rhs, ..inner.clone() }, [operands[0].into(), both]);
        (!is_there(view, op, ins, &new) && are_moderate(view, operands[1], ins[1])).then_some(new)
    })
}
