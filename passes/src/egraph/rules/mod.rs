//! Rewrite rules, by theme.
//!
//! A rule looks at one operator of a class and offers other terms that compute the same. It is classed by how exact
//! it is, and the user says which classes may run. A rule goes from the worse to the better form, or states both
//! where which is better depends on what else there is; none is a bare commutativity or associativity.
//!
//! Each rule has samples in `tests/`: random graphs that it matches, evaluated before and after.

mod algebra;
mod linear;
mod movement;
mod quantized;
mod range;
mod winograd;

use super::analysis::{EGraph, View};
use super::language::{Head, Id, Term};
use tcc_ir::{Fact, InferCx, Op, Type, ValueId};

/// What rewriting may do to numbers. Each one includes those before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Numerics {
    /// The same bits (which NaN it is may change).
    Exact,
    /// Sums and products in another order, and constants folded into each other: the rounding differs. Finite
    /// data of ordinary size make no infinity, NaN or zero that they didn't make before.
    #[default]
    Reassociate,
    /// Other formulas for the same function.
    Approximate,
}

impl Numerics {
    pub const ALL: [(Numerics, &'static str); 3] = [
        (Numerics::Exact, "exact"),
        (Numerics::Reassociate, "reassociate"),
        (Numerics::Approximate, "approximate"),
    ];

    pub fn name(self) -> &'static str {
        Numerics::ALL[self as usize].1
    }
}

/// A rewrite.
pub struct Rule {
    pub name: &'static str,
    pub numerics: Numerics,
    /// Terms that equal `op(operands)`.
    pub apply: fn(View, &Op, &[Id]) -> Option<New>,
}

/// Every rule, by theme.
pub const RULES: &[&[Rule]] =
    &[algebra::RULES, movement::RULES, linear::RULES, winograd::RULES, quantized::RULES];

/// What a rule makes: operators over classes that are there.
#[derive(Clone, Debug)]
pub enum New {
    Class(Id),
    Op(Op, Vec<New>),
}

impl New {
    pub fn op(op: impl Into<Op>, operands: impl IntoIterator<Item = New>) -> New {
        New::Op(op.into(), operands.into_iter().collect())
    }
}

impl From<Id> for New {
    fn from(id: Id) -> New {
        New::Class(id)
    }
}

/// Adds what a rule made. None when inference refuses an operator, or would leave something to be checked at run
/// time: what was sound without the check need not be with it.
pub fn add(egraph: &mut EGraph, new: &New) -> Option<Id> {
    let (op, operands) = match new {
        New::Class(id) => return Some(*id),
        New::Op(op, operands) => (op, operands),
    };
    let ids: Vec<Id> = operands.iter().map(|n| add(egraph, n)).collect::<Option<_>>()?;
    let outs = infer(egraph, op, &ids)?;
    Some(egraph.add(Term::new(Head::Op { op: op.clone(), outs, checks: vec![] }, ids)))
}

fn infer(egraph: &EGraph, op: &Op, operands: &[Id]) -> Option<Vec<Type>> {
    if !op.arity().admits(operands.len()) {
        return None;
    }
    let facts = operands.iter().map(|id| {
        let known = &egraph[*id].data;
        let [ty] = &known.outs[..] else { return None };
        Some(Fact { ty, elems: None, constant: known.constant.as_ref() })
    });
    let facts: Vec<Fact> = facts.collect::<Option<_>>()?;
    let mut cx = InferCx::new("", ValueId(u32::MAX));
    let outs = op.infer(&mut cx, &facts).ok()?;
    cx.is_settled().then_some(outs)
}

/// Whether what a rule offers for `op(operands)` is in the same class.
fn is_there(view: View, op: &Op, operands: &[Id], new: &New) -> bool {
    find(view, new).is_some_and(|class| class_of(view, op, operands) == Some(class))
}

fn find(view: View, new: &New) -> Option<Id> {
    match new {
        New::Class(id) => Some(view.0.find(*id)),
        New::Op(op, operands) => {
            let ids: Vec<Id> = operands.iter().map(|n| find(view, n)).collect::<Option<_>>()?;
            class_of(view, op, &ids)
        }
    }
}

/// The class of a term.
fn class_of(view: View, op: &Op, operands: &[Id]) -> Option<Id> {
    let same =
        |ids: &[Id]| ids.iter().map(|id| view.0.find(*id)).eq(operands.iter().map(|id| view.0.find(*id)));
    let mut readers = view.0[*operands.first()?].parents().map(|p| view.0.find(p));
    readers.find(|p| view.ops(*p).any(|(o, ids)| o == op && same(ids)))
}
