//! Inverse trigonometric functions: arguments are brought near 0 as in Cephes (atan) and fdlibm (asin, acos), odd
//! polynomials come from Chebyshev interpolation in high precision.

use super::super::writer::Val;
use super::arith::{Arith, Coefficients};

/// (atan t / t - 1) / z with z = t^2, |t| <= tan(pi/8).
const ATAN: Coefficients = Coefficients {
    f32: &[
        -0.333333332792245395,
        0.199999772482335304,
        -0.142841506297302882,
        0.110713545712013515,
        -0.0862459821519612667,
        0.0504793743204009103,
    ],
    f64: &[
        -0.333333333333333332,
        0.199999999999998043,
        -0.142857142856597778,
        0.111111111051505879,
        -0.0909090875325911294,
        0.0769229636804229712,
        -0.0666642476020052014,
        0.0587892755447380676,
        -0.0523044364068694771,
        0.0455154473402216165,
        -0.0345693150633260898,
        0.0162843750500433944,
    ],
};

/// (asin t / t - 1) / z, |t| <= 1/2.
const ASIN: Coefficients = Coefficients {
    f32: &[
        0.166666663365404898,
        0.0750009476117290113,
        0.0445993191628711381,
        0.0311017278290671667,
        0.0171437168192535685,
        0.0337007263213651316,
    ],
    f64: &[
        0.166666666666666678,
        0.0749999999999842426,
        0.0446428571463733809,
        0.0303819441370852143,
        0.0223721730020055974,
        0.0173523912659092279,
        0.0139712353011245391,
        0.0114789526902573867,
        0.010324318288744112,
        0.00545087818772054995,
        0.0174193579648848572,
        -0.0148814093928180666,
        0.0287784426125930408,
    ],
};

/// pi/2 in two parts, f32 and f64.
const HALF_PI: [(f64, f64); 2] =
    [(1.5707963705062866, -4.371138828673793e-08), (std::f64::consts::FRAC_PI_2, 6.123233995736766e-17)];

pub fn atan(a: &mut Arith, x: &Val) -> Val {
    let size = a.abs(x);
    let steep = a.test("ogt", &size, 2.414213562373095);
    let middle = a.test("ogt", &size, 0.41421356237309503);
    let one = a.c(1.0);
    // pi/2 + atan(-1/x), pi/4 + atan((x-1)/(x+1)), or atan(x).
    let (minus, plus) = (a.sub(&size, &one), a.add(&size, &one));
    let above = a.sel(&middle, &minus, &size);
    let above = a.sel_c(&steep, -1.0, &above);
    let below = a.sel(&middle, &plus, &one);
    let below = a.sel(&steep, &size, &below);
    let t = a.div(&above, &below);
    let (high, low) = a.pick(HALF_PI[0], HALF_PI[1]);
    let part = |a: &mut Arith, v: f64| {
        let zero = a.c(0.0);
        let quarter = a.sel_c(&middle, v / 2.0, &zero);
        a.sel_c(&steep, v, &quarter)
    };
    let (high, low) = (part(a, high), part(a, low));
    let z = a.mul(&t, &t);
    let tail = a.polynomial(&z, &ATAN);
    let cube = a.mul(&z, &t);
    let rest = a.fma(&cube, &tail, &low);
    let y = a.add(&rest, &t);
    let y = a.add(&high, &y);
    a.copysign(&y, x)
}

/// t and asin(t) - t for |x| <= 1/2 (t = |x|) or above (t = sqrt((1 - |x|) / 2)), and whether it is above.
fn asin_parts(a: &mut Arith, size: &Val) -> (Val, Val, Val) {
    let (one, half) = (a.c(1.0), a.c(0.5));
    let above = a.test("ogt", size, 0.5);
    let left = a.sub(&one, size);
    let left = a.mul(&left, &half);
    let square = a.mul(size, size);
    let z = a.sel(&above, &left, &square);
    let root = a.sqrt(&left);
    let t = a.sel(&above, &root, size);
    let tail = a.polynomial(&z, &ASIN);
    let tail = a.mul(&tail, &z);
    (t.clone(), a.mul(&t, &tail), above)
}

/// NaN beyond -1..1.
pub fn asin(a: &mut Arith, x: &Val) -> Val {
    let size = a.abs(x);
    let (t, rest, above) = asin_parts(a, &size);
    let (high, low) = a.pick(HALF_PI[0], HALF_PI[1]);
    let (high, low, minus_two) = (a.c(high), a.c(low), a.c(-2.0));
    let near = a.add(&t, &rest);
    // pi/2 - 2 (t + rest)
    let far = a.fma(&minus_two, &rest, &low);
    let base = a.fma(&minus_two, &t, &high);
    let far = a.add(&base, &far);
    let y = a.sel(&above, &far, &near);
    a.copysign(&y, x)
}

/// NaN beyond -1..1.
pub fn acos(a: &mut Arith, x: &Val) -> Val {
    let size = a.abs(x);
    let (t, rest, above) = asin_parts(a, &size);
    let negative = a.test("olt", x, 0.0);
    let (high, low) = a.pick(HALF_PI[0], HALF_PI[1]);
    let (half_high, half_low) = (a.c(high), a.c(low));
    // pi/2 - asin(x)
    let signed_t = a.copysign(&t, x);
    let signed_rest = a.copysign(&rest, x);
    let small = a.sub(&half_low, &signed_rest);
    let near = a.sub(&small, &signed_t);
    let near = a.add(&half_high, &near);
    // 2 asin(t), or pi - that.
    let whole = a.add(&t, &rest);
    let twice = a.add(&whole, &whole);
    let (pi_high, pi_low) = (a.c(2.0 * high), a.c(2.0 * low));
    let other = a.sub(&pi_low, &twice);
    let other = a.add(&pi_high, &other);
    let far = a.sel(&negative, &other, &twice);
    a.sel(&above, &far, &near)
}
