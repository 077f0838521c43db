//! Sine, cosine and tangent for every argument, by Payne and Hanek's reduction: x * 2/pi modulo 4 in fixed point
//! from the bits of 2/pi that matter for x's exponent. f32 works on 32-bit words of 2/pi, f64 on 64-bit words.
//! Polynomials on |r| <= pi/4 come from Chebyshev interpolation in high precision.

use super::super::writer::{Ty, Val};
use super::arith::{Arith, Coefficients};

/// (sin r / r - 1) / z with z = r^2.
const SIN: Coefficients = Coefficients {
    f32: &[-0.16666666663854167, 0.00833333187427371367, -1.98400864995935981e-4, 2.72498952306116781e-6],
    f64: &[
        -0.166666666666666667,
        0.00833333333333333149,
        -1.98412698412650626e-4,
        2.75573192193373103e-6,
        -2.50521062318028379e-8,
        1.60585315167977592e-10,
        -7.58669109419795836e-13,
    ],
};

/// (cos r - 1 + z/2) / z^2
const COS: Coefficients = Coefficients {
    f32: &[0.0416666666643202666, -0.00138888876716525039, 2.48006001803638087e-5, -2.73009336872129431e-7],
    f64: &[
        0.0416666666666666654,
        -0.00138888888888873965,
        2.48015872987645608e-5,
        -2.7557317271145146e-7,
        2.08761461465586116e-9,
        -1.13826236474746046e-11,
    ],
};

/// A zero word, then the bits of 2/pi after the point.
const TWO_OVER_PI: [&[u64]; 2] = [
    &[0, 0xa2f9_836e, 0x4e44_1529, 0xfc27_57d1, 0xf534_ddc0, 0xdb62_9599, 0x3c43_9041, 0xfe51_63ab],
    &[
        0,
        0xa2f9_836e_4e44_1529,
        0xfc27_57d1_f534_ddc0,
        0xdb62_9599_3c43_9041,
        0xfe51_63ab_debb_c561,
        0xb724_6e3a_424d_d2e0,
        0x0649_2eea_09d1_921c,
        0xfe1d_eb1c_b129_a73e,
        0xe882_35f5_2ebb_4484,
        0xe99c_7026_b45f_7e41,
        0x3991_d639_8353_39f4,
        0x9c84_5f8b_bdf9_283b,
        0x1ff8_97ff_de05_980f,
        0xef2f_118b_5a0a_6d1f,
        0x6d36_7ecf_27cb_09b7,
        0x4f46_3f66_9e5f_ea2d,
        0x7527_bac7_ebe5_f17b,
        0x3d07_39f7_8a52_92ea,
        0x6bfb_5fb1_1f8d_5d08,
        0x5603_3046_fc7b_6bab,
    ],
];

const HALF_PI_HIGH: [f64; 2] = [1.5707963705062866, std::f64::consts::FRAC_PI_2];
const HALF_PI_LOW: [f64; 2] = [-4.371138828673793e-08, 6.123233995736766e-17];

/// |x| = quadrant * pi/2 + high + low, modulo 2 pi.
struct Reduced {
    quadrant: Val,
    high: Val,
    low: Val,
}

/// Which function.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Trig {
    Sin,
    Cos,
    Tan,
}

pub fn trig(a: &mut Arith, which: Trig, x: &Val) -> Val {
    let size = a.abs(x);
    let Reduced { quadrant, high, low } = reduce(a, &size);
    let (s, c) = sin_cos(a, &high, &low);
    let odd = a.int_c("arith.andi", &quadrant, 1);
    let zero = a.i(0);
    let odd = a.cmp("ne", &odd, &zero);
    // Bit 1 of `turn` says whether the result changes sign.
    let (y, turn) = match which {
        Trig::Sin => (a.sel(&odd, &c, &s), quadrant),
        Trig::Cos => (a.sel(&odd, &s, &c), a.int_c("arith.addi", &quadrant, 1)),
        Trig::Tan => {
            let (above, below) = (a.sel(&odd, &c, &s), a.sel(&odd, &s, &c));
            (a.div(&above, &below), a.int_c("arith.shli", &quadrant, 1))
        }
    };
    let turn = a.int_c("arith.shrui", &turn, 1);
    let mut flip = a.int_c("arith.shli", &turn, a.width - 1);
    if which != Trig::Cos {
        let bits = a.bits(x);
        let sign = a.int_c("arith.shrui", &bits, a.width - 1);
        let sign = a.int_c("arith.shli", &sign, a.width - 1);
        flip = a.int_op("arith.xori", &flip, &sign);
    }
    let bits = a.bits(&y);
    let bits = a.int_op("arith.xori", &bits, &flip);
    let y = a.from_bits(&bits);
    let finite = a.test("olt", &size, f64::INFINITY);
    let nan = a.c(f64::NAN);
    a.sel(&finite, &y, &nan)
}

