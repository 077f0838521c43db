//! Logarithms, as in fdlibm: x = 2^k * (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), s = f / (2 + f), and
//! log(1 + f) = 2 atanh(s) with a polynomial in s^2 (Chebyshev interpolation in high precision).

use super::super::writer::Val;
use super::arith::{Arith, Coefficients};
use super::exp::{LN2_HIGH, LN2_LOW};

/// (2 atanh(s) / s - 2) / z with z = s^2.
const TAIL: Coefficients = Coefficients {
    f32: &[0.666666665540420124, 0.400001222118106494, 0.285507786331919654, 0.233316144718434992],
    f64: &[
        0.666666666666666665,
        0.400000000000008832,
        0.28571428570799785,
        0.222222223925810451,
        0.181817955475211362,
        0.153862447376216666,
        0.132686383692668239,
        0.130880348509275538,
    ],
};

/// k and f of a positive finite x; anything for other x.
pub fn decompose(a: &mut Arith, x: &Val) -> (Val, Val) {
    let up = a.mantissa + 2;
    // Subnormals are scaled up first.
    let least = 2f64.powi(1 - a.bias as i32);
    let small = a.test("olt", x, least);
    let factor = a.c(2f64.powi(up as i32));
    let scaled = a.mul(x, &factor);
    let x = a.sel(&small, &scaled, x);
    let bits = a.bits(&x);
    let sqrt_half = a.pick(0x3f35_04f3, 0x3fe6_a09e_667f_3bcd);
    let one = a.bias << a.mantissa;
    let moved = a.int_c("arith.addi", &bits, one - sqrt_half);
    let exponent = a.int_c("arith.shrui", &moved, a.mantissa);
    let fraction = a.int_c("arith.andi", &moved, (1 << a.mantissa) - 1);
    let fraction = a.int_c("arith.addi", &fraction, sqrt_half);
    let m = a.from_bits(&fraction);
    let f_one = a.c(1.0);
    let f = a.sub(&m, &f_one);
    // The exponent as float: placed in the low bits of 2^mantissa. No target lacks that, unlike conversions.
    let base = 2f64.powi(a.mantissa as i32);
    let base_bits = (a.bias + a.mantissa) << a.mantissa;
    let k = a.int_c("arith.addi", &exponent, base_bits);
    let k = a.from_bits(&k);
    let normal = a.c(base + a.bias as f64);
    let bias = a.sel_c(&small, base + (a.bias + up) as f64, &normal);
    (a.sub(&k, &bias), f)
}

/// k * ln 2 + log(1 + f) + c, for a c far below f.
fn combine(a: &mut Arith, k: &Val, f: &Val, c: Option<&Val>) -> Val {
    let two = a.c(2.0);
    let below = a.add(&two, f);
    let s = a.div(f, &below);
    let z = a.mul(&s, &s);
    let tail = a.polynomial(&z, &TAIL);
    let r = a.mul(&z, &tail);
    let half = a.c(0.5);
    let half_f = a.mul(f, &half);
    let half_square = a.mul(&half_f, f);
    let (high, low) = (a.pick(LN2_HIGH[0], LN2_HIGH[1]), a.pick(LN2_LOW[0], LN2_LOW[1]));
    let (high, low) = (a.c(high), a.c(low));
    let small = match c {
        Some(c) => a.fma(k, &low, c),
        None => a.mul(k, &low),
    };
    let sum = a.add(&half_square, &r);
    let small = a.fma(&s, &sum, &small);
    let rest = a.sub(&half_square, &small);
    let rest = a.sub(&rest, f);
    let large = a.mul(k, &high);
    a.sub(&large, &rest)
}

/// Natural logarithm; NaN below 0.
pub fn log(a: &mut Arith, x: &Val) -> Val {
    let (k, f) = decompose(a, x);
    let y = combine(a, &k, &f, None);
    special(a, x, 0.0, &y)
}

/// log(1 + x); NaN below -1.
pub fn log1p(a: &mut Arith, x: &Val) -> Val {
    let one = a.c(1.0);
    let (u, lost) = a.two_sum(&one, x);
    let c = a.div(&lost, &u);
    let (k, f) = decompose(a, &u);
    let y = combine(a, &k, &f, Some(&c));
    let size = a.abs(x);
    let limit = a.pick(2f64.powi(-26), 2f64.powi(-56));
    let tiny = a.test("olt", &size, limit);
    let y = a.sel(&tiny, x, &y);
    special(a, x, -1.0, &y)
}

/// The limits: -infinity at `pole`, NaN below it and for NaN, infinity at infinity.
fn special(a: &mut Arith, x: &Val, pole: f64, y: &Val) -> Val {
    let infinite = a.test("oeq", x, f64::INFINITY);
    let y = a.sel(&infinite, x, y);
    let at_pole = a.test("oeq", x, pole);
    let y = a.sel_c(&at_pole, f64::NEG_INFINITY, &y);
    let undefined = a.test("ult", x, pole);
    a.sel_c(&undefined, f64::NAN, &y)
}
