//! Remainders of floats, exact for every pair: long division of the mantissas in integers.

use super::super::emitter::Emitter;
use super::super::writer::{F64, I32, I64, Ty, Val};
use super::arith::Arith;

/// C's fmod: the sign of the dividend; NaN for a divisor of 0 or an infinite dividend.
pub fn fmod(e: &mut Emitter, x: &Val, y: &Val) -> Val {
    // The wider the integer, the more quotient bits a step gives.
    let wide = if x.ty == F64 || e.target.can.i64_division { I64 } else { I32 };
    let Ty::Int(bits) = wide else { unreachable!("an integer type") };
    let a = &mut Arith::new(e, x.ty);
    let step = i64::from(bits) - a.mantissa - 1;
    let (x_size, y_size) = (a.abs(x), a.abs(y));
    let (mx, ex) = fields(a, &x_size, wide);
    let (my, ey) = fields(a, &y_size, wide);
    let (zero, one) = (a.w().int(wide, 0), a.w().int(wide, 1));
    let is_zero = a.cmp("eq", &my, &zero);
    let divisor = a.sel(&is_zero, &one, &my);
    // |x| < |y| is its own remainder: then there is nothing to shift.
    let distance = a.int_op("arith.subi", &ex, &ey);
    let none = a.i(0);
    let distance = a.int_op("arith.maxsi", &distance, &none);
    let step_int = a.i(step);
    let steps = a.int_op("arith.divui", &distance, &step_int);
    let first = a.int_op("arith.remui", &distance, &step_int);
    let first = resize(a, &first, wide);
    let r = a.int_op("arith.remui", &mx, &divisor);
    let r = a.int_op("arith.shli", &r, &first);
    let r = a.int_op("arith.remui", &r, &divisor);
    let w = a.w();
    let (lo, by) = (w.index(0), w.index(1));
    let hi = w.index_cast(&steps, Ty::Index);
    let open = w.open_for((&lo, &hi, &by), &[r]);
    let amount = w.int(wide, step);
    let shifted = w.bin("arith.shli", &open.carried[0], &amount);
    let next = w.bin("arith.remui", &shifted, &divisor);
    let r = w.close_for(open, &[next]).remove(0);
    // r * 2^(exponent of y): exact, as r has no more bits than y.
    let r = resize(a, &r, a.int);
    let ty = a.ty;
    let r = a.w().convert("arith.sitofp", &r, ty);
    let power = a.int_c("arith.subi", &ey, a.bias + a.mantissa);
    let [first, second] = a.powers_of_two(&power);
    let r = a.mul(&r, &first);
    let r = a.mul(&r, &second);
    let below = a.cmp("olt", &x_size, &y_size);
    let r = a.sel(&below, &x_size, &r);
    let (finite, nonzero) = (a.test("olt", &x_size, f64::INFINITY), a.test("ogt", &y_size, 0.0));
    let defined = a.int_op("arith.andi", &finite, &nonzero);
    let nan = a.c(f64::NAN);
    let r = a.sel(&defined, &r, &nan);
    a.copysign(&r, x)
}

/// Python's %: the sign of the divisor, also of a zero.
pub fn floor_mod(e: &mut Emitter, x: &Val, y: &Val) -> Val {
    let r = fmod(e, x, y);
    let a = &mut Arith::new(e, x.ty);
    let nonzero = a.test("une", &r, 0.0);
    let (r_negative, y_negative) = (a.test("olt", &r, 0.0), a.test("olt", y, 0.0));
    let differ = a.int_op("arith.xori", &r_negative, &y_negative);
    let fix = a.int_op("arith.andi", &nonzero, &differ);
    let moved = a.add(&r, y);
    let r = a.sel(&fix, &moved, &r);
    let zero = a.copysign(&r, y);
    a.sel(&nonzero, &r, &zero)
}

/// Mantissa with its implicit bit, in `wide`, and biased exponent, of a non-negative float; subnormals have
/// exponent 1.
fn fields(a: &mut Arith, x: &Val, wide: Ty) -> (Val, Val) {
    let bits = a.bits(x);
    let exponent = a.int_c("arith.shrui", &bits, a.mantissa);
    let (zero, one) = (a.i(0), a.i(1));
    let subnormal = a.cmp("eq", &exponent, &zero);
    let m = a.int_c("arith.andi", &bits, (1 << a.mantissa) - 1);
    let implicit = a.i(1 << a.mantissa);
    let implicit = a.sel(&subnormal, &zero, &implicit);
    let m = a.int_op("arith.ori", &m, &implicit);
    let exponent = a.sel(&subnormal, &one, &exponent);
    (resize(a, &m, wide), exponent)
}

fn resize(a: &mut Arith, v: &Val, to: Ty) -> Val {
    match (v.ty, to) {
        (Ty::Int(from), Ty::Int(bits)) if from < bits => a.w().convert("arith.extui", v, to),
        (Ty::Int(from), Ty::Int(bits)) if from > bits => a.w().convert("arith.trunci", v, to),
        _ => v.clone(),
    }
}
