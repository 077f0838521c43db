//! Symbolic dims: integer expressions in canonical form, with facts.
//!
//! A [`Dim`] is a polynomial with integer coefficients over atoms: named symbols, and the floor division, minimum,
//! maximum and selection of other dims. Canonical form makes structural equality mean algebraic equality for
//! polynomials; ceiling division and modulo are rewritten to floor division. Equal dims that the form can't prove
//! equal become run-time checks (see `InferCx`).
//!
//! Invariant: every constructor keeps the form canonical (no zero coefficient, atoms sorted in a monomial).

use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Add, Mul, Sub};
use std::sync::Arc;

/// A named unknown with the range that it is known to lie in (inclusive; `hi` absent: no bound).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Symbol {
    pub name: Arc<str>,
    pub lo: i64,
    pub hi: Option<i64>,
}

impl Symbol {
    /// A symbol for an extent: at least 0, no upper bound.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Symbol { name: name.into(), lo: 0, hi: None }
    }

    pub fn bounded(name: impl Into<Arc<str>>, lo: i64, hi: Option<i64>) -> Self {
        Symbol { name: name.into(), lo, hi }
    }
}

/// A comparison of two numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Cmp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl Cmp {
    pub const ALL: [(Cmp, &'static str); 6] = [
        (Cmp::Eq, "eq"),
        (Cmp::Ne, "ne"),
        (Cmp::Lt, "lt"),
        (Cmp::Le, "le"),
        (Cmp::Gt, "gt"),
        (Cmp::Ge, "ge"),
    ];

    pub fn name(self) -> &'static str {
        Cmp::ALL[self as usize].1
    }

    /// Whether `a <cmp> b`. Unordered values (NaN) satisfy `Ne` only.
    pub fn holds<T: PartialOrd>(self, a: T, b: T) -> bool {
        match self {
            Cmp::Eq => a == b,
            Cmp::Ne => a != b,
            Cmp::Lt => a < b,
            Cmp::Le => a <= b,
            Cmp::Gt => a > b,
            Cmp::Ge => a >= b,
        }
    }
}

/// What a polynomial's monomials are made of.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Atom {
    Sym(Symbol),
    FloorDiv(Dim, Dim),
    Min(Dim, Dim),
    Max(Dim, Dim),
    /// `cmp(a, b) ? then : otherwise`.
    Select(Cmp, Dim, Dim, Dim, Dim),
    /// The result of arithmetic that left the 64-bit range; evaluating it is an error.
    Overflow,
}

type Terms = BTreeMap<Vec<Atom>, i64>;

/// An integer expression over symbols, in canonical form. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Dim(Arc<Terms>);

/// Why a dim has no value.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DimError {
    #[error("size arithmetic leaves the 64-bit range")]
    Overflow,
    #[error("division by zero in a size")]
    DivideByZero,
    #[error("symbol `{0}` has no value")]
    Unbound(Arc<str>),
}

impl Dim {
    pub fn constant(v: i64) -> Dim {
        let mut terms = Terms::new();
        if v != 0 {
            terms.insert(Vec::new(), v);
        }
        Dim(Arc::new(terms))
    }

    pub fn symbol(s: Symbol) -> Dim {
        Dim::atom(Atom::Sym(s))
    }

    fn atom(a: Atom) -> Dim {
        Dim(Arc::new(Terms::from([(vec![a], 1)])))
    }

    fn overflow() -> Dim {
        Dim::atom(Atom::Overflow)
    }

    fn is_overflow(&self) -> bool {
        self.0.keys().flatten().any(|a| *a == Atom::Overflow)
    }

    /// Whether arithmetic in it left the 64-bit range, also inside divisions and selections.
    pub fn overflows(&self) -> bool {
        self.0.keys().flatten().any(|a| match a {
            Atom::Sym(_) => false,
            Atom::FloorDiv(x, y) | Atom::Min(x, y) | Atom::Max(x, y) => [x, y].iter().any(|d| d.overflows()),
            Atom::Select(_, a, b, t, e) => [a, b, t, e].iter().any(|d| d.overflows()),
            Atom::Overflow => true,
        })
    }

    fn from_terms(terms: Option<Terms>) -> Dim {
        match terms {
            Some(mut t) => {
                t.retain(|_, c| *c != 0);
                Dim(Arc::new(t))
            }
            None => Dim::overflow(),
        }
    }

