//! Symbolic dims as the runtime's integer expressions.

use indexmap::{IndexMap, IndexSet};
use std::sync::Arc;
use tcc_ir::types::Atom;
use tcc_ir::{Cmp, Dim, Symbol};
use tcc_runtime::package::{Check, Cmp as RtCmp, Expr, ExprId, Symbol as RtSymbol, SymbolId, SymbolSource};

/// The expression and symbol tables of a package in the making.
#[derive(Default)]
pub struct Exprs {
    exprs: IndexSet<Expr>,
    known: IndexMap<Dim, ExprId>,
    symbols: Vec<RtSymbol>,
    bounds: Vec<(i64, Option<i64>)>,
    by_name: IndexMap<Arc<str>, SymbolId>,
}

impl Exprs {
    /// Declares how a symbol gets its value. A second declaration of a name changes nothing.
    pub fn declare(&mut self, symbol: &Symbol, source: SymbolSource) -> SymbolId {
        let next = SymbolId(self.symbols.len() as u32);
        *self.by_name.entry(symbol.name.clone()).or_insert_with(|| {
            self.symbols.push(RtSymbol { name: symbol.name.to_string(), source });
            self.bounds.push((symbol.lo, symbol.hi));
            next
        })
    }

    pub fn symbol(&self, name: &str) -> SymbolId {
        self.by_name[name]
    }

    /// The symbol when it is one that a step sets.
    pub fn late(&self, symbol: &Symbol) -> Option<SymbolId> {
        let id = *self.by_name.get(&symbol.name)?;
        (self.symbols[id.index()].source == SymbolSource::Late).then_some(id)
    }

    /// Whether a dim is only known in the middle of a run.
    pub fn is_late(&self, d: &Dim) -> bool {
        let mut late = false;
        d.visit_symbols(&mut |s| late |= self.late(s).is_some());
        late
    }

    fn push(&mut self, e: Expr) -> ExprId {
        ExprId(self.exprs.insert_full(e).0 as u32)
    }

    pub fn dim(&mut self, d: &Dim) -> ExprId {
        if let Some(id) = self.known.get(d) {
            return *id;
        }
        let terms: Vec<(i64, Vec<Atom>)> = d.terms().map(|(c, atoms)| (c, atoms.to_vec())).collect();
        let mut sum: Option<ExprId> = None;
        for (c, atoms) in terms {
            let mut product: Option<ExprId> = None;
            if c != 1 || atoms.is_empty() {
                product = Some(self.push(Expr::Const(c)));
            }
            for a in &atoms {
                let a = self.atom(a);
                product = Some(match product {
                    None => a,
                    Some(p) => self.push(Expr::Mul(p, a)),
                });
            }
            let term = product.expect("a coefficient or an atom");
            sum = Some(match sum {
                None => term,
                Some(s) => self.push(Expr::Add(s, term)),
            });
        }
        let id = sum.unwrap_or_else(|| self.push(Expr::Const(0)));
        self.known.insert(d.clone(), id);
        id
    }

    fn atom(&mut self, atom: &Atom) -> ExprId {
        match atom {
            Atom::Sym(s) => {
                let id = self
                    .by_name
                    .get(&s.name)
                    .unwrap_or_else(|| panic!("no graph defines the symbol `{}`", s.name));
                self.push(Expr::Symbol(*id))
            }
            Atom::FloorDiv(a, b) => {
                let (a, b) = (self.dim(a), self.dim(b));
                self.push(Expr::FloorDiv(a, b))
            }
            Atom::Min(a, b) => {
                let (a, b) = (self.dim(a), self.dim(b));
                self.push(Expr::Min(a, b))
            }
            Atom::Max(a, b) => {
                let (a, b) = (self.dim(a), self.dim(b));
                self.push(Expr::Max(a, b))
            }
            Atom::Select(cmp, a, b, then, otherwise) => {
                let (then, otherwise) = (self.dim(then), self.dim(otherwise));
                let (a, b) = (self.dim(a), self.dim(b));
                let (cmp, a, b, negated) = comparison(*cmp, a, b);
                let (then, otherwise) = if negated { (otherwise, then) } else { (then, otherwise) };
                self.push(Expr::Select { cmp, a, b, then, otherwise })
            }
            Atom::Overflow => {
                // Any use of it is an error at run time, as it is in the evaluator.
                let (big, two) = (self.push(Expr::Const(i64::MAX)), self.push(Expr::Const(2)));
                self.push(Expr::Mul(big, two))
            }
        }
    }

    /// A check in the runtime's form.
    pub fn check(&mut self, cmp: Cmp, (a, b): (&Dim, &Dim), message: String, at_bind: bool) -> Check {
        let (a, b) = (self.dim(a), self.dim(b));
        let (cmp, a, b, negated) = comparison(cmp, a, b);
        if !negated {
            return Check { cmp, a, b, message, at_bind };
        }
        // "Not equal" as an indicator that must be 0.
        let (zero, one) = (self.push(Expr::Const(0)), self.push(Expr::Const(1)));
        let indicator = self.push(Expr::Select { cmp, a, b, then: one, otherwise: zero });
        Check { cmp: RtCmp::Eq, a: indicator, b: zero, message, at_bind }
    }

    /// The symbols, their bounds, and the expressions.
    pub fn finish(self) -> (Vec<RtSymbol>, Vec<(i64, Option<i64>)>, Vec<Expr>) {
        (self.symbols, self.bounds, self.exprs.into_iter().collect())
    }
}

/// One of the runtime's three comparisons, operands swapped where that helps; true when it has to be negated.
fn comparison(cmp: Cmp, a: ExprId, b: ExprId) -> (RtCmp, ExprId, ExprId, bool) {
    match cmp {
        Cmp::Eq => (RtCmp::Eq, a, b, false),
        Cmp::Ne => (RtCmp::Eq, a, b, true),
        Cmp::Lt => (RtCmp::Lt, a, b, false),
        Cmp::Le => (RtCmp::Le, a, b, false),
        Cmp::Gt => (RtCmp::Lt, b, a, false),
        Cmp::Ge => (RtCmp::Le, b, a, false),
    }
}
