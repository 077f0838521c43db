//! Arithmetic.

use super::range::{is_wide, product_fits, sum_fits};
use super::{New, Numerics, Rule};
use crate::egraph::analysis::View;
use crate::egraph::language::Id;
use tcc_ir::ops::{Binary, BinaryKind, Unary, UnaryKind};
use tcc_ir::{DType, Op};

use Numerics::{Approximate, Exact, Reassociate};

pub const RULES: &[Rule] = &[
    // (x * a) * b is x * (a * b), and so for sums.
    Rule { name: "constants-together", numerics: Reassociate, apply: constants_together },
    // max(max(x, a), b) is max(x, max(a, b)).
    Rule { name: "bounds-together", numerics: Exact, apply: bounds_together },
    // x - c is x + (-c), so that there is one form to look for.
    Rule { name: "sub-constant-as-add", numerics: Exact, apply: sub_constant_as_add },
    // x / c is x * (1 / c).
    Rule { name: "div-constant-as-mul", numerics: Reassociate, apply: div_constant_as_mul },
    // x / y is x * (1 / y) where y is broadcast: fewer divisions.
    Rule { name: "div-broadcast-as-mul", numerics: Approximate, apply: div_broadcast_as_mul },
    // a * c + b * c is (a + b) * c, but for infinities and where a + b overflows.
    Rule { name: "common-factor", numerics: Approximate, apply: common_factor },
    // x ** 2 is x * x.
    Rule { name: "square", numerics: Exact, apply: square },
    // x ** 3 is x * x * x.
    Rule { name: "cube", numerics: Reassociate, apply: cube },
    // x ** 0.5 is sqrt(x), but for -0 and -infinity.
    Rule { name: "power-as-root", numerics: Approximate, apply: power_as_root },
    // 1 / (1 + exp(-x)).
    Rule { name: "sigmoid", numerics: Reassociate, apply: sigmoid },
    // log(1 + x).
    Rule { name: "log-of-one-more", numerics: Approximate, apply: log_of_one_more },
    // log(exp(x)) is x.
    Rule { name: "log-of-exp", numerics: Approximate, apply: log_of_exp },
    // log(x / y) is log(x) - log(y): the logarithm of a softmax.
    Rule { name: "log-of-quotient", numerics: Approximate, apply: log_of_quotient },
];

pub(super) fn binary(kind: BinaryKind, a: impl Into<New>, b: impl Into<New>) -> New {
    New::op(Binary { kind }, [a.into(), b.into()])
}

pub(super) fn unary(kind: UnaryKind, a: impl Into<New>) -> New {
    New::op(Unary { kind }, [a.into()])
}

pub(super) fn mul(a: impl Into<New>, b: impl Into<New>) -> New {
    binary(BinaryKind::Mul, a, b)
}

/// Operands of the terms of a class that apply this function.
pub(super) fn pairs(view: View, id: Id, kind: BinaryKind) -> impl Iterator<Item = (Id, Id)> {
    view.ops(id).filter_map(move |(op, ins)| match op {
        Op::Binary(b) if b.kind == kind => Some((ins[0], ins[1])),
        _ => None,
    })
}

pub(super) fn operand_of(view: View, id: Id, kind: UnaryKind) -> Option<Id> {
    view.ops(id).find_map(|(op, ins)| (*op == Op::from(Unary { kind })).then(|| ins[0]))
}

fn float(view: View, id: Id) -> Option<DType> {
    view.tensor(id).map(|t| t.dtype).filter(|d| d.is_float())
}

/// Whether all elements are this number.
fn is(view: View, id: Id, v: f64) -> bool {
    view.uniform(id).is_some_and(|t| t.dtype().is_float() && t.floats() == [v])
}

/// Two fixed operands of one kind of operator after another, where `fits` says so of both.
fn together(
    view: View,
    op: &Op,
    ins: &[Id],
    kind: BinaryKind,
    fits: fn(View, Id, Id) -> bool,
) -> Option<New> {
    if *op != Op::from(Binary { kind }) || !view.fixed(ins[1]) || view.fixed(ins[0]) {
        return None;
    }
    let (x, a) = pairs(view, ins[0], kind)
        .find(|(x, a)| view.fixed(*a) && !view.fixed(*x) && fits(view, *a, ins[1]))?;
    Some(binary(kind, x, binary(kind, a, ins[1])))
}

fn constants_together(view: View, op: &Op, ins: &[Id]) -> Option<New> {
    together(view, op, ins, BinaryKind::Mul, product_fits)
        .or_else(|| together(view, op, ins, BinaryKind::Add, sum_fits))
}

fn bounds_together(view: View, op: &Op, ins: &[Id]) -> Option<New> {
    [BinaryKind::Max, BinaryKind::Min]
        .into_iter()
        .find_map(|kind| together(view, op, ins, kind, |_, _, _| true))
}

fn sub_constant_as_add(view: View, op: &Op, ins: &[Id]) -> Option<New> {
    let Op::Binary(Binary { kind: BinaryKind::Sub }) = op else { return None };
    let signed = view.tensor(ins[1])?.dtype;
    let fits = (signed.is_float() || signed.is_signed_int()) && view.fixed(ins[1]);
    fits.then(|| binary(BinaryKind::Add, ins[0], unary(UnaryKind::Neg, ins[1])))
}