    /// The value when it is a constant.
    pub fn as_const(&self) -> Option<i64> {
        match self.0.len() {
            0 => Some(0),
            1 => self.0.get(&Vec::new()).copied(),
            _ => None,
        }
    }

    /// The symbol when it is a bare one.
    pub fn as_symbol(&self) -> Option<&Symbol> {
        match self.0.iter().next() {
            Some((mono, 1)) if self.0.len() == 1 => match mono.as_slice() {
                [Atom::Sym(s)] => Some(s),
                _ => None,
            },
            _ => None,
        }
    }

    pub fn is_const(&self, v: i64) -> bool {
        self.as_const() == Some(v)
    }

    /// (coefficient, atoms) of each monomial, in canonical order.
    pub fn terms(&self) -> impl Iterator<Item = (i64, &[Atom])> {
        self.0.iter().map(|(mono, c)| (*c, mono.as_slice()))
    }

    pub fn product(dims: impl IntoIterator<Item = Dim>) -> Dim {
        dims.into_iter().fold(Dim::from(1), |acc, d| acc * d)
    }

    pub fn sum(dims: impl IntoIterator<Item = Dim>) -> Dim {
        dims.into_iter().fold(Dim::from(0), |acc, d| acc + d)
    }

    fn scale(&self, k: i64) -> Dim {
        let terms = self.0.iter().map(|(m, c)| Some((m.clone(), c.checked_mul(k)?))).collect();
        Dim::from_terms(terms)
    }

    /// Floor division, toward minus infinity. Division by constant zero gives an overflow dim. 0 divided by what may be
    /// 0 is 0, so that an extent of nothing can be told: what evaluation then misses is an error, never a value.
    pub fn floor_div(&self, by: &Dim) -> Dim {
        if self.is_overflow() || by.is_overflow() || by.is_const(0) {
            return Dim::overflow();
        }
        if by.is_const(1) || self.is_const(0) {
            return self.clone();
        }
        if let (Some(a), Some(b)) = (self.as_const(), by.as_const()) {
            return checked_floor_div(a, b).map_or_else(Dim::overflow, Dim::from);
        }
        if let Some(b) = by.as_const().filter(|b| *b > 0) {
            // (b*q + r) / b = q + r/b: take out what divides exactly.
            let (whole, rest): (Terms, Terms) =
                self.0.iter().map(|(m, c)| (m.clone(), *c)).partition(|(_, c)| c % b == 0);
            let whole = Dim::from_terms(Some(whole.into_iter().map(|(m, c)| (m, c / b)).collect()));
            let rest = Dim::from_terms(Some(rest));
            let (lo, hi) = rest.bounds();
            let quotient = match (lo, hi) {
                (Some(lo), Some(hi)) if lo.div_euclid(b) == hi.div_euclid(b) => Dim::from(lo.div_euclid(b)),
                _ => Dim::atom(Atom::FloorDiv(rest, by.clone())),
            };
            return whole + quotient;
        }
        self.exact_quotient(by).unwrap_or_else(|| Dim::atom(Atom::FloorDiv(self.clone(), by.clone())))
    }

    /// `self / by` when `by` is one monomial with a provably positive value that divides every term.
    fn exact_quotient(&self, by: &Dim) -> Option<Dim> {
        let (c, mono) = by.0.iter().next().map(|(m, c)| (*c, m)).filter(|_| by.0.len() == 1)?;
        if by.bounds().0? < 1 {
            return None;
        }
        let mut out = Terms::new();
        for (m, k) in self.0.iter() {
            let mut left = m.clone();
            for a in mono {
                left.remove(left.iter().position(|x| x == a)?);
            }
            if k % c != 0 {
                return None;
            }
            out.insert(left, k / c);
        }
        Some(Dim(Arc::new(out)))
    }

    pub fn ceil_div(&self, by: &Dim) -> Dim {
        (self.clone() + by.clone() - Dim::from(1)).floor_div(by)
    }

    /// `self - by * floor(self / by)`: has the sign of `by`.
    pub fn modulo(&self, by: &Dim) -> Dim {
        self.clone() - by.clone() * self.floor_div(by)
    }

    /// The smaller one (`Ord::min` compares the form, not the value).
    pub fn minimum(&self, other: &Dim) -> Dim {
        match self.order(other) {
            Some(true) => self.clone(),
            Some(false) => other.clone(),
            None => {
                let (a, b) = sorted(self, other);
                Dim::atom(Atom::Min(a, b))
            }
        }
    }

