//! How far math functions are from the exact result, in units in the last place.

use super::super::tests::{run, run_on};
use crate::{OptLevel, Target};
use tcc_ir::kernel::{Builder, ExprId, Kernel, Stage, Store};
use tcc_ir::ops::{BinaryKind, UnaryKind};
use tcc_ir::{DType, Tensor, TensorType};

/// Functions that are expanded, and the largest error allowed in f32 and in f64.
const UNARY: [(UnaryKind, f64, f64); 23] = [
    (UnaryKind::Reciprocal, 0.5, 0.5),
    (UnaryKind::Sqrt, 0.5, 0.5),
    (UnaryKind::Exp, 1.0, 1.5),
    (UnaryKind::Expm1, 2.0, 3.0),
    (UnaryKind::Log, 1.0, 1.5),
    (UnaryKind::Log1p, 1.0, 2.0),
    (UnaryKind::Sin, 1.0, 1.5),
    (UnaryKind::Cos, 1.0, 1.5),
    (UnaryKind::Tan, 2.0, 2.5),
    (UnaryKind::Asin, 2.0, 3.0),
    (UnaryKind::Acos, 2.0, 3.0),
    (UnaryKind::Atan, 2.0, 2.0),
    (UnaryKind::Sinh, 2.0, 2.5),
    (UnaryKind::Cosh, 1.5, 2.5),
    (UnaryKind::Tanh, 2.5, 3.0),
    (UnaryKind::Asinh, 0.6, 3.0),
    (UnaryKind::Acosh, 0.6, 3.0),
    (UnaryKind::Atanh, 0.6, 3.0),
    (UnaryKind::Erf, 2.0, 2.0),
    (UnaryKind::Sigmoid, 2.0, 3.0),
    (UnaryKind::Floor, 0.0, 0.0),
    (UnaryKind::Round, 0.0, 0.0),
    (UnaryKind::Sign, 0.0, 0.0),
];

/// A kernel with an output for each function of `inputs`.
pub fn outputs(
    dtype: DType,
    n: usize,
    n_inputs: usize,
    f: impl FnOnce(&mut Builder, &[ExprId]) -> Vec<ExprId>,
) -> Kernel {
    let ty = TensorType::new(dtype, [n as i64]);
    let mut b = Builder::new("functions");
    let inputs: Vec<_> = (0..n_inputs).map(|_| b.input(&ty)).collect();
    let axes = b.axes(&ty.shape);
    let index = b.all(&axes);
    let loads: Vec<_> = inputs.iter().map(|i| b.load(*i, index.clone())).collect();
    let values = f(&mut b, &loads);
    let stores = values
        .into_iter()
        .map(|value| Store { buffer: b.output(&ty), index: index.clone(), value, update: None, guard: None })
        .collect();
    b.stage(Stage { axes, stores, ..Stage::default() });
    b.finish()
}

/// The distance of `got` from `want`, in units of the last place of `dtype`.
fn ulps(dtype: DType, got: f64, want: f64) -> f64 {
    let (digits, least, max) =
        if dtype == DType::F64 { (52, -1074, f64::MAX) } else { (23, -149, f64::from(f32::MAX)) };
    let rounded = dtype.round_float(want);
    if got == rounded || (got.is_nan() && want.is_nan()) {
        return 0.0;
    }
    if got.is_nan() || want.is_nan() {
        return f64::INFINITY;
    }
    // Beyond the largest number, count on as if the exponents went on.
    let finite = |v: f64| if v.is_infinite() { v.signum() * max } else { v };
    let exponent = want.abs().clamp(f64::MIN_POSITIVE, max).log2().floor() as i32;
    // 2^-1074 isn't reached by powi directly.
    let place = (exponent - digits).max(least);
    let ulp = 2f64.powi(place + 100) * 2f64.powi(-100);
    (finite(got) - finite(want)).abs() / ulp
}

fn report(
    dtype: DType,
    name: &str,
    limit: f64,
    points: impl Iterator<Item = (String, f64, f64)>,
) -> Option<String> {
    let mut worst = (0.0, String::new());
    for (at, got, want) in points {
        let error = ulps(dtype, got, want);
        if error > worst.0 {
            worst = (error, format!("{dtype} {name}({at}) = {got:e} instead of {want:e}"));
        }
    }
    println!("{dtype} {name}: {:.3} ulp, {}", worst.0, worst.1);
    (worst.0 > limit).then(|| format!("{:.3} ulp: {}", worst.0, worst.1))
}

