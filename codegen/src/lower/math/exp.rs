//! Exponentials: exp(x) = 2^n * exp(r) with n = round(x / ln 2) and |r| <= ln(2)/2 (Cody and Waite's reduction in
//! two parts), exp(r) by its Taylor polynomial to the width's precision.

use super::super::writer::{F64, Val, Writer};
use super::{bits_of, fma, polynomial};

struct Width {
    ln2_high: f64,
    ln2_low: f64,
    /// Arguments beyond these give infinity or zero.
    max: f64,
    min: f64,
    mantissa_bits: i64,
    bias: i64,
    degree: usize,
}

const F32W: Width = Width {
    ln2_high: 0.693_145_751_953_125,
    ln2_low: 1.428_606_765_330_187e-6,
    max: 88.722_839_4,
    min: -104.0,
    mantissa_bits: 23,
    bias: 127,
    degree: 7,
};

const F64W: Width = Width {
    ln2_high: 0.693_147_180_369_123_816_49,
    ln2_low: 1.908_214_929_270_587_7e-10,
    max: 709.782_712_893_384,
    min: -745.2,
    mantissa_bits: 52,
    bias: 1023,
    degree: 13,
};

/// e^x; infinity above the range, 0 below it, NaN of NaN.
pub fn exp(w: &mut Writer, x: &Val) -> Val {
    let width = if x.ty == F64 { &F64W } else { &F32W };
    let (min, max) = (w.float(x.ty, width.min), w.float(x.ty, width.max + 0.01));
    // `minimumf` keeps NaN.
    let clamped = w.bin("arith.minimumf", x, &max);
    let clamped = w.bin("arith.maximumf", &clamped, &min);
    let inverse = w.float(x.ty, std::f64::consts::LOG2_E);
    let scaled = w.bin("arith.mulf", &clamped, &inverse);
    let n = w.un("math.roundeven", &scaled);
    let (high, low) = (w.float(x.ty, -width.ln2_high), w.float(x.ty, -width.ln2_low));
    let r = fma(w, &n, &high, &clamped);
    let r = fma(w, &n, &low, &r);
    let mut factorial = 1.0;
    let taylor: Vec<f64> = (0..=width.degree)
        .map(|k| {
            factorial *= if k == 0 { 1.0 } else { k as f64 };
            1.0 / factorial
        })
        .collect();
    let y = polynomial(w, &r, &taylor);
    let y = scale_by_power(w, &y, &n, width);
    let over = w.cmp("ogt", x, &max);
    let inf = w.float(x.ty, f64::INFINITY);
    let y = w.select(&over, &inf, &y);
    let is_nan = w.cmp("uno", x, x);
    w.select(&is_nan, x, &y)
}

/// `y * 2^n` in two steps, so that neither factor leaves the range where the result doesn't.
fn scale_by_power(w: &mut Writer, y: &Val, n: &Val, width: &Width) -> Val {
    let int = bits_of(y.ty);
    let zero = w.float(y.ty, 0.0);
    let is_nan = w.cmp("uno", n, n);
    let n = w.select(&is_nan, &zero, n);
    let n = w.convert("arith.fptosi", &n, int);
    let one = w.int(int, 1);
    let half = w.bin("arith.shrsi", &n, &one);
    let rest = w.bin("arith.subi", &n, &half);
    let power = |w: &mut Writer, n: &Val| {
        let (bias, shift) = (w.int(int, width.bias), w.int(int, width.mantissa_bits));
        let e = w.bin("arith.addi", n, &bias);
        let bits = w.bin("arith.shli", &e, &shift);
        w.convert("arith.bitcast", &bits, y.ty)
    };
    let (a, b) = (power(w, &half), power(w, &rest));
    let y = w.bin("arith.mulf", y, &a);
    w.bin("arith.mulf", &y, &b)
}
