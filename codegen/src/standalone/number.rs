//! Sizes in generated code: constants where their range is one number, else computed when they are used.

use std::collections::{BTreeMap, BTreeSet};

use tcc_runtime::package::{Cmp, Expr, ExprId, Manifest};

use super::range::{Range, late, operands};
use super::text::{Offset, Writer};

/// A size.
#[derive(Clone, Debug)]
pub enum Number {
    Const(i64),
    Computed {
        /// The name of an i64.
        value: String,
        /// The name of an i1 that says whether there is such a number; none where there always is.
        defined: Option<String>,
    },
}

impl Number {
    /// The name of an i64.
    pub fn value(&self, w: &mut Writer) -> String {
        match self {
            Number::Const(value) => w.constant(*value, "i64"),
            Number::Computed { value, .. } => value.clone(),
        }
    }

    fn defined(&self) -> Option<&String> {
        match self {
            Number::Const(_) => None,
            Number::Computed { defined, .. } => defined.as_ref(),
        }
    }
}

impl From<Number> for Offset {
    fn from(number: Number) -> Offset {
        match number {
            Number::Const(value) => Offset::Const(value),
            Number::Computed { value, .. } => Offset::Computed(value),
        }
    }
}

/// The expressions of a manifest in the function that is written.
pub struct Numbers<'a> {
    manifest: &'a Manifest,
    ranges: &'a [Option<Range>],
    late: Vec<bool>,
    /// Divisions are done in 32 bits: the target has none of 64.
    narrow_division: bool,
    /// Where each symbol's value lies: the name of a pointer to an i64.
    slots: Vec<String>,
    /// What is computed once, at the start.
    early: BTreeMap<ExprId, Number>,
}

