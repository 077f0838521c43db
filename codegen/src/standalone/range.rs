//! What sizes can be: a range for each of a manifest's expressions, from the ranges of its symbols.

use tcc_runtime::package::{Cmp, Expr, ExprId, Manifest, SymbolSource};

/// A range of integers, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub lo: i64,
    pub hi: i64,
}

impl Range {
    /// What sizes that are read during a run are checked to lie in.
    pub const LATE: Range = Range { lo: i32::MIN as i64, hi: i32::MAX as i64 };

    pub fn exactly(value: i64) -> Range {
        Range { lo: value, hi: value }
    }

    pub fn as_const(self) -> Option<i64> {
        (self.lo == self.hi).then_some(self.lo)
    }

    pub fn contains(self, value: i64) -> bool {
        self.lo <= value && value <= self.hi
    }

    pub fn is_within(self, other: Range) -> bool {
        other.lo <= self.lo && self.hi <= other.hi
    }

    fn hull(self, other: Range) -> Range {
        Range { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }

    /// The range from the least to the largest of the values; none where one doesn't fit in 64 bits.
    fn around(values: impl IntoIterator<Item = i128>) -> Option<Range> {
        let mut found: Option<Range> = None;
        for value in values {
            let value = Range::exactly(i64::try_from(value).ok()?);
            found = Some(found.map_or(value, |range| range.hull(value)));
        }
        found
    }
}

/// The range of each expression. None for one that may not fit in 64 bits, that has no value at all, or, with
/// `narrow_division`, that divides by a routine because its operands may not fit in 32 bits.
pub fn ranges(manifest: &Manifest, symbols: &[Range], narrow_division: bool) -> Vec<Option<Range>> {
    let mut found: Vec<Option<Range>> = Vec::with_capacity(manifest.exprs.len());
    for expr in &manifest.exprs {
        let range = range(expr, &|id| found[id.index()], symbols, narrow_division);
        found.push(range);
    }
    found
}

fn range(
    expr: &Expr,
    of: &dyn Fn(ExprId) -> Option<Range>,
    symbols: &[Range],
    narrow_division: bool,
) -> Option<Range> {
    let corners = |a: Range, b: Range, f: fn(i128, i128) -> i128| {
        let pairs = [(a.lo, b.lo), (a.lo, b.hi), (a.hi, b.lo), (a.hi, b.hi)];
        Range::around(pairs.map(|(x, y)| f(x.into(), y.into())))
    };
    let operands = |a: ExprId, b: ExprId| {
        let (a, b) = (of(a)?, of(b)?);
        let fits = a.is_within(Range::LATE) && b.is_within(Range::LATE);
        // The least 32-bit number by -1 is no 32-bit number.
        let fits = fits && !(a.contains(Range::LATE.lo) && b.contains(-1));
        (fits || !narrow_division).then_some((a, b))
    };
    match *expr {
        Expr::Const(value) => Some(Range::exactly(value)),
        Expr::Symbol(symbol) => Some(symbols[symbol.index()]),
        Expr::Add(a, b) => corners(of(a)?, of(b)?, |x, y| x + y),
        Expr::Mul(a, b) => corners(of(a)?, of(b)?, |x, y| x * y),
        Expr::Min(a, b) => corners(of(a)?, of(b)?, i128::min),
        Expr::Max(a, b) => corners(of(a)?, of(b)?, i128::max),
        Expr::FloorDiv(a, b) => {
            let (a, b) = operands(a, b)?;
            quotients(a, b, |x, y| x.div_euclid(y) - i128::from(y < 0 && x.rem_euclid(y) != 0))
        }
        Expr::CeilDiv(a, b) => {
            let (a, b) = operands(a, b)?;
            quotients(a, b, |x, y| x.div_euclid(y) + i128::from(y > 0 && x.rem_euclid(y) != 0))
        }
        Expr::Mod(a, b) => {
            let (a, b) = operands(a, b)?;
            match (a.as_const(), b.as_const()) {
                (_, Some(0)) => None,
                (Some(x), Some(y)) => {
                    let rest = i128::from(x).rem_euclid(y.into());
                    Range::around([if y < 0 && rest != 0 { rest + i128::from(y) } else { rest }])
                }
                _ => Some(Range { lo: b.lo.saturating_add(1).min(0), hi: b.hi.saturating_sub(1).max(0) }),
            }
        }
        Expr::Select { cmp, a, b, then, otherwise } => {
            match (always(cmp, of(a)?, of(b)?), of(then), of(otherwise)) {
                (Some(true), then, _) => then,
                (Some(false), _, otherwise) => otherwise,
                // Where one branch has no value, the expression has one when the other is taken.
                (None, Some(then), Some(otherwise)) => Some(then.hull(otherwise)),
                (None, then, otherwise) => then.or(otherwise),
            }
        }
    }
}

/// Quotients by any divisor but 0: the extremes are those of the smallest and the largest divisors of either sign.
fn quotients(a: Range, b: Range, divide: fn(i128, i128) -> i128) -> Option<Range> {
    let divisors = [b.lo, b.hi, -1, 1].into_iter().filter(|&y| y != 0 && b.contains(y));
    Range::around(divisors.flat_map(|y| [a.lo, a.hi].map(|x| divide(x.into(), y.into()))))
}

/// Whether a comparison holds, where the ranges decide it.
pub fn always(cmp: Cmp, a: Range, b: Range) -> Option<bool> {
    match cmp {
        Cmp::Eq => match (a.as_const(), b.as_const()) {
            (Some(a), Some(b)) => Some(a == b),
            _ if a.hi < b.lo || b.hi < a.lo => Some(false),
            _ => None,
        },
        Cmp::Lt if a.hi < b.lo => Some(true),
        Cmp::Lt if a.lo >= b.hi => Some(false),
        Cmp::Le if a.hi <= b.lo => Some(true),
        Cmp::Le if a.lo > b.hi => Some(false),
        Cmp::Lt | Cmp::Le => None,
    }
}

/// The expressions that depend on what is only known during a run.
pub fn late(manifest: &Manifest) -> Vec<bool> {
    let mut late: Vec<bool> = Vec::with_capacity(manifest.exprs.len());
    for expr in &manifest.exprs {
        let is_late = match expr {
            Expr::Symbol(symbol) => manifest.symbols[symbol.index()].source == SymbolSource::Late,
            _ => operands(expr).iter().any(|id| late[id.index()]),
        };
        late.push(is_late);
    }
    late
}

/// The expressions that an expression is made of.
pub fn operands(expr: &Expr) -> Vec<ExprId> {
    match *expr {
        Expr::Const(_) | Expr::Symbol(_) => vec![],
        Expr::Add(a, b)
        | Expr::Mul(a, b)
        | Expr::FloorDiv(a, b)
        | Expr::CeilDiv(a, b)
        | Expr::Mod(a, b)
        | Expr::Min(a, b)
        | Expr::Max(a, b) => vec![a, b],
        Expr::Select { a, b, then, otherwise, .. } => vec![a, b, then, otherwise],
    }
}
