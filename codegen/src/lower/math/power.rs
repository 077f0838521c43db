//! Powers. x^y = exp(y * log|x|) with a logarithm of twice the width's precision (2 atanh(s) as in log.rs, its leading
//! terms as unevaluated sums of two floats); f32 takes plain f64 instead where the target has it.

use super::super::emitter::Emitter;
use super::super::writer::{F32, F64, Ty, Val};
use super::arith::{Arith, Coefficients};
use super::exp::{LN2_HIGH, LN2_LOW, exp, exp_scaled};
use super::log::{decompose, log};
use super::rounding::{To, round};
use tcc_ir::DType;

/// ((2 atanh(s) / s - 2) / z - 2/3) / z with z = s^2.
const TAIL: Coefficients = Coefficients {
    f32: &[0.399999999045855935, 0.285715321060358828, 0.222047299140123514, 0.191213299610853777],
    f64: &[
        0.399999999999999998,
        0.285714285714293713,
        0.222222222216527653,
        0.181818183360998462,
        0.153845948870071794,
        0.133348087988123387,
        0.117061264645633972,
        0.117243270608467466,
    ],
};

const TWO_THIRDS: [(f64, f64); 2] =
    [(0.6666666865348816, -1.9868215517249155e-08), (0.6666666666666666, 3.700743415417188e-17)];

/// IEEE 754's pow: 1 for an exponent of 0 or a base of 1, whatever the other is; NaN for a fraction of a negative.
pub fn pow(e: &mut Emitter, x: &Val, y: &Val) -> Val {
    let size = e.w.un("math.absf", x);
    let power = if x.ty == F32 && e.target.can.f64 {
        let (wide_x, wide_y) = (e.w.convert("arith.extf", &size, F64), e.w.convert("arith.extf", y, F64));
        let a = &mut Arith::new(e, F64);
        let log = log(a, &wide_x);
        let product = a.mul(&log, &wide_y);
        let power = exp(a, &product);
        e.w.convert("arith.truncf", &power, F32)
    } else {
        positive(&mut Arith::new(e, x.ty), &size, y)
    };
    let whole = round(e, To::Zero, y);
    let half = e.w.float(y.ty, 0.5);
    let halved = e.w.bin("arith.mulf", y, &half);
    let half_whole = round(e, To::Zero, &halved);
    let a = &mut Arith::new(e, x.ty);
    let is_whole = a.cmp("oeq", &whole, y);
    let is_even = a.cmp("oeq", &half_whole, &halved);
    // |x| = 1 or y = 0 give 1, though the product above may be 0 * infinity.
    let (unit, no_power) = (a.test("oeq", &size, 1.0), a.test("oeq", y, 0.0));
    let trivial = a.int_op("arith.ori", &unit, &no_power);
    let power = a.sel_c(&trivial, 1.0, &power);
    // Odd exponents keep the sign of the base, other integers drop it.
    let signed = a.copysign(&power, x);
    let power = a.sel(&is_even, &power, &signed);
    let absolute = a.abs(&power);
    let power = a.sel(&is_whole, &power, &absolute);
    // A fraction of a negative finite number.
    let fraction = a.cmp("one", &whole, y);
    let (below, above) = (a.test("olt", x, 0.0), a.test("ogt", x, f64::NEG_INFINITY));
    let bad = a.int_op("arith.andi", &below, &above);
    let bad = a.int_op("arith.andi", &bad, &fraction);
    let power = a.sel_c(&bad, f64::NAN, &power);
    let either = a.cmp("uno", x, y);
    let power = a.sel_c(&either, f64::NAN, &power);
    let base_one = a.test("oeq", x, 1.0);
    let one_anyway = a.int_op("arith.ori", &base_one, &no_power);
    a.sel_c(&one_anyway, 1.0, &power)
}

/// exp(y * log x) for x >= 0.
fn positive(a: &mut Arith, x: &Val, y: &Val) -> Val {
    let (high, low) = log_of_two_parts(a, x);
    let infinite = a.test("oeq", x, f64::INFINITY);
    let high = a.sel(&infinite, x, &high);
    let is_zero = a.test("oeq", x, 0.0);
    let high = a.sel_c(&is_zero, f64::NEG_INFINITY, &high);
    let (e, error) = a.two_mul(y, &high);
    let tail = a.fma(y, &low, &error);
    // Beyond the range of exp the low part means nothing, and may be NaN.
    let size = a.abs(&e);
    let limit = a.pick(120.0, 800.0);
    let inside = a.test("olt", &size, limit);
    let zero = a.c(0.0);
    let tail = a.sel(&inside, &tail, &zero);
    exp_scaled(a, &e, Some(&tail), 0)
}