fn div_constant_as_mul(view: View, op: &Op, ins: &[Id]) -> Option<New> {
    let Op::Binary(Binary { kind: BinaryKind::Div }) = op else { return None };
    let c = view.constant(ins[1]).cloned().or_else(|| view.uniform(ins[1]))?;
    // Reciprocals that overflow, or lose digits because they are small, aren't the same.
    let safe = is_wide(c.dtype()) && c.floats().iter().all(|v| (1e-30..1e30).contains(&v.abs()));
    safe.then(|| mul(ins[0], unary(UnaryKind::Reciprocal, ins[1])))
}

fn div_broadcast_as_mul(view: View, op: &Op, ins: &[Id]) -> Option<New> {
    let Op::Binary(Binary { kind: BinaryKind::Div }) = op else { return None };
    float(view, ins[0])?;
    let (x, y) = (view.tensor(ins[0])?, view.tensor(ins[1])?);
    let fewer = y.shape.iter().rev().zip(x.shape.iter().rev()).any(|(b, a)| b.is_const(1) && !a.is_const(1));
    (fewer || y.rank() < x.rank()).then(|| mul(ins[0], unary(UnaryKind::Reciprocal, ins[1])))
}

fn common_factor(view: View, op: &Op, ins: &[Id]) -> Option<New> {
    let Op::Binary(Binary { kind: BinaryKind::Add }) = op else { return None };
    float(view, ins[0]).filter(|d| is_wide(*d))?;
    pairs(view, ins[0], BinaryKind::Mul).find_map(|(a, c)| {
        let (b, _) = pairs(view, ins[1], BinaryKind::Mul).find(|(_, d)| *d == c)?;
        Some(mul(binary(BinaryKind::Add, a, b), c))
    })
}

/// The base of a power with this exponent.
fn power(view: View, op: &Op, ins: &[Id], exponent: f64) -> Option<New> {
    let Op::Binary(Binary { kind: BinaryKind::Pow }) = op else { return None };
    // An exponent of higher rank broadcasts the base.
    let fits = is(view, ins[1], exponent) && view.tensor(ins[1])?.rank() <= view.tensor(ins[0])?.rank();
    fits.then(|| ins[0].into())
}

fn square(view: View, op: &Op, ins: &[Id]) -> Option<New> {
    let x = power(view, op, ins, 2.0)?;
    Some(mul(x.clone(), x))
}

fn cube(view: View, op: &Op, ins: &[Id]) -> Option<New> {
    let x = power(view, op, ins, 3.0)?;
    Some(mul(mul(x.clone(), x.clone()), x))
}

fn power_as_root(view: View, op: &Op, ins: &[Id]) -> Option<New> {
    power(view, op, ins, 0.5).map(|x| unary(UnaryKind::Sqrt, x))
}

/// `x` of `1 + x`.
fn one_more(view: View, id: Id) -> Option<Id> {
    pairs(view, id, BinaryKind::Add).find_map(|(a, b)| {
        let rank = |id| view.tensor(id).map(|t| t.rank());
        let plain = |x: Id, one: Id| is(view, one, 1.0) && rank(one) <= rank(x);
        if plain(a, b) { Some(a) } else { plain(b, a).then_some(b) }
    })
}

fn sigmoid(view: View, op: &Op, ins: &[Id]) -> Option<New> {
    let below = match op {
        Op::Binary(Binary { kind: BinaryKind::Div }) if is(view, ins[0], 1.0) => ins[1],
        Op::Unary(Unary { kind: UnaryKind::Reciprocal }) => ins[0],
        _ => return None,
    };
    let exp = one_more(view, below)?;
    let minus_x = operand_of(view, exp, UnaryKind::Exp)?;
    let x = operand_of(view, minus_x, UnaryKind::Neg)?;
    Some(unary(UnaryKind::Sigmoid, x))
}

fn log_of_one_more(view: View, op: &Op, ins: &[Id]) -> Option<New> {
    let Op::Unary(Unary { kind: UnaryKind::Log }) = op else { return None };
    one_more(view, ins[0]).map(|x| unary(UnaryKind::Log1p, x))
}

fn log_of_exp(view: View, op: &Op, ins: &[Id]) -> Option<New> {
    let Op::Unary(Unary { kind: UnaryKind::Log }) = op else { return None };
    operand_of(view, ins[0], UnaryKind::Exp).map(New::Class)
}

fn log_of_quotient(view: View, op: &Op, ins: &[Id]) -> Option<New> {
    let Op::Unary(Unary { kind: UnaryKind::Log }) = op else { return None };
    let (x, y) = pairs(view, ins[0], BinaryKind::Div).next()?;
    // Of exponentials both parts are in range; others may lose their sign.
    operand_of(view, x, UnaryKind::Exp)?;
    let log = |v: Id| unary(UnaryKind::Log, v);
    Some(binary(BinaryKind::Sub, log(x), log(y)))
}
