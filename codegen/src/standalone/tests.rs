//! Ranges of sizes contain every value that the runtime's expressions can have.

use tcc_runtime::package::{Cmp, Expr, ExprId, Manifest, Symbol, SymbolId, SymbolSource};

use super::range::{Range, ranges};

/// The quotient towards minus infinity.
fn floor(a: i64, b: i64) -> i64 {
    (a as f64 / b as f64).floor() as i64
}

/// The one range of an expression over two symbols.
fn range_of(expr: Expr, a: Range, b: Range, narrow: bool) -> Option<Range> {
    let symbol = |name: &str| Symbol { name: name.to_string(), source: SymbolSource::Late };
    let manifest = Manifest {
        symbols: vec![symbol("a"), symbol("b")],
        exprs: vec![Expr::Symbol(SymbolId(0)), Expr::Symbol(SymbolId(1)), expr],
        ..Manifest::default()
    };
    ranges(&manifest, &[a, b], narrow)[2]
}

#[test]
fn ranges_contain_all_values() {
    let (a, b) = (ExprId(0), ExprId(1));
    let table: [(Expr, fn(i64, i64) -> i64); 8] = [
        (Expr::Add(a, b), |x, y| x + y),
        (Expr::Mul(a, b), |x, y| x * y),
        (Expr::Min(a, b), i64::min),
        (Expr::Max(a, b), i64::max),
        (Expr::FloorDiv(a, b), floor),
        (Expr::CeilDiv(a, b), |x, y| -floor(-x, y)),
        (Expr::Mod(a, b), |x, y| x - y * floor(x, y)),
        (Expr::Select { cmp: Cmp::Lt, a, b, then: a, otherwise: b }, |x, y| if x < y { x } else { y }),
    ];
    let all = || (-4..=4).flat_map(|lo| (lo..=4).map(move |hi| Range { lo, hi }));
    for (expr, value) in table {
        let divides = matches!(expr, Expr::FloorDiv(..) | Expr::CeilDiv(..) | Expr::Mod(..));
        for (x, y) in all().flat_map(|x| all().map(move |y| (x, y))) {
            let found = range_of(expr, x, y, false);
            for (i, j) in (x.lo..=x.hi).flat_map(|i| (y.lo..=y.hi).map(move |j| (i, j))) {
                if divides && j == 0 {
                    continue;
                }
                let value = value(i, j);
                assert!(found.is_some_and(|range| range.contains(value)), "{expr:?} {x:?} {y:?}: {value}");
            }
        }
    }
}

#[test]
fn what_may_not_fit_has_no_range() {
    let (a, b) = (ExprId(0), ExprId(1));
    let large = Range { lo: 0, hi: i64::MAX };
    let two = Range::exactly(2);
    assert_eq!(range_of(Expr::Mul(a, b), large, two, false), None);
    assert_eq!(range_of(Expr::FloorDiv(a, b), two, Range::exactly(0), false), None);
    // A target without 64-bit division divides what is known to have 32 bits.
    assert_eq!(range_of(Expr::FloorDiv(a, b), large, two, true), None);
    assert_eq!(
        range_of(Expr::FloorDiv(a, b), Range::LATE, two, true).map(|range| range.hi),
        Some(1_073_741_823)
    );
    // Of a selection that is decided, the other branch doesn't matter.
    let select = Expr::Select { cmp: Cmp::Le, a: b, b: b, then: b, otherwise: a };
    assert_eq!(range_of(select, large, two, false), Some(two));
}
