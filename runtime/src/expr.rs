//! Evaluates a package's integer expressions, each once, and again only those that a changed symbol can reach.

use crate::error::{Error, Result};
use crate::package::{Cmp, Expr, ExprId, Manifest, SymbolId, SymbolSource};

/// Why an expression has no value. It's an error only where the value is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// A symbol in it has no value yet.
    Unset,
    Overflow,
    DivisionByZero,
}

impl Why {
    fn message(self) -> &'static str {
        match self {
            Why::Unset => "a size in it isn't known yet",
            Why::Overflow => "the size doesn't fit in 64 bits",
            Why::DivisionByZero => "the size is a division by zero",
        }
    }
}

type Number = std::result::Result<i64, Why>;

/// Values of all symbols and expressions of a manifest.
#[derive(Clone, Debug)]
pub(crate) struct Exprs {
    exprs: Vec<Expr>,
    symbols: Vec<Number>,
    values: Vec<Number>,
    /// Expressions that depend on late symbols, in order.
    late: Vec<u32>,
    /// For each symbol the first position in `late` that it can change.
    first_use: Vec<u32>,
    /// Position in `late` from which values are out of date.
    dirty: u32,
}

impl Exprs {
    /// All symbols unset. The manifest's expressions must refer to lower ones only.
    pub fn new(manifest: &Manifest) -> Exprs {
        let is_late = late_exprs(manifest);
        let late: Vec<u32> = (0..manifest.exprs.len() as u32).filter(|&e| is_late[e as usize]).collect();
        let mut first_use = vec![late.len() as u32; manifest.symbols.len()];
        for (position, &expr) in late.iter().enumerate().rev() {
            if let Expr::Symbol(symbol) = manifest.exprs[expr as usize] {
                first_use[symbol.index()] = position as u32;
            }
        }
        let mut this = Exprs {
            exprs: manifest.exprs.clone(),
            symbols: vec![Err(Why::Unset); manifest.symbols.len()],
            values: vec![Err(Why::Unset); manifest.exprs.len()],
            dirty: late.len() as u32,
            late,
            first_use,
        };
        this.bind(&[]);
        this
    }

    /// Sets these symbols, unsets the others, and evaluates everything.
    pub fn bind(&mut self, symbols: &[(SymbolId, i64)]) {
        self.symbols.fill(Err(Why::Unset));
        for &(symbol, value) in symbols {
            self.symbols[symbol.index()] = Ok(value);
        }
        for at in 0..self.exprs.len() {
            self.values[at] = self.evaluate(self.exprs[at]);
        }
        self.dirty = self.late.len() as u32;
    }

    /// Sets a late symbol.
    pub fn set(&mut self, symbol: SymbolId, value: i64) {
        self.symbols[symbol.index()] = Ok(value);
        self.dirty = self.dirty.min(self.first_use[symbol.index()]);
    }

    /// Whether the symbol has a value.
    pub fn is_set(&self, symbol: SymbolId) -> bool {
        self.symbols[symbol.index()].is_ok()
    }

    /// The expression's value now.
    pub fn get(&mut self, expr: ExprId) -> Number {
        if (self.dirty as usize) < self.late.len() {
            for position in self.dirty as usize..self.late.len() {
                let at = self.late[position] as usize;
                self.values[at] = self.evaluate(self.exprs[at]);
            }
            self.dirty = self.late.len() as u32;
        }
        self.values[expr.index()]
    }

    /// The symbol that the expression is, when it's nothing more.
    pub fn as_symbol(&self, expr: ExprId) -> Option<SymbolId> {
        match self.exprs[expr.index()] {
            Expr::Symbol(symbol) => Some(symbol),
            _ => None,
        }
    }

    /// The expression's value, or an error that names the place that needs it.
    pub fn require(&mut self, expr: ExprId, place: impl FnOnce() -> String) -> Result<i64> {
        self.get(expr).map_err(|why| Error::Size { place: place(), cause: why.message().into() })
    }

