//! Every scalar function on every element type, with special values, against the interpreter. Not optimised: there
//! are many, and each operation stands for itself.

use super::{Tolerance, agree_within, no_symbols};
use crate::OptLevel;
use tcc_ir::kernel::{Builder, ExprId, Kernel, Scalar, Stage, Store};
use tcc_ir::ops::{BinaryKind, UnaryKind};
use tcc_ir::{Cmp, DType, Tensor, TensorType};

fn numeric() -> impl Iterator<Item = DType> {
    DType::all().filter(|d| d.is_float() || d.is_int())
}

/// Numbers where functions do something special, as the type holds them.
fn specials(dtype: DType) -> Vec<f64> {
    let Some((lo, hi)) = dtype.int_range() else {
        let values = [
            0.0,
            1.0,
            0.5,
            1.5,
            2.0,
            2.5,
            3.0,
            0.1,
            0.7,
            7.25,
            100.3,
            1e-3,
            1e-8,
            3e-39,
            1e30,
            3e38,
            f64::INFINITY,
        ];
        let both = values.into_iter().flat_map(|v| [v, -v]);
        return both.chain([f64::NAN]).map(|v| dtype.round_float(v)).collect();
    };
    let (lo, hi) = (lo as f64, hi as f64);
    let values = [0.0, 1.0, 2.0, 3.0, 5.0, 7.0, 8.0, 31.0, 64.0, -1.0, -2.0, -3.0, -7.0, lo, lo + 1.0, hi];
    values.into_iter().filter(|v| (lo..=hi).contains(v)).collect()
}

fn tensor(dtype: DType, values: &[f64]) -> Tensor {
    if dtype.is_float() {
        Tensor::from_floats(dtype, vec![values.len()], values.iter().copied())
    } else {
        // 2^63 and 2^64 as floats are one more than the largest integers.
        let (lo, hi) = dtype.int_range().expect("an integer type");
        Tensor::from_ints(dtype, vec![values.len()], values.iter().map(|v| (*v as i128).clamp(lo, hi)))
    }
}

/// A kernel with an output for each value that `f` makes of the inputs.
fn functions(
    name: String,
    types: &[DType],
    n: usize,
    f: impl FnOnce(&mut Builder, &[ExprId]) -> Vec<ExprId>,
) -> Kernel {
    let mut b = Builder::new(name);
    let ty = |dtype| TensorType::new(dtype, [n as i64]);
    let inputs: Vec<_> = types.iter().map(|d| b.input(&ty(*d))).collect();
    let axes = b.axes(&[(n as i64).into()]);
    let index = b.all(&axes);
    let loads: Vec<_> = inputs.iter().map(|i| b.load(*i, index.clone())).collect();
    let stage = Stage { axes, ..Stage::default() };
    let values = f(&mut b, &loads);
    let stores = values
        .into_iter()
        .map(|value| {
            let buffer = b.kernel().dtype(&stage, value);
            let buffer = b.output(&ty(buffer));
            Store { buffer, index: index.clone(), value, update: None, guard: None }
        })
        .collect();
    b.stage(Stage { stores, ..stage });
    b.finish()
}

#[test]
fn unary_functions_agree_on_every_type() {
    for dtype in numeric().chain([DType::Bool]) {
        let values = specials(dtype);
        let kinds = UnaryKind::ALL.iter().filter(|k| match dtype {
            DType::Bool => **k == UnaryKind::Not,
            d if d.is_float() => **k != UnaryKind::Not,
            _ => k.takes_ints() || **k == UnaryKind::Not,
        });
        // Apart, as not every target has those of f64.
        let (angles, others): (Vec<UnaryKind>, Vec<UnaryKind>) =
            kinds.copied().partition(|k| matches!(k, UnaryKind::Sin | UnaryKind::Cos | UnaryKind::Tan));
        for kinds in [angles, others].into_iter().filter(|kinds| !kinds.is_empty()) {
            let k = functions(format!("unary_{dtype}"), &[dtype], values.len(), |b, x| {
                kinds.into_iter().map(|kind| b.unary(kind, x[0])).collect()
            });
            agree_within(OptLevel::None, &k, &no_symbols, &[tensor(dtype, &values)], Tolerance::Ulps(4.0));
        }
    }
}

