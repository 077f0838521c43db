//! Products of dequantized operands as products of integers.
//!
//! `(p - z) * s`, with integers p and z, is what DequantizeLinear makes. Sums of products of two such numbers are a sum
//! of integers times both scales (Jacob et al., "Quantization and Training of Neural Networks for Efficient
//! Integer-Arithmetic-Only Inference", 2018, section 2.2): exact until the end, from operands of a quarter of the size.

use super::algebra::mul;
use super::linear::along;
use super::range::{has_room, product_fits};
use super::{New, Numerics, Rule};
use crate::egraph::analysis::View;
use crate::egraph::language::Id;
use tcc_ir::ops::{Binary, BinaryKind, Cast, Contract, Reshape};
use tcc_ir::{DType, Dim, Op, TensorType};

pub const RULES: &[Rule] = &[
    // conv(f32(p) * s, f32(q) * t) is f32(conv(p, q)) * (s * t).
    Rule { name: "integer-conv", numerics: Numerics::Reassociate, apply: integer_conv },
    // contract(f32(p) * s, f32(q) * t) is f32(contract(p, q)) * (s * t).
    Rule { name: "integer-contract", numerics: Numerics::Reassociate, apply: integer_contract },
    // Products of integers that fit into 16 bits are of operands of 16 bits.
    Rule { name: "narrow-integers", numerics: Numerics::Exact, apply: narrow_integers },
];

/// How many operators, one after the other, are looked through for integers and their bounds, and how many terms of a
/// class.
const DEPTH: usize = 4;
const TERMS: usize = 8;

/// An operand `f32(ints) * factor`.
struct Quantized {
    /// Of a type that fits into i16.
    ints: New,
    /// The largest magnitude of the integers, as bounds tell.
    most: i128,
    factor: Option<Id>,
}

impl Quantized {
    fn of(view: View, id: Id, depth: usize) -> Option<Quantized> {
        let depth = depth.checked_sub(1)?;
        if view.tensor(id)?.dtype != DType::F32 {
            return None;
        }
        some_ops(view, id).find_map(|(op, ins)| match op {
            Op::Cast(_) => Quantized::cast(view, ins[0]),
            Op::Binary(Binary { kind: BinaryKind::Mul }) => {
                [(ins[0], ins[1]), (ins[1], ins[0])].into_iter().find_map(|(x, factor)| {
                    let spread = view.tensor(x)?.shape != view.tensor(id)?.shape;
                    let may_be = !spread && view.fixed(factor);
                    let inner = may_be.then(|| Quantized::of(view, x, depth))??;
                    (inner.factor.is_none() && has_room(view, factor))
                        .then_some(Quantized { factor: Some(factor), ..inner })
                })
            }
            Op::Reshape(_) | Op::Transpose(_) => {
                let inner = Quantized::of(view, ins[0], depth)?;
                let same = inner.factor.is_none_or(|f| is_scalar(view, f));
                same.then(|| Quantized { ints: New::Op(op.clone(), vec![inner.ints]), ..inner })
            }
            _ => None,
        })
    }

    /// Of a cast of these integers.
    fn cast(view: View, source: Id) -> Option<Quantized> {
        let (lo, hi) = bounds(view, source, DEPTH)?;
        // Padding adds a 0.
        let most = lo.abs().max(hi.abs());
        let small = |id: Id| view.tensor(id)?.dtype.fits_i16().then(|| New::from(id));
        let ints = small(source)
            .or_else(|| casts(view, source).filter(|x| keeps_values(view, *x, source)).find_map(small))
            .or_else(|| (most <= i128::from(i16::MAX)).then(|| to(DType::I16, source)))?;
        Some(Quantized { ints, most, factor: None })
    }

    /// The factor as one of a result of rank `rank`, whose axis `place(a)` is axis `a` of the operand.
    fn factor_of(
        &self,
        view: View,
        own: &TensorType,
        rank: usize,
        place: impl Fn(usize) -> Option<usize>,
    ) -> Option<Option<New>> {
        let Some(factor) = self.factor else { return Some(None) };
        let dims = match is_scalar(view, factor) {
            true => vec![Dim::from(1); rank],
            false => along(view.tensor(factor)?, own.rank(), rank, place)?,
        };
        Some(Some(New::op(Reshape { dims }, [factor.into()])))
    }
}

/// The terms of a class that are looked at. Rules may have made hundreds, and each is a way to look on.
fn some_ops<'v>(view: View<'v>, id: Id) -> impl Iterator<Item = (&'v Op, &'v [Id])> {
    let known = |op: &Op| match op {
        Op::Cast(_) | Op::Reshape(_) | Op::Transpose(_) => true,
        Op::Binary(b) => matches!(b.kind, BinaryKind::Mul | BinaryKind::Add | BinaryKind::Sub),
        _ => false,
    };
    view.ops(id).filter(move |(op, _)| known(op)).take(TERMS)
}

fn to(to: DType, x: impl Into<New>) -> New {
    New::op(Cast { to, saturate: true }, [x.into()])
}

/// What the class is a cast of.
fn casts(view: View, id: Id) -> impl Iterator<Item = Id> {
    view.ops(id).filter_map(|(op, ins)| matches!(op, Op::Cast(_)).then(|| ins[0]))
}

/// Whether a cast of integers from one class's type to the other's wraps none.
fn keeps_values(view: View, from: Id, to: Id) -> bool {
    let range = |id: Id| view.tensor(id)?.dtype.int_range();
    let within = |(lo, hi): (i128, i128), (least, most): (i128, i128)| least <= lo && hi <= most;
    range(from).zip(range(to)).is_some_and(|(from, to)| within(from, to))
}

