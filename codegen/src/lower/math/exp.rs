//! Exponentials. exp(x) = 2^n * exp(r) with n = round(x / ln 2) and |r| <= ln(2)/2 (Cody and Waite's reduction in
//! two parts), exp(r) = 1 + r + r^2 * Q(r) with Q near-minimax (Chebyshev interpolation in high precision).

use super::super::writer::Val;
use super::arith::{Arith, Coefficients};

/// (e^r - 1 - r) / r^2
const TAIL: Coefficients = Coefficients {
    f32: &[
        0.50000000134658092,
        0.166666666816232314,
        0.0416664649252859054,
        0.00833331092548090083,
        0.00139336499963092504,
        1.98909908246736538e-4,
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

    /// e^r; what 1 + r loses is added back.
    fn power(&self, a: &mut Arith) -> Val {
        let one = a.c(1.0);
        let (sum, lost) = a.fast_two_sum(&one, &self.r);
        let lost = match &self.low {
            Some(low) => a.add(&lost, low),
            None => lost,
        };
        let [square, q] = &self.tail;
        let rest = a.fma(square, q, &lost);
        a.add(&sum, &rest)
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
    let y = reduced.power(a);
    let n = if power == 0 { reduced.n } else { a.int_c("arith.addi", &reduced.n, power) };
    a.scale(&y, &n)
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

/// 1 / (1 + e^-x), from e^-|x| so that neither end loses anything.
pub fn sigmoid(a: &mut Arith, x: &Val) -> Val {
    let size = a.abs(x);
    let minus = a.neg(&size);
    let e = exp(a, &minus);
    let one = a.c(1.0);
    let negative = a.test("olt", x, 0.0);
    let above = a.sel(&negative, &e, &one);
    let (below, lost) = a.fast_two_sum(&one, &e);
    let y = a.div(&above, &below);
    // What 1 + e lost, to first order: y * (1 - lost / below), where 1 / below is y or 1 - y.
    let other = a.sub(&one, &y);
    let inverse = a.sel(&negative, &other, &y);
    let lost = a.mul(&lost, &inverse);
    let minus = a.neg(&y);
    a.fma(&minus, &lost, &y)
}