    /// The larger one (`Ord::max` compares the form, not the value).
    pub fn maximum(&self, other: &Dim) -> Dim {
        match self.order(other) {
            Some(true) => other.clone(),
            Some(false) => self.clone(),
            None => {
                let (a, b) = sorted(self, other);
                Dim::atom(Atom::Max(a, b))
            }
        }
    }

    /// Some(true) when `self <= other` always, Some(false) when `self >= other` always.
    fn order(&self, other: &Dim) -> Option<bool> {
        match Dim::difference(other, self) {
            (Some(lo), _) if lo >= 0 => Some(true),
            (_, Some(hi)) if hi <= 0 => Some(false),
            _ => None,
        }
    }

    /// Bounds of `a - b`, also where that leaves the 64-bit range but `b - a` doesn't.
    fn difference(a: &Dim, b: &Dim) -> (Option<i64>, Option<i64>) {
        match (a.clone() - b.clone()).bounds() {
            (None, None) => {
                let (lo, hi) = (b.clone() - a.clone()).bounds();
                // Saturation keeps the sign, and a bound that holds.
                (hi.map(|h| h.saturating_neg()), lo.filter(|l| *l != i64::MIN).map(|l| -l))
            }
            bounds => bounds,
        }
    }

    /// `cmp(a, b) ? then : otherwise`.
    pub fn select(cmp: Cmp, a: &Dim, b: &Dim, then: &Dim, otherwise: &Dim) -> Dim {
        if then == otherwise {
            return then.clone();
        }
        match Dim::compare(cmp, a, b) {
            Some(true) => then.clone(),
            Some(false) => otherwise.clone(),
            None => Dim::atom(Atom::Select(cmp, a.clone(), b.clone(), then.clone(), otherwise.clone())),
        }
    }

    /// Whether `cmp(a, b)` holds, if that can be told for all values of the symbols.
    pub fn compare(cmp: Cmp, a: &Dim, b: &Dim) -> Option<bool> {
        let (lo, hi) = Dim::difference(a, b);
        let zero = lo == Some(0) && hi == Some(0);
        let above = lo.is_some_and(|l| l > 0);
        let below = hi.is_some_and(|h| h < 0);
        let at_least = lo.is_some_and(|l| l >= 0);
        let at_most = hi.is_some_and(|h| h <= 0);
        let (yes, no) = match cmp {
            Cmp::Eq => (zero, above || below),
            Cmp::Ne => (above || below, zero),
            Cmp::Lt => (below, at_least),
            Cmp::Le => (at_most, above),
            Cmp::Gt => (above, at_most),
            Cmp::Ge => (at_least, below),
        };
        if yes {
            Some(true)
        } else if no {
            Some(false)
        } else {
            None
        }
    }

    /// Provable lower and upper bounds (inclusive), from the facts of the symbols.
    pub fn bounds(&self) -> (Option<i64>, Option<i64>) {
        self.0.iter().fold((Some(0), Some(0)), |acc, (mono, c)| {
            let m = mono.iter().fold((Some(1), Some(1)), |m, a| interval_mul(m, a.bounds()));
            let term = interval_mul((Some(*c), Some(*c)), m);
            (add_opt(acc.0, term.0), add_opt(acc.1, term.1))
        })
    }

    /// Provable upper bound.
    pub fn upper(&self) -> Option<i64> {
        self.bounds().1
    }

    /// The value under an assignment of the symbols.
    pub fn eval(&self, env: &dyn Fn(&Symbol) -> Option<i64>) -> Result<i64, DimError> {
        self.0.iter().try_fold(0i64, |acc, (mono, c)| {
            let term =
                mono.iter().try_fold(*c, |t, a| t.checked_mul(a.eval(env)?).ok_or(DimError::Overflow))?;
            acc.checked_add(term).ok_or(DimError::Overflow)
        })
    }

    /// Replaces symbols by dims and brings the result to canonical form again.
    pub fn substitute(&self, f: &dyn Fn(&Symbol) -> Option<Dim>) -> Dim {
        Dim::sum(self.0.iter().map(|(mono, c)| Dim::product(mono.iter().map(|a| a.substitute(f))).scale(*c)))
    }

