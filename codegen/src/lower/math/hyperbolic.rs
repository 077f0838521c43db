//! Hyperbolic functions and their inverses, from exp, expm1 and log1p as fdlibm does.

use super::super::writer::Val;
use super::arith::{Arith, Coefficients};
use super::exp::{exp_scaled, expm1_below_zero};
use super::log::log1p;

/// (sinh t / t - 1) / z with z = t^2, |t| <= 1.
const SINH: Coefficients = Coefficients {
    f32: &[0.166666666468421343, 0.00833333967591706091, 1.98381019686838893e-4, 2.80628025822769462e-6],
    f64: &[
        0.166666666666666667,
        0.00833333333333329936,
        1.98412698413241979e-4,
        2.7557319191381817e-6,
        2.50521176959078236e-8,
        1.60576796238016377e-10,
        7.74617859301882749e-13,
    ],
};

/// e^|x| / 2 and e^-|x| / 2.
fn halves(a: &mut Arith, size: &Val) -> (Val, Val) {
    let grown = exp_scaled(a, size, None, -1);
    let quarter = a.c(0.25);
    let shrunk = a.div(&quarter, &grown);
    (grown, shrunk)
}

pub fn sinh(a: &mut Arith, x: &Val) -> Val {
    let size = a.abs(x);
    let (grown, shrunk) = halves(a, &size);
    let far = a.sub(&grown, &shrunk);
    let near = odd(a, &size, &SINH);
    let small = a.test("olt", &size, 1.0);
    let y = a.sel(&small, &near, &far);
    a.copysign(&y, x)
}

pub fn cosh(a: &mut Arith, x: &Val) -> Val {
    let size = a.abs(x);
    let (grown, shrunk) = halves(a, &size);
    a.add(&grown, &shrunk)
}

/// -E / (2 + E) with E = e^(-2|x|) - 1.
pub fn tanh(a: &mut Arith, x: &Val) -> Val {
    let size = a.abs(x);
    // Beyond the limit the result rounds to 1.
    let limit = a.pick(10.0, 20.0);
    let beyond = a.test("ogt", &size, limit);
    let size = a.sel_c(&beyond, limit, &size);
    let (two, minus_two) = (a.c(2.0), a.c(-2.0));
    let argument = a.mul(&size, &minus_two);
    let e = expm1_below_zero(a, &argument);
    let below = a.add(&two, &e);
    let y = a.div(&e, &below);
    a.copysign(&y, x)
}

/// x + x^3 * P(x^2).
fn odd(a: &mut Arith, x: &Val, coefficients: &Coefficients) -> Val {
    let z = a.mul(x, x);
    let tail = a.polynomial(&z, coefficients);
    let cube = a.mul(&z, x);
    a.fma(&cube, &tail, x)
}

/// log(|x| + sqrt(x^2 + 1)) = log1p(|x| + x^2 / (1 + sqrt(x^2 + 1))).
pub fn asinh(a: &mut Arith, x: &Val) -> Val {
    let size = a.abs(x);
    let one = a.c(1.0);
    let square = a.mul(&size, &size);
    let root = a.fma(&size, &size, &one);
    let root = a.sqrt(&root);
    let below = a.add(&root, &one);
    let more = a.div(&square, &below);
    let argument = a.add(&size, &more);
    let y = log_of_twice(a, &size, &argument);
    a.copysign(&y, x)
}

/// log(x + sqrt(x^2 - 1)) = log1p(t + sqrt(2t + t^2)) with t = x - 1; NaN below 1.
pub fn acosh(a: &mut Arith, x: &Val) -> Val {
    let (one, two) = (a.c(1.0), a.c(2.0));
    let t = a.sub(x, &one);
    let sum = a.add(&t, &two);
    let square = a.mul(&t, &sum);
    let root = a.sqrt(&square);
    let argument = a.add(&t, &root);
    let y = log_of_twice(a, x, &argument);
    let undefined = a.test("ult", x, 1.0);
    a.sel_c(&undefined, f64::NAN, &y)
}

/// log1p(argument), or log(x) + log(2) where x is so large that the argument is 2x or overflows.
fn log_of_twice(a: &mut Arith, x: &Val, argument: &Val) -> Val {
    let limit = a.pick(2f64.powi(26), 2f64.powi(56));
    let large = a.test("ogt", x, limit);
    let argument = a.sel(&large, x, argument);
    let y = log1p(a, &argument);
    let ln2 = a.c(std::f64::consts::LN_2);
    let more = a.add(&y, &ln2);
    a.sel(&large, &more, &y)
}

/// log1p(2|x| / (1 - |x|)) / 2; NaN beyond -1..1.
pub fn atanh(a: &mut Arith, x: &Val) -> Val {
    let size = a.abs(x);
    let (one, half) = (a.c(1.0), a.c(0.5));
    let below = a.sub(&one, &size);
    let above = a.add(&size, &size);
    let argument = a.div(&above, &below);
    let y = log1p(a, &argument);
    let y = a.mul(&y, &half);
    a.copysign(&y, x)
}