impl<'a> Numbers<'a> {
    /// Computes what doesn't depend on data. `slots` are the places of the symbols.
    pub fn new(
        w: &mut Writer,
        manifest: &'a Manifest,
        ranges: &'a [Option<Range>],
        narrow_division: bool,
        slots: Vec<String>,
    ) -> Numbers<'a> {
        let late = late(manifest);
        let mut this = Numbers { manifest, ranges, late, narrow_division, slots, early: BTreeMap::new() };
        let mut early = BTreeMap::new();
        for at in 0..manifest.exprs.len() {
            let id = ExprId(at as u32);
            if !this.late[at] {
                let number = this.write(w, id, &early);
                early.insert(id, number);
            }
        }
        this.early = early;
        this
    }

    pub fn slot(&self, symbol: tcc_runtime::package::SymbolId) -> &str {
        &self.slots[symbol.index()]
    }

    pub fn range(&self, id: ExprId) -> Option<Range> {
        self.ranges[id.index()]
    }

    /// The expression's value now. `undefined` ends the function where there is none.
    pub fn get(&self, w: &mut Writer, id: ExprId, undefined: i32) -> Number {
        let number = self.now(w, id);
        if let Some(defined) = number.defined() {
            w.require(&defined.clone(), undefined);
        }
        number
    }

    fn now(&self, w: &mut Writer, id: ExprId) -> Number {
        if let Some(number) = self.early.get(&id) {
            return number.clone();
        }
        let mut needed = BTreeSet::new();
        let mut todo = vec![id];
        while let Some(id) = todo.pop() {
            if self.late[id.index()] && needed.insert(id) {
                todo.extend(operands(&self.manifest.exprs[id.index()]));
            }
        }
        let mut known = BTreeMap::new();
        // Operands have lower numbers.
        for id in needed {
            let number = self.write(w, id, &known);
            known.insert(id, number);
        }
        known.remove(&id).expect("it needs itself")
    }

    fn write(&self, w: &mut Writer, id: ExprId, known: &BTreeMap<ExprId, Number>) -> Number {
        let Some(range) = self.ranges[id.index()] else {
            let (value, defined) = (w.constant(0, "i64"), w.value(format_args!("arith.constant false")));
            return Number::Computed { value, defined: Some(defined) };
        };
        let of = |id: ExprId| known.get(&id).or_else(|| self.early.get(&id)).expect("operands come first");
        let expr = &self.manifest.exprs[id.index()];
        // A number that is always the same may still be one that doesn't always exist.
        let exists = operands(expr).iter().all(|id| of(*id).defined().is_none());
        if let Some(value) = range.as_const().filter(|_| exists && !self.may_divide_by_zero(expr)) {
            return Number::Const(value);
        }
        let binary = |w: &mut Writer, operation: &str, a: ExprId, b: ExprId| {
            let (x, y) = (of(a).value(w), of(b).value(w));
            let value = w.value(format_args!("arith.{operation} {x}, {y} : i64"));
            let defined = both(w, of(a).defined(), of(b).defined());
            Number::Computed { value, defined }
        };
        match *expr {
            Expr::Const(value) => Number::Const(value),
            Expr::Symbol(symbol) => {
                let value = w.load(&self.slots[symbol.index()], "i64", 8);
                Number::Computed { value, defined: None }
            }
            Expr::Add(a, b) => binary(w, "addi", a, b),
            Expr::Mul(a, b) => binary(w, "muli", a, b),
            Expr::Min(a, b) => binary(w, "minsi", a, b),
            Expr::Max(a, b) => binary(w, "maxsi", a, b),
            Expr::FloorDiv(a, b) => self.divide(w, "floordivsi", (a, of(a)), (b, of(b))).0,
            Expr::CeilDiv(a, b) => self.divide(w, "ceildivsi", (a, of(a)), (b, of(b))).0,
            Expr::Mod(a, b) => {
                let (quotient, divisor) = self.divide(w, "floordivsi", (a, of(a)), (b, of(b)));
                let Number::Computed { value, defined } = quotient else { return quotient };
                let whole = w.value(format_args!("arith.muli {value}, {divisor} : i64"));
                let a = of(a).value(w);
                let value = w.value(format_args!("arith.subi {a}, {whole} : i64"));
                Number::Computed { value, defined }
            }
            Expr::Select { cmp, a, b, then, otherwise } => {
                let condition = compare(w, cmp, of(a), of(b));
                let (x, y) = (of(then).value(w), of(otherwise).value(w));
                let value = w.value(format_args!("arith.select {condition}, {x}, {y} : i64"));
                let taken = match (of(then).defined(), of(otherwise).defined()) {
                    (None, None) => None,
                    (x, y) => {
                        let yes = w.value(format_args!("arith.constant true"));
                        let (x, y) = (x.unwrap_or(&yes), y.unwrap_or(&yes));
                        Some(w.value(format_args!("arith.select {condition}, {x}, {y} : i1")))
                    }
                };
                let compared = both(w, of(a).defined(), of(b).defined());
                Number::Computed { value, defined: both(w, taken.as_ref(), compared.as_ref()) }
            }
        }
    }

    fn may_divide_by_zero(&self, expr: &Expr) -> bool {
        match *expr {
            Expr::FloorDiv(_, b) | Expr::CeilDiv(_, b) | Expr::Mod(_, b) => {
                self.range(b).is_none_or(|range| range.contains(0))
            }
            _ => false,
        }
    }

    /// A quotient, and the divisor (1 instead of 0).
    fn divide(
        &self,
        w: &mut Writer,
        operation: &str,
        (_, a): (ExprId, &Number),
        (b_id, b): (ExprId, &Number),
    ) -> (Number, String) {
        let mut defined = both(w, a.defined(), b.defined());
        let (x, mut y) = (a.value(w), b.value(w));
        if self.range(b_id).is_none_or(|range| range.contains(0)) {
            let (zero, one) = (w.constant(0, "i64"), w.constant(1, "i64"));
            let nonzero = w.value(format_args!("arith.cmpi ne, {y}, {zero} : i64"));
            y = w.value(format_args!("arith.select {nonzero}, {y}, {one} : i64"));
            defined = both(w, defined.as_ref(), Some(&nonzero));
        }
        let value = if self.narrow_division {
            let narrow = [&x, &y].map(|v| w.value(format_args!("arith.trunci {v} : i64 to i32")));
            let [x, y] = narrow;
            let quotient = w.value(format_args!("arith.{operation} {x}, {y} : i32"));
            w.value(format_args!("arith.extsi {quotient} : i32 to i64"))
        } else {
            w.value(format_args!("arith.{operation} {x}, {y} : i64"))
        };
        (Number::Computed { value, defined }, y)
    }
}

/// The name of an i1: whether the comparison holds.
pub fn compare(w: &mut Writer, cmp: Cmp, a: &Number, b: &Number) -> String {
    let sign = match cmp {
        Cmp::Eq => "eq",
        Cmp::Lt => "slt",
        Cmp::Le => "sle",
    };
    let (a, b) = (a.value(w), b.value(w));
    w.value(format_args!("arith.cmpi {sign}, {a}, {b} : i64"))
}

fn both(w: &mut Writer, a: Option<&String>, b: Option<&String>) -> Option<String> {
    match (a, b) {
        (Some(a), Some(b)) => Some(w.value(format_args!("arith.andi {a}, {b} : i1"))),
        (a, b) => a.or(b).cloned(),
    }
}