/// Every `step`th bit pattern of f32, or a spread of f64 with as many exponents.
fn sweep(dtype: DType, n: usize) -> Vec<f64> {
    let special =
        [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-45, -1e-45, 1e-310];
    let special = special.into_iter().map(|v| dtype.round_float(v));
    let near = (0..n / 4).map(|i| dtype.round_float((i as f64 / (n / 4) as f64 - 0.5) * 12.0));
    let bits = |i: usize| match dtype {
        DType::F64 => f64::from_bits((i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
        _ => f64::from(f32::from_bits((i as u64 * (u64::from(u32::MAX) / n as u64)) as u32)),
    };
    special.chain(near).chain((0..n).map(bits)).collect()
}

#[test]
fn unary_functions_are_accurate() {
    unary_accuracy(&Target::host().expect("a known host"), 1.0);
}

/// Multiply and add round on their own there.
#[test]
#[cfg(target_arch = "x86_64")]
fn unary_functions_are_nearly_as_accurate_without_fused_multiply_add() {
    unary_accuracy(&Target::named("x86-64-v2").expect("a target"), 1.5);
}

fn unary_accuracy(target: &Target, factor: f64) {
    let mut wrong = Vec::new();
    for dtype in [DType::F32, DType::F64] {
        let x = sweep(dtype, 300_000);
        let k =
            outputs(dtype, x.len(), 1, |b, x| UNARY.iter().map(|(kind, ..)| b.unary(*kind, x[0])).collect());
        let input = Tensor::from_floats(dtype, vec![x.len()], x.iter().copied());
        let results = run_on(target, OptLevel::Fast, &k, &|_| None, &[input]).expect("runs");
        for ((kind, f32_limit, f64_limit), got) in UNARY.iter().zip(results) {
            let limit = if dtype == DType::F64 { *f64_limit } else { *f32_limit };
            let points = x.iter().zip(got.floats()).filter_map(|(x, got)| {
                let want = kind.float(*x);
                // The reference of sigmoid itself loses the far end.
                let known = *kind != UnaryKind::Sigmoid || dtype == DType::F32 || *x > -700.0;
                known.then(|| (format!("{x:e}"), got, want))
            });
            wrong.extend(report(dtype, kind.name(), limit * factor, points));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn binary_functions_are_accurate() {
    let mut wrong = Vec::new();
    for dtype in [DType::F32, DType::F64] {
        let mut values = vec![
            0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 1e30, -1e30, 1e-40, 0.999_999, 1.000_001,
        ];
        values.extend([f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-45, 16_777_217.0, 3.402e38, 0.1, -7.5]);
        let values: Vec<f64> = values.into_iter().map(|v| dtype.round_float(v)).collect();
        let mut pairs: Vec<(f64, f64)> =
            values.iter().flat_map(|x| values.iter().map(|y| (*x, *y))).collect();
        let mut state = 1u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / 2f64.powi(53)
        };
        for i in 0..60_000 {
            let (a, b) = (random(), random());
            let (x, y) = match i % 4 {
                0 => (a * 10.0, (b - 0.5) * 20.0),
                1 => ((a - 0.5).exp2(), (b - 0.5) * if dtype == DType::F64 { 1400.0 } else { 170.0 }),
                2 => (((a - 0.5) * 240.0).exp2(), (b - 0.5) * 3.0),
                _ => ((a - 0.5) * 1e6, (b - 0.5) * 7.0),
            };
            pairs.push((dtype.round_float(x), dtype.round_float(y)));
        }
        let kinds =
            [(BinaryKind::Pow, [0.6, 1.5]), (BinaryKind::Rem, [0.0, 0.0]), (BinaryKind::Mod, [0.5, 0.0])];
        let k = outputs(dtype, pairs.len(), 2, |b, x| {
            kinds.iter().map(|(kind, _)| b.binary(*kind, x[0], x[1])).collect()
        });
        let column =
            |f: fn(&(f64, f64)) -> f64| Tensor::from_floats(dtype, vec![pairs.len()], pairs.iter().map(f));
        let results = run(&k, &|_| None, &[column(|p| p.0), column(|p| p.1)]).expect("runs");
        for ((kind, limits), got) in kinds.iter().zip(results) {
            let points = pairs
                .iter()
                .zip(got.floats())
                .map(|((x, y), got)| (format!("{x:e}, {y:e}"), got, kind.float(*x, *y)));
            wrong.extend(report(dtype, kind.name(), limits[usize::from(dtype == DType::F64)], points));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