    /// Calls `f` on every symbol that occurs, also inside divisions and selections.
    pub fn visit_symbols(&self, f: &mut dyn FnMut(&Symbol)) {
        for a in self.0.keys().flatten() {
            match a {
                Atom::Sym(s) => f(s),
                Atom::FloorDiv(x, y) | Atom::Min(x, y) | Atom::Max(x, y) => {
                    [x, y].iter().for_each(|d| d.visit_symbols(f))
                }
                Atom::Select(_, a, b, t, e) => [a, b, t, e].iter().for_each(|d| d.visit_symbols(f)),
                Atom::Overflow => {}
            }
        }
    }
}

impl Atom {
    fn bounds(&self) -> (Option<i64>, Option<i64>) {
        match self {
            Atom::Sym(s) => (Some(s.lo), s.hi),
            Atom::FloorDiv(a, b) => match (a.bounds(), b.bounds()) {
                ((lo, hi), (Some(blo), bhi)) if blo > 0 => {
                    let low = lo.and_then(|l| {
                        if l >= 0 { Some(bhi.map_or(0, |h| l / h)) } else { Some(l.div_euclid(blo)) }
                    });
                    let high =
                        hi.map(|h| if h >= 0 { h / blo } else { bhi.map_or(-1, |bh| h.div_euclid(bh)) });
                    (low, high)
                }
                _ => (None, None),
            },
            Atom::Min(a, b) => {
                let ((al, ah), (bl, bh)) = (a.bounds(), b.bounds());
                (al.zip(bl).map(|(x, y)| x.min(y)), [ah, bh].into_iter().flatten().min())
            }
            Atom::Max(a, b) => {
                let ((al, ah), (bl, bh)) = (a.bounds(), b.bounds());
                ([al, bl].into_iter().flatten().max(), ah.zip(bh).map(|(x, y)| x.max(y)))
            }
            Atom::Select(_, _, _, t, e) => {
                let ((tl, th), (el, eh)) = (t.bounds(), e.bounds());
                (tl.zip(el).map(|(x, y)| x.min(y)), th.zip(eh).map(|(x, y)| x.max(y)))
            }
            Atom::Overflow => (None, None),
        }
    }

    fn eval(&self, env: &dyn Fn(&Symbol) -> Option<i64>) -> Result<i64, DimError> {
        match self {
            Atom::Sym(s) => env(s).ok_or_else(|| DimError::Unbound(s.name.clone())),
            Atom::FloorDiv(a, b) => match (a.eval(env)?, b.eval(env)?) {
                (_, 0) => Err(DimError::DivideByZero),
                (a, b) => checked_floor_div(a, b).ok_or(DimError::Overflow),
            },
            Atom::Min(a, b) => Ok(a.eval(env)?.min(b.eval(env)?)),
            Atom::Max(a, b) => Ok(a.eval(env)?.max(b.eval(env)?)),
            Atom::Select(cmp, a, b, t, e) => {
                if cmp.holds(a.eval(env)?, b.eval(env)?) {
                    t.eval(env)
                } else {
                    e.eval(env)
                }
            }
            Atom::Overflow => Err(DimError::Overflow),
        }
    }

    fn substitute(&self, f: &dyn Fn(&Symbol) -> Option<Dim>) -> Dim {
        match self {
            Atom::Sym(s) => f(s).unwrap_or_else(|| Dim::symbol(s.clone())),
            Atom::FloorDiv(a, b) => a.substitute(f).floor_div(&b.substitute(f)),
            Atom::Min(a, b) => a.substitute(f).minimum(&b.substitute(f)),
            Atom::Max(a, b) => a.substitute(f).maximum(&b.substitute(f)),
            Atom::Select(c, a, b, t, e) => {
                Dim::select(*c, &a.substitute(f), &b.substitute(f), &t.substitute(f), &e.substitute(f))
            }
            Atom::Overflow => Dim::overflow(),
        }
    }
}

fn sorted(a: &Dim, b: &Dim) -> (Dim, Dim) {
    if a <= b { (a.clone(), b.clone()) } else { (b.clone(), a.clone()) }
}

fn checked_floor_div(a: i64, b: i64) -> Option<i64> {
    let q = a.checked_div(b)?;
    Some(if a % b != 0 && (a < 0) != (b < 0) { q - 1 } else { q })
}

fn add_opt(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    a?.checked_add(b?)
}

