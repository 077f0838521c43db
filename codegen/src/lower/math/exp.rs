//! Exponentials. exp(x) = 2^n * exp(r) with n = round(x / ln 2) and |r| <= ln(2)/2 (Cody and Waite's reduction in
//! two parts), exp(r) = 1 + r + r^2 * Q(r) with Q near-minimax (interpolation in high precision).

use super::super::writer::Val;
use super::arith::{Arith, Coefficients};

/// (e^r - 1 - r) / r^2
const TAIL: Coefficients = Coefficients {
    f32: &[
        0.499999934123468507,
        0.166665201082499105,
        0.041668394262465971,
        0.00836878038188179416,
        0.00138144639045212227,
    ],
    f64: &[
        0.5,
        0.16666666666666671,
        0.0416666666666666698,
        0.00833333333332613513,
        0.00138888888888837483,
        1.98412698748206253e-4,
        2.48015873255477412e-5,
        2.75572554002064244e-6,
        2.75572736431102953e-7,
        2.51052170047207452e-8,
        2.09146869680868772e-9,
    ],
};

/// ln 2 in two parts; the product of the first with n is exact.
pub const LN2_HIGH: [f64; 2] = [0.693115234375, 0.6931471803691238];
pub const LN2_LOW: [f64; 2] = [3.1946184945309415e-05, 1.9082149292705877e-10];

/// Arguments beyond these give 0 and infinity.
const RANGE: [(f64, f64); 2] = [(-104.0, 89.0), (-745.5, 710.0)];

/// x = n*ln2 + r with an integer n.
struct Reduced {
    n: Val,
    r: Val,
    /// What r lacks, where it was asked for.
    low: Option<Val>,
    /// r^2 and Q(r).
    tail: [Val; 2],
}

impl Reduced {
    /// e^r - 1.
    fn less_one(&self, a: &mut Arith) -> Val {
        let [square, q] = &self.tail;
        a.fma(square, q, &self.r)
    }

    /// e^r * scale, for a power of two; where r has a low part, what 1 + r loses is added back.
    fn power(&self, a: &mut Arith, scale: &Val) -> Val {
        let Some(low) = &self.low else {
            let less_one = self.less_one(a);
            return a.fma(&less_one, scale, scale);
        };
        let one = a.c(1.0);
        let (sum, lost) = a.fast_two_sum(&one, &self.r);
        let lost = a.add(&lost, low);
        let [square, q] = &self.tail;
        let rest = a.fma(square, q, &lost);
        let y = a.add(&sum, &rest);
        a.mul(&y, scale)
    }
}

/// `x + tail` reduced, with more care for rounding if there is a tail. |x| must be in the range where the result isn't 0 or infinite, or NaN.
fn reduce(a: &mut Arith, x: &Val, tail: Option<&Val>) -> Reduced {
    // Adding 1.5 * 2^mantissa rounds to an integer and leaves it in the low bits.
    let magic = 1.5 * 2f64.powi(a.mantissa as i32);
    let (inverse, magic) = (a.c(std::f64::consts::LOG2_E), a.c(magic));
    let shifted = a.fma(x, &inverse, &magic);
    let n = a.sub(&shifted, &magic);
    let (high, low) = (a.pick(LN2_HIGH[0], LN2_HIGH[1]), a.pick(LN2_LOW[0], LN2_LOW[1]));
    let (high, low) = (a.c(-high), a.c(-low));
    let first = a.fma(&n, &high, x);
    let r = a.fma(&n, &low, &first);
    let (r, low) = match tail {
        None => (r, None),
        Some(tail) => {
            let lost = a.sub(&first, &r);
            let lost = a.fma(&n, &low, &lost);
            let lost = a.add(&lost, tail);
            let (r, low) = a.fast_two_sum(&r, &lost);
            (r, Some(low))
        }
    };
    let q = a.polynomial(&r, &TAIL);
    let square = a.mul(&r, &r);
    let (bits, base) = (a.bits(&shifted), a.bits(&magic));
    Reduced { n: a.int_op("arith.subi", &bits, &base), r, low, tail: [square, q] }
}

/// `x` limited to `lo..hi`; NaN stays.
fn clamp(a: &mut Arith, x: &Val, lo: f64, hi: f64) -> Val {
    let below = a.test("olt", x, lo);
    let x = a.sel_c(&below, lo, x);
    let above = a.test("ogt", &x, hi);
    a.sel_c(&above, hi, &x)
}

/// e^x.
pub fn exp(a: &mut Arith, x: &Val) -> Val {
    exp_scaled(a, x, None, 0)
}

/// e^(x + tail) * 2^power, without overflow on the way, for a small power and a tail below x's last bit.
pub fn exp_scaled(a: &mut Arith, x: &Val, tail: Option<&Val>, power: i64) -> Val {
    let (lo, hi) = a.pick(RANGE[0], RANGE[1]);
    let x = clamp(a, x, lo, hi - power as f64);
    let reduced = reduce(a, &x, tail);
    let n = if power == 0 { reduced.n.clone() } else { a.int_c("arith.addi", &reduced.n, power) };
    let [first, second] = a.powers_of_two(&n);
    let y = reduced.power(a, &first);
    a.mul(&y, &second)
}

/// e^x - 1.
pub fn expm1(a: &mut Arith, x: &Val) -> Val {
    // Below the lower limit the result rounds to -1.
    let lo = a.pick(-26.0, -45.0);
    let hi = a.pick(RANGE[0], RANGE[1]).1;
    let clamped = clamp(a, x, lo, hi);
    let reduced = reduce(a, &clamped, None);
    let p = reduced.less_one(a);
    // Half of the result first: 2^n overflows before the result does.
    let n = a.int_c("arith.subi", &reduced.n, 1);
    let power = a.power_of_two(&n);
    let half = a.c(0.5);
    let whole = a.sub(&power, &half);
    let y = a.fma(&power, &p, &whole);
    let y = a.add(&y, &y);
    // x itself where the square vanishes: keeps subnormals exact and the sign of zero.
    let size = a.abs(x);
    let limit = a.pick(2f64.powi(-26), 2f64.powi(-56));
    let tiny = a.test("olt", &size, limit);
    a.sel(&tiny, x, &y)
}

/// e^x - 1 for x from -100 to 0.
pub fn expm1_below_zero(a: &mut Arith, x: &Val) -> Val {
    let reduced = reduce(a, x, None);
    let p = reduced.less_one(a);
    let power = a.power_of_two(&reduced.n);
    let one = a.c(1.0);
    let whole = a.sub(&power, &one);
    a.fma(&power, &p, &whole)
}

/// 1 / (1 + e^-x) = s / (s + s * e^-x), with so small a power of two s that s * e^-x never overflows.
pub fn sigmoid(a: &mut Arith, x: &Val) -> Val {
    // Where the results round to 1, and to 0.
    let (lo, hi) = a.pick((-30.0, 104.5), (-40.0, 745.5));
    let shift = a.pick(24, 53);
    let minus = a.neg(x);
    let minus = clamp(a, &minus, lo, hi);
    let reduced = reduce(a, &minus, None);
    let n = a.int_c("arith.subi", &reduced.n, shift);
    let power = a.power_of_two(&n);
    let less_one = reduced.less_one(a);
    let one = a.c(2f64.powi(-shift as i32));
    let below = a.add(&one, &power);
    let below = a.fma(&less_one, &power, &below);
    a.div(&one, &below)
}