/// sin and cos of high + low, |high| <= pi/4.
fn sin_cos(a: &mut Arith, high: &Val, low: &Val) -> (Val, Val) {
    let z = a.mul(high, high);
    let (one, half) = (a.c(1.0), a.c(0.5));
    // cos = 1 - z/2 + z^2 C(z) - high*low, with what 1 - z/2 loses added back.
    let half_z = a.mul(&z, &half);
    let near = a.sub(&one, &half_z);
    let lost = a.sub(&one, &near);
    let lost = a.sub(&lost, &half_z);
    let tail = a.polynomial(&z, &COS);
    let square = a.mul(&z, &z);
    let cross = a.mul(high, low);
    let rest = a.sub(&lost, &cross);
    let rest = a.fma(&square, &tail, &rest);
    let c = a.add(&near, &rest);
    // sin = high + high^3 S(z) + low * cos
    let tail = a.polynomial(&z, &SIN);
    let cube = a.mul(high, &z);
    let rest = a.mul(low, &c);
    let rest = a.fma(&cube, &tail, &rest);
    let s = a.add(high, &rest);
    (s, c)
}

fn reduce(a: &mut Arith, size: &Val) -> Reduced {
    let (width, mantissa) = (a.width, a.mantissa);
    let double = Ty::Int(2 * width as u32);
    let words = a.pick(TWO_OVER_PI[0], TWO_OVER_PI[1]);
    let table = a.e.table(a.int, words);

    // x = m * 2^(exponent - bias - mantissa). The window of three words starts where the product has weight 2.
    let bits = a.bits(size);
    let exponent = a.int_c("arith.shrui", &bits, mantissa);
    let m = a.int_c("arith.andi", &bits, (1 << mantissa) - 1);
    let m = a.int_c("arith.ori", &m, 1 << mantissa);
    let start = a.int_c("arith.subi", &exponent, a.bias + mantissa + 2 - width);
    let start = a.int_c("arith.maxsi", &start, 0);
    let shift = a.int_c("arith.andi", &start, width - 1);
    let first = a.int_c("arith.shrui", &start, width.ilog2().into());
    let back = a.i(width - 1);
    let back = a.int_op("arith.subi", &back, &shift);
    let loaded: Vec<Val> = (0..4)
        .map(|j| {
            let at = a.int_c("arith.addi", &first, j);
            let at = a.w().index_cast(&at, Ty::Index);
            let int = a.int;
            a.w().load(&table, int, &at)
        })
        .collect();
    let products: Vec<Val> = loaded
        .windows(2)
        .map(|pair| {
            let upper = a.int_op("arith.shli", &pair[0], &shift);
            let lower = a.int_c("arith.shrui", &pair[1], 1);
            let lower = a.int_op("arith.shrui", &lower, &back);
            let word = a.int_op("arith.ori", &upper, &lower);
            wide_product(a, &m, &word)
        })
        .collect();
    let upper = a.int_c("arith.shli", &products[0], width);
    let lower = a.int_c("arith.shrui", &products[2], width);
    let product = a.int_op("arith.addi", &upper, &products[1]);
    let product = a.int_op("arith.addi", &product, &lower);

    // Two bits of quadrant, rounded; what is left is the signed fraction of it.
    let (one, top) = (a.w().int(double, 1), 2 * width - 2);
    let round = a.int_c("arith.shli", &one, top - 1);
    let rounded = a.int_op("arith.addi", &product, &round);
    let quadrant = a.int_c("arith.shrui", &rounded, top);
    let whole = a.int_c("arith.shli", &quadrant, top);
    let fraction = a.int_op("arith.subi", &product, &whole);
    let quadrant = narrow(a, &quadrant);
    let sign = a.int_c("arith.shrsi", &fraction, 2 * width - 1);
    let fraction = a.int_op("arith.xori", &fraction, &sign);
    let fraction = a.int_op("arith.subi", &fraction, &sign);
    let sign = narrow(a, &sign);
    let sign = a.int_c("arith.shli", &sign, width - 1);

    // The fraction as a sum of two floats: the leading bits of its upper word, and the others.
    let upper = a.int_c("arith.shrui", &fraction, width);
    let upper = narrow(a, &upper);
    let cut = width - mantissa;
    let leading = a.int_c("arith.andi", &upper, -1 << cut);
    let others = a.int_op("arith.subi", &upper, &leading);
    let lower = narrow(a, &fraction);
    let lower = a.int_c("arith.shrui", &lower, 1);
    let unit = 2f64.powi(2 - width as i32);
    let leading = to_float(a, &leading, unit);
    let others = to_float(a, &others, unit);
    let lower = to_float(a, &lower, unit * 2f64.powi(1 - width as i32));
    let others = a.add(&others, &lower);
    let (h, l) = a.fast_two_sum(&leading, &others);

    // Times pi/2.
    let (pi_high, pi_low) =
        (a.pick(HALF_PI_HIGH[0], HALF_PI_HIGH[1]), a.pick(HALF_PI_LOW[0], HALF_PI_LOW[1]));
    let (pi_high, pi_low) = (a.c(pi_high), a.c(pi_low));
    let (high, error) = a.two_mul(&h, &pi_high);
    let error = a.fma(&h, &pi_low, &error);
    let error = a.fma(&l, &pi_high, &error);
    let (high, low) = a.fast_two_sum(&high, &error);
    let signed = |a: &mut Arith, v: &Val| {
        let bits = a.bits(v);
        let bits = a.int_op("arith.xori", &bits, &sign);
        a.from_bits(&bits)
    };
    let (high, low) = (signed(a, &high), signed(a, &low));

    // Small arguments are their own remainder.
    let small = a.test("olt", size, std::f64::consts::FRAC_PI_4);
    let (zero, none) = (a.c(0.0), a.i(0));
    Reduced {
        quadrant: a.sel(&small, &none, &quadrant),
        high: a.sel(&small, size, &high),
        low: a.sel(&small, &zero, &low),
    }
}