    fn evaluate(&self, expr: Expr) -> Number {
        let v = |e: ExprId| self.values[e.index()];
        let divisor = |e: ExprId| match v(e)? {
            0 => Err(Why::DivisionByZero),
            n => Ok(n),
        };
        match expr {
            Expr::Const(n) => Ok(n),
            Expr::Symbol(symbol) => self.symbols[symbol.index()],
            Expr::Add(a, b) => v(a)?.checked_add(v(b)?).ok_or(Why::Overflow),
            Expr::Mul(a, b) => v(a)?.checked_mul(v(b)?).ok_or(Why::Overflow),
            Expr::FloorDiv(a, b) => floor_div(v(a)?, divisor(b)?).ok_or(Why::Overflow),
            Expr::CeilDiv(a, b) => ceil_div(v(a)?, divisor(b)?).ok_or(Why::Overflow),
            Expr::Mod(a, b) => modulo(v(a)?, divisor(b)?).ok_or(Why::Overflow),
            Expr::Min(a, b) => Ok(v(a)?.min(v(b)?)),
            Expr::Max(a, b) => Ok(v(a)?.max(v(b)?)),
            Expr::Select { cmp, a, b, then, otherwise } => {
                v(if holds(cmp, v(a)?, v(b)?) { then } else { otherwise })
            }
        }
    }
}

/// Which expressions depend on late symbols.
pub(crate) fn late_exprs(manifest: &Manifest) -> Vec<bool> {
    let mut late: Vec<bool> = Vec::with_capacity(manifest.exprs.len());
    for expr in &manifest.exprs {
        let is_late = match *expr {
            Expr::Symbol(symbol) => manifest.symbols[symbol.index()].source == SymbolSource::Late,
            _ => children(expr).any(|child| late[child.index()]),
        };
        late.push(is_late);
    }
    late
}

/// The expressions that an expression is made of.
pub(crate) fn children(expr: &Expr) -> impl Iterator<Item = ExprId> {
    let ids = match *expr {
        Expr::Const(_) | Expr::Symbol(_) => [None; 4],
        Expr::Add(a, b)
        | Expr::Mul(a, b)
        | Expr::FloorDiv(a, b)
        | Expr::CeilDiv(a, b)
        | Expr::Mod(a, b)
        | Expr::Min(a, b)
        | Expr::Max(a, b) => [Some(a), Some(b), None, None],
        Expr::Select { a, b, then, otherwise, .. } => [Some(a), Some(b), Some(then), Some(otherwise)],
    };
    ids.into_iter().flatten()
}

pub(crate) fn holds(cmp: Cmp, a: i64, b: i64) -> bool {
    match cmp {
        Cmp::Eq => a == b,
        Cmp::Lt => a < b,
        Cmp::Le => a <= b,
    }
}

fn floor_div(a: i64, b: i64) -> Option<i64> {
    let quotient = a.checked_div(b)?;
    Some(if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient })
}

fn ceil_div(a: i64, b: i64) -> Option<i64> {
    let quotient = a.checked_div(b)?;
    Some(if a % b != 0 && (a < 0) == (b < 0) { quotient + 1 } else { quotient })
}

fn modulo(a: i64, b: i64) -> Option<i64> {
    let rest = a.checked_rem(b)?;
    Some(if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::package::Symbol;

    #[test]
    fn division_rounds_as_named() {
        for (a, b, floor, ceil, rest) in
            [(7, 2, 3, 4, 1), (-7, 2, -4, -3, 1), (7, -2, -4, -3, -1), (-7, -2, 3, 4, -1), (6, 3, 2, 2, 0)]
        {
            assert_eq!(floor_div(a, b), Some(floor), "{a} floordiv {b}");
            assert_eq!(ceil_div(a, b), Some(ceil), "{a} ceildiv {b}");
            assert_eq!(modulo(a, b), Some(rest), "{a} mod {b}");
        }
        assert_eq!(floor_div(i64::MIN, -1), None);
        assert_eq!(modulo(i64::MIN, -1), None);
    }

    #[test]
    fn an_undefined_branch_matters_only_when_taken() {
        let e = ExprId;
        let manifest = Manifest {
            symbols: vec![Symbol { name: "n".into(), source: SymbolSource::Late }],
            exprs: vec![
                Expr::Symbol(SymbolId(0)),
                Expr::Const(0),
                Expr::FloorDiv(e(0), e(1)),
                Expr::Select { cmp: Cmp::Lt, a: e(0), b: e(1), then: e(2), otherwise: e(0) },
            ],
            ..Manifest::default()
        };
        let mut exprs = Exprs::new(&manifest);
        assert_eq!(exprs.get(e(3)), Err(Why::Unset));
        exprs.set(SymbolId(0), 5);
        assert_eq!(exprs.get(e(3)), Ok(5));
        exprs.set(SymbolId(0), -1);
        assert_eq!(exprs.get(e(3)), Err(Why::DivisionByZero));
        assert!(exprs.require(e(3), || "here".into()).unwrap_err().to_string().contains("division by zero"));
    }
}