fn is_scalar(view: View, id: Id) -> bool {
    view.tensor(id).is_some_and(|t| t.shape.iter().all(|d| d.is_const(1)))
}

/// Bounds of the elements of a class of integers.
fn bounds(view: View, id: Id, depth: usize) -> Option<(i128, i128)> {
    let dtype = view.tensor(id)?.dtype;
    let (lowest, highest) = dtype.int_range()?;
    if dtype.fits_i16() {
        return Some((lowest, highest));
    }
    if let Some(t) = view.uniform(id) {
        return t.ints().first().map(|v| (*v, *v));
    }
    let depth = depth.checked_sub(1)?;
    let found = some_ops(view, id).find_map(|(op, ins)| match op {
        Op::Cast(_) => bounds(view, ins[0], depth),
        Op::Binary(b) => {
            let (x, y) = (bounds(view, ins[0], depth)?, bounds(view, ins[1], depth)?);
            match b.kind {
                BinaryKind::Add => Some((x.0 + y.0, x.1 + y.1)),
                BinaryKind::Sub => Some((x.0 - y.1, x.1 - y.0)),
                _ => None,
            }
        }
        _ => None,
    });
    found.filter(|(lo, hi)| lowest <= *lo && *hi <= highest)
}

/// Whether a sum over these extents stays in 32 bits.
fn fits<'d>(p: &Quantized, q: &Quantized, summed: impl Iterator<Item = &'d Dim>) -> bool {
    let terms = summed.map(|d| d.upper().map(i128::from)).try_fold(1, |n: i128, d| n.checked_mul(d?));
    terms
        .and_then(|n| n.checked_mul(p.most)?.checked_mul(q.most))
        .is_some_and(|most| most <= i128::from(i32::MAX))
}

/// `f32(product)` times both factors, where they may be put together.
fn scaled(
    view: View,
    p: (&Quantized, Option<New>),
    q: (&Quantized, Option<New>),
    product: New,
) -> Option<New> {
    let sum = to(DType::F32, product);
    match (p.1, q.1) {
        (Some(s), Some(t)) => product_fits(view, p.0.factor?, q.0.factor?).then(|| mul(sum, mul(s, t))),
        (Some(s), None) | (None, Some(s)) => Some(mul(sum, s)),
        (None, None) => Some(sum),
    }
}

fn integer_conv(view: View, op: &Op, ins: &[Id]) -> Option<New> {
    let Op::Conv(conv) = op else { return None };
    let (x, w) = (view.tensor(ins[0])?, view.tensor(ins[1])?);
    let (p, q) = (Quantized::of(view, ins[0], DEPTH)?, Quantized::of(view, ins[1], DEPTH)?);
    if !fits(&p, &q, w.shape[1..].iter()) {
        return None;
    }
    let s = p.factor_of(view, x, x.rank(), |a| (a == 0).then_some(0))?;
    let t = q.factor_of(view, w, w.rank(), |a| (a == 0).then_some(1))?;
    let product = New::op(conv.clone(), [&p, &q].map(|x| to(DType::I32, x.ints.clone())));
    scaled(view, (&p, s), (&q, t), product)
}

fn integer_contract(view: View, op: &Op, ins: &[Id]) -> Option<New> {
    let Op::Contract(c) = op else { return None };
    let (a, b) = (view.tensor(ins[0])?, view.tensor(ins[1])?);
    if c.out != DType::F32 {
        return None;
    }
    let (p, q) = (Quantized::of(view, ins[0], DEPTH)?, Quantized::of(view, ins[1], DEPTH)?);
    if !fits(&p, &q, c.lhs.iter().map(|k| &a.shape[*k])) {
        return None;
    }
    let (first, second) = (c.lhs_free(a.rank()), c.rhs_free(b.rank()));
    let batch = c.lhs_batch.len();
    let place = |axis: usize, own: &[usize], free: &[usize], start: usize| {
        let at = |axes: &[usize]| axes.iter().position(|a| *a == axis);
        at(own).or_else(|| at(free).map(|i| start + i))
    };
    let rank = batch + first.len() + second.len();
    let s = p.factor_of(view, a, rank, |axis| place(axis, &c.lhs_batch, &first, batch))?;
    let t = q.factor_of(view, b, rank, |axis| place(axis, &c.rhs_batch, &second, batch + first.len()))?;
    let product = New::op(Contract { out: DType::I32, ..c.clone() }, [p.ints.clone(), q.ints.clone()]);
    scaled(view, (&p, s), (&q, t), product)
}

fn narrow_integers(view: View, op: &Op, ins: &[Id]) -> Option<New> {
    let wide = |id: &Id| view.tensor(*id).is_some_and(|t| t.dtype == DType::I32);
    let narrow = |op: Op, convert: fn(New) -> New| {
        if !ins.iter().any(wide) {
            return None;
        }
        let [p, q] = ins else { return None };
        let (p, q) = (Quantized::cast(view, *p)?, Quantized::cast(view, *q)?);
        Some(New::op(op, [p, q].map(|x| convert(x.ints))))
    };
    match op {
        // Its operands are of one type, which is that of the sums.
        Op::Conv(conv) => narrow(conv.clone().into(), |x| to(DType::I32, x)),
        Op::Contract(c) if c.out == DType::I32 => narrow(c.clone().into(), |x| x),
        _ => None,
    }
}