#[test]
fn binary_functions_and_comparisons_agree_on_every_type() {
    for dtype in numeric().chain([DType::Bool]) {
        let values = specials(dtype);
        let pairs: Vec<(f64, f64)> = values.iter().flat_map(|a| values.iter().map(|b| (*a, *b))).collect();
        let (left, right): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        let k = functions(format!("binary_{dtype}"), &[dtype, dtype], left.len(), |b, x| {
            let kinds = BinaryKind::ALL.iter().filter(|k| !dtype.is_float() || k.takes_floats());
            let mut out: Vec<ExprId> = kinds.map(|kind| b.expr(Scalar::Binary(*kind, x[0], x[1]))).collect();
            out.extend(Cmp::ALL.iter().map(|(cmp, _)| b.compare(*cmp, x[0], x[1])));
            let less = b.compare(Cmp::Lt, x[0], x[1]);
            out.push(b.select(less, x[0], x[1]));
            out
        });
        agree_within(
            OptLevel::None,
            &k,
            &no_symbols,
            &[tensor(dtype, &left), tensor(dtype, &right)],
            Tolerance::Ulps(4.0),
        );
    }
}

/// Ties of a narrow type that bits decide which f64 has no room for.
#[test]
fn wide_integers_are_rounded_once() {
    let near = |power: u32| [-1, 0, 1].map(|by| (1i128 << power) + (1 << (power - 8)) + by);
    for from in [DType::I64, DType::U64] {
        let mut values: Vec<i128> = [near(53), near(60), near(62)].concat();
        match from {
            DType::I64 => values.extend(values.clone().iter().map(|v| -v)),
            _ => values.extend(near(63)),
        }
        values.extend([0, 1, (1 << 53) - 1, (1 << 53) + 1]);
        let x = Tensor::from_ints(from, vec![values.len()], values.iter().copied());
        let k = functions(format!("narrow_{from}"), &[from], values.len(), |b, x| {
            [DType::BF16, DType::F16, DType::F32].map(|to| b.cast(to, x[0])).to_vec()
        });
        agree_within(OptLevel::None, &k, &no_symbols, &[x], Tolerance::Ulps(0.0));
    }
}

#[test]
fn bitcasts_agree() {
    for (from, to) in [
        (DType::F32, DType::I32),
        (DType::I32, DType::F32),
        (DType::F64, DType::U64),
        (DType::F16, DType::U16),
        (DType::U16, DType::BF16),
        (DType::U8, DType::F8E4M3FN),
        (DType::F8E5M2FNUZ, DType::I8),
    ] {
        let values = specials(from);
        let k = functions(format!("bitcast_{from}_{to}"), &[from], values.len(), |b, x| {
            vec![b.expr(Scalar::Bitcast(to, x[0]))]
        });
        agree_within(OptLevel::None, &k, &no_symbols, &[tensor(from, &values)], Tolerance::Ulps(0.0));
    }
}

/// Around the ends of what an integer type holds, and where there is no integer.
#[test]
fn floats_become_the_nearest_integers_that_there_are() {
    for from in [DType::F64, DType::F32] {
        for to in [DType::I8, DType::U8, DType::I16, DType::U16] {
            let (lo, hi) = to.int_range().expect("an integer type");
            let ends = [lo as f64, hi as f64];
            let mut values: Vec<f64> =
                ends.iter().flat_map(|end| [-1.0, -0.5, 0.0, 0.5, 1.0].map(|by| end + by)).collect();
            values.extend([f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.5, -0.5]);
            let k =
                functions(format!("{from}_to_{to}"), &[from], values.len(), |b, x| vec![b.cast(to, x[0])]);
            for opt in [OptLevel::None, OptLevel::Fast] {
                agree_within(opt, &k, &no_symbols, &[tensor(from, &values)], Tolerance::Ulps(0.0));
            }
        }
    }
}
