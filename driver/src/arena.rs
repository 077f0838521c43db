//! How small an arena could be: what plans are held against.

use tcc_runtime::package::{Cmp, Expr, Form, Manifest, Storage, SymbolSource};

/// Places in the arena begin at multiples of this.
const ALIGN: u64 = 64;

/// The most bytes that are alive in the arena at once, each value in whole blocks of 64: no plan needs less, but for what
/// the last block doesn't fill. `sizes` has the shape of each input; for sizes
/// that don't depend on inputs, and those that the compiler bounded, none is needed. `None` where a size isn't known.
pub fn lower_bound(manifest: &Manifest, sizes: &[Vec<i64>]) -> Option<u64> {
    let exprs = evaluate(manifest, sizes);
    let mut changes: Vec<(u32, i128)> = Vec::new();
    for value in &manifest.values {
        let Storage::Arena { fixed, first, last } = value.storage else { continue };
        debug_assert_eq!(value.form, Form::Tensor);
        let dims =
            || value.dims.iter().map(|dim| exprs[dim.index()].and_then(|size| u64::try_from(size).ok()));
        let counted = || dims().try_fold(1u64, |product, size| product.checked_mul(size?));
        let bytes = match fixed {
            Some(region) => region.bytes,
            None => counted()?.checked_mul(value.dtype.size() as u64)?,
        };
        let bytes = i128::from(bytes.checked_next_multiple_of(ALIGN)?);
        changes.extend([(first, bytes), (last.checked_add(1)?, -bytes)]);
    }
    // What ends before a position makes room for what begins there.
    changes.sort_unstable();
    let alive = changes.iter().scan(0, |alive, (_, change)| {
        *alive += change;
        Some(*alive)
    });
    u64::try_from(alive.max().unwrap_or(0)).ok()
}

/// The values of a package's expressions, as far as inputs decide them.
fn evaluate(manifest: &Manifest, sizes: &[Vec<i64>]) -> Vec<Option<i64>> {
    let mut values: Vec<Option<i64>> = Vec::with_capacity(manifest.exprs.len());
    for expr in &manifest.exprs {
        let at = |id: tcc_runtime::package::ExprId| values[id.index()];
        let value = match *expr {
            Expr::Const(value) => Some(value),
            Expr::Symbol(symbol) => match manifest.symbols[symbol.index()].source {
                SymbolSource::InputDim { input, axis } => {
                    sizes.get(input as usize).and_then(|shape| shape.get(axis as usize)).copied()
                }
                SymbolSource::Late => None,
            },
            Expr::Add(a, b) => both(at(a), at(b), i64::checked_add),
            Expr::Mul(a, b) => both(at(a), at(b), i64::checked_mul),
            Expr::FloorDiv(a, b) => both(at(a), at(b), floor_div),
            Expr::CeilDiv(a, b) => both(at(a), at(b), |a, b| floor_div(a.checked_neg()?, b)?.checked_neg()),
            Expr::Mod(a, b) => both(at(a), at(b), |a, b| a.checked_sub(floor_div(a, b)?.checked_mul(b)?)),
            Expr::Min(a, b) => both(at(a), at(b), |a, b| Some(a.min(b))),
            Expr::Max(a, b) => both(at(a), at(b), |a, b| Some(a.max(b))),
            Expr::Select { cmp, a, b, then, otherwise } => {
                let holds = both(at(a), at(b), |a, b| {
                    Some(i64::from(match cmp {
                        Cmp::Eq => a == b,
                        Cmp::Lt => a < b,
                        Cmp::Le => a <= b,
                    }))
                });
                holds.and_then(|holds| at(if holds == 1 { then } else { otherwise }))
            }
        };
        values.push(value);
    }
    values
}

fn both(a: Option<i64>, b: Option<i64>, f: impl Fn(i64, i64) -> Option<i64>) -> Option<i64> {
    f(a?, b?)
}

fn floor_div(a: i64, b: i64) -> Option<i64> {
    let quotient = a.checked_div(b)?;
    let inexact = a.checked_rem(b)? != 0;
    Some(quotient - i64::from(inexact && (a < 0) != (b < 0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tcc_runtime::package::{DType, ExprId, Region, Symbol, SymbolId, Value};

    fn value(dims: &[u32], fixed: Option<Region>, first: u32, last: u32) -> Value {
        Value {
            name: String::new(),
            form: Form::Tensor,
            dtype: DType::F32,
            dims: dims.iter().map(|&dim| ExprId(dim)).collect(),
            storage: Storage::Arena { fixed, first, last },
        }
    }

    #[test]
    fn most_bytes_alive_at_once_are_found() {
        let symbol = Symbol { name: "N".into(), source: SymbolSource::InputDim { input: 0, axis: 0 } };
        let mut manifest = Manifest {
            symbols: vec![symbol],
            exprs: vec![Expr::Const(16), Expr::Symbol(SymbolId(0)), Expr::Add(ExprId(0), ExprId(1))],
            // [16], [16 + N] and [N], the first and the last of them never together.
            values: vec![value(&[0], None, 0, 1), value(&[2], None, 1, 2), value(&[1], None, 2, 3)],
            ..Manifest::default()
        };
        assert_eq!(lower_bound(&manifest, &[vec![16]]), Some(64 + 128));
        assert_eq!(lower_bound(&manifest, &[vec![160]]), Some(704 + 640));
        assert_eq!(lower_bound(&manifest, &[]), None);
        let region = Some(Region { offset: 0, bytes: 65 });
        manifest.values = vec![value(&[1], region, 0, 0), value(&[1], region, 1, 1)];
        assert_eq!(lower_bound(&manifest, &[]), Some(128));
    }

    #[test]
    fn division_rounds_down() {
        assert_eq!([floor_div(7, 2), floor_div(-7, 2), floor_div(-6, 2)], [Some(3), Some(-4), Some(-3)]);
        assert_eq!([floor_div(1, 0), floor_div(i64::MIN, -1)], [None, None]);
    }
}