/// The product of two unsigned words, in twice their width.
fn wide_product(a: &mut Arith, x: &Val, y: &Val) -> Val {
    let width = a.width;
    let double = Ty::Int(2 * width as u32);
    let wide = |a: &mut Arith, v: &Val| a.w().convert("arith.extui", v, double);
    if width == 32 || a.e.target.pointer_bits == 64 {
        let (x, y) = (wide(a, x), wide(a, y));
        return a.int_op("arith.muli", &x, &y);
    }
    // 128-bit multiplication would be a call there: by halves.
    let halves = |a: &mut Arith, v: &Val| {
        let high = a.int_c("arith.shrui", v, 32);
        (high, a.int_c("arith.andi", v, 0xffff_ffff))
    };
    let ((xh, xl), (yh, yl)) = (halves(a, x), halves(a, y));
    let mut sum = a.w().int(double, 0);
    for (p, q, shift) in [(&xh, &yh, 64), (&xh, &yl, 32), (&xl, &yh, 32), (&xl, &yl, 0)] {
        let product = a.int_op("arith.muli", p, q);
        let product = wide(a, &product);
        let product = a.int_c("arith.shli", &product, shift);
        sum = a.int_op("arith.addi", &sum, &product);
    }
    sum
}

fn narrow(a: &mut Arith, v: &Val) -> Val {
    let int = a.int;
    a.w().convert("arith.trunci", v, int)
}

/// A non-negative integer times a power of two.
fn to_float(a: &mut Arith, v: &Val, unit: f64) -> Val {
    let ty = a.ty;
    let v = a.w().convert("arith.sitofp", v, ty);
    let unit = a.c(unit);
    a.mul(&v, &unit)
}