/// Product of two intervals whose ends may be unbounded; unknown where it can't be told.
fn interval_mul(a: (Option<i64>, Option<i64>), b: (Option<i64>, Option<i64>)) -> (Option<i64>, Option<i64>) {
    let zero = (Some(0), Some(0));
    if a == zero || b == zero {
        return zero;
    }
    match (a, b) {
        ((Some(al), Some(ah)), (Some(bl), Some(bh))) => {
            let ends = [al.checked_mul(bl), al.checked_mul(bh), ah.checked_mul(bl), ah.checked_mul(bh)];
            match ends.into_iter().collect::<Option<Vec<_>>>() {
                Some(v) => (v.iter().min().copied(), v.iter().max().copied()),
                None => (None, None),
            }
        }
        // One side is unbounded above: only signs that are known help.
        ((Some(al), ah), (Some(bl), bh)) if al >= 0 && bl >= 0 => {
            (al.checked_mul(bl), ah.zip(bh).and_then(|(x, y)| x.checked_mul(y)))
        }
        ((Some(_), Some(ah)), (Some(bl), _)) if ah <= 0 && bl >= 0 => (None, ah.checked_mul(bl)),
        ((Some(al), _), (Some(_), Some(bh))) if bh <= 0 && al >= 0 => (None, bh.checked_mul(al)),
        _ => (None, None),
    }
}

impl From<i64> for Dim {
    fn from(v: i64) -> Dim {
        Dim::constant(v)
    }
}

impl From<usize> for Dim {
    fn from(v: usize) -> Dim {
        i64::try_from(v).map_or_else(|_| Dim::overflow(), Dim::constant)
    }
}

impl From<i32> for Dim {
    fn from(v: i32) -> Dim {
        Dim::constant(v.into())
    }
}

impl From<&Dim> for Dim {
    fn from(v: &Dim) -> Dim {
        v.clone()
    }
}

impl From<Symbol> for Dim {
    fn from(s: Symbol) -> Dim {
        Dim::symbol(s)
    }
}

impl Add for Dim {
    type Output = Dim;
    fn add(self, other: Dim) -> Dim {
        if self.is_overflow() || other.is_overflow() {
            return Dim::overflow();
        }
        let mut terms = (*self.0).clone();
        for (m, c) in other.0.iter() {
            let slot = terms.entry(m.clone()).or_insert(0);
            match slot.checked_add(*c) {
                Some(v) => *slot = v,
                None => return Dim::overflow(),
            }
        }
        Dim::from_terms(Some(terms))
    }
}

impl Sub for Dim {
    type Output = Dim;
    fn sub(self, other: Dim) -> Dim {
        self + other.scale(-1)
    }
}

impl Mul for Dim {
    type Output = Dim;
    fn mul(self, other: Dim) -> Dim {
        if self.is_overflow() || other.is_overflow() {
            return Dim::overflow();
        }
        let mut terms = Terms::new();
        for (ma, ca) in self.0.iter() {
            for (mb, cb) in other.0.iter() {
                let mut m = [ma.as_slice(), mb.as_slice()].concat();
                m.sort();
                let slot = terms.entry(m).or_insert(0);
                match ca.checked_mul(*cb).and_then(|p| slot.checked_add(p)) {
                    Some(v) => *slot = v,
                    None => return Dim::overflow(),
                }
            }
        }
        Dim::from_terms(Some(terms))
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("0");
        }
        // The constant sorts first; people expect it last.
        let terms =
            self.0.iter().filter(|(m, _)| !m.is_empty()).chain(self.0.iter().filter(|(m, _)| m.is_empty()));
        for (i, (mono, c)) in terms.enumerate() {
            let sign = if *c < 0 {
                "-"
            } else if i > 0 {
                "+"
            } else {
                ""
            };
            let space = if i > 0 { " " } else { "" };
            write!(f, "{space}{sign}{space}")?;
            let mag = c.unsigned_abs();
            let factors: Vec<String> = mono.iter().map(Atom::to_string).collect();
            match (mag, factors.is_empty()) {
                (_, true) => write!(f, "{mag}")?,
                (1, false) => f.write_str(&factors.join("*"))?,
                _ => write!(f, "{mag}*{}", factors.join("*"))?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Atom::Sym(s) => f.write_str(&crate::text::symbol_name(&s.name)),
            Atom::FloorDiv(a, b) => write!(f, "floordiv({a}, {b})"),
            Atom::Min(a, b) => write!(f, "min({a}, {b})"),
            Atom::Max(a, b) => write!(f, "max({a}, {b})"),
            Atom::Select(c, a, b, t, e) => write!(f, "select({}, {a}, {b}, {t}, {e})", c.name()),
            Atom::Overflow => f.write_str("overflow"),
        }
    }
}