/// log x as the sum of two floats.
fn log_of_two_parts(a: &mut Arith, x: &Val) -> (Val, Val) {
    let (k, f) = decompose(a, x);
    let two = a.c(2.0);
    // s = f / (2 + f)
    let (below, below_low) = a.fast_two_sum(&two, &f);
    let s = a.div(&f, &below);
    let (product, error) = a.two_mul(&s, &below);
    let rest = a.sub(&f, &product);
    let rest = a.sub(&rest, &error);
    let cross = a.mul(&s, &below_low);
    let rest = a.sub(&rest, &cross);
    let s_low = a.div(&rest, &below);
    // z = s^2
    let (z, z_low) = a.two_mul(&s, &s);
    let twice = a.add(&s, &s);
    let z_low = a.fma(&twice, &s_low, &z_low);
    // p = 2/3 + z * tail
    let tail = a.polynomial(&z, &TAIL);
    let tail = a.mul(&tail, &z);
    let (third, third_low) = a.pick(TWO_THIRDS[0], TWO_THIRDS[1]);
    let (third, third_low) = (a.c(third), a.c(third_low));
    let (p, p_low) = a.fast_two_sum(&third, &tail);
    let p_low = a.add(&p_low, &third_low);
    // log(1 + f) = 2s + s*z*p
    let product = |a: &mut Arith, (x, x_low): (&Val, &Val), (y, y_low): (&Val, &Val)| {
        let (high, low) = a.two_mul(x, y);
        let low = a.fma(x, y_low, &low);
        (high, a.fma(x_low, y, &low))
    };
    let (v, v_low) = product(a, (&z, &z_low), (&p, &p_low));
    let (v, v_low) = product(a, (&s, &s_low), (&v, &v_low));
    let (m, m_low) = a.fast_two_sum(&twice, &v);
    let m_low = a.add(&m_low, &v_low);
    let m_low = a.fma(&two, &s_low, &m_low);
    // + k * ln 2
    let (high, low) = (a.pick(LN2_HIGH[0], LN2_HIGH[1]), a.pick(LN2_LOW[0], LN2_LOW[1]));
    let (high, low) = (a.c(high), a.c(low));
    let whole = a.mul(&k, &high);
    let (sum, error) = a.two_sum(&whole, &m);
    let error = a.add(&error, &m_low);
    let error = a.fma(&k, &low, &error);
    a.fast_two_sum(&sum, &error)
}

/// Integer power by squaring, wrapping; a negative exponent truncates the exact result toward zero.
pub fn int_pow(e: &mut Emitter, dtype: DType, base: &Val, exponent: &Val) -> Val {
    let ty: Ty = base.ty;
    let w = &mut e.w;
    let (zero, one) = (w.int(ty, 0), w.int(ty, 1));
    let negative = dtype.is_signed_int().then(|| w.cmp("slt", exponent, &zero));
    let left = match &negative {
        Some(n) => w.select(n, &zero, exponent),
        None => exponent.clone(),
    };
    let [acc, square, n] = [w.fresh(), w.fresh(), w.fresh()];
    let types = format!("{ty}, {ty}, {ty}");
    let result = w.fresh();
    w.line(format_args!(
        "{result}:3 = scf.while ({acc} = {one}, {square} = {base}, {n} = {left}) : ({types}) -> ({types}) {{"
    ));
    let [acc, square, n] = [acc, square, n].map(|name| Val::named(&name, ty));
    let more = w.cmp("ne", &n, &zero);
    w.line(format_args!("scf.condition({more}) {acc}, {square}, {n} : {types}"));
    w.line("} do {");
    let inside = [w.fresh(), w.fresh(), w.fresh()].map(|name| Val::named(&name, ty));
    let [acc, square, n] = &inside;
    w.line(format_args!("^bb0({acc}: {ty}, {square}: {ty}, {n}: {ty}):"));
    let bit = w.bin("arith.andi", n, &one);
    let odd = w.cmp("ne", &bit, &zero);
    let product = w.bin("arith.muli", acc, square);
    let acc = w.select(&odd, &product, acc);
    let square = w.bin("arith.muli", square, square);
    let n = w.bin("arith.shrui", n, &one);
    w.line(format_args!("scf.yield {acc}, {square}, {n} : {types}"));
    w.line("}");
    let power = Val::named(&format!("{result}#0"), ty);
    let Some(negative) = negative else { return power };
    // 1/base truncated is 0, but for 1 and -1.
    let bit = w.bin("arith.andi", exponent, &one);
    let odd = w.cmp("ne", &bit, &zero);
    let minus = w.int(ty, -1);
    let of_minus = w.select(&odd, &minus, &one);
    let (is_one, is_minus) = (w.cmp("eq", base, &one), w.cmp("eq", base, &minus));
    let inverse = w.select(&is_minus, &of_minus, &zero);
    let inverse = w.select(&is_one, &one, &inverse);
    w.select(&negative, &inverse, &power)
}
