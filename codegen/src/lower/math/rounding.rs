//! Rounding to integers, also where the target has no instruction for it.

use super::super::emitter::Emitter;
use super::super::writer::{F32, F64, Val};
use super::arith::Arith;
use crate::target::Arch;

/// Direction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum To {
    Even,
    Zero,
    Down,
    Up,
}

/// `x` rounded to an integer; NaN, infinities and the sign of zero stay.
pub fn round(e: &mut Emitter, to: To, x: &Val) -> Val {
    let can = e.target.can;
    if can.rounding && to == To::Zero && e.target.arch == Arch::Spirv && x.ty == F32 {
        // MLIR takes no truncation to SPIR-V.
        let a = &mut Arith::new(e, x.ty);
        let size = a.abs(x);
        let down = a.w().un("math.floor", &size);
        return a.copysign(&down, x);
    }
    if can.rounding && (x.ty != F64 || can.f64) {
        let op = match to {
            To::Even => "math.roundeven",
            To::Zero => "math.trunc",
            To::Down => "math.floor",
            To::Up => "math.ceil",
        };
        return e.w.un(op, x);
    }
    let a = &mut Arith::new(e, x.ty);
    // Adding 2^mantissa drops the fraction; larger numbers have none.
    let limit = 2f64.powi(a.mantissa as i32);
    let size = a.abs(x);
    let c = a.c(limit);
    let near = a.add(&size, &c);
    let near = a.sub(&near, &c);
    let (one, zero) = (a.c(1.0), a.c(0.0));
    let y = match to {
        To::Even => near,
        To::Zero => {
            let over = a.cmp("ogt", &near, &size);
            let step = a.sel(&over, &one, &zero);
            a.sub(&near, &step)
        }
        To::Down | To::Up => {
            let signed = a.copysign(&near, x);
            let (predicate, move_by) = if to == To::Down { ("ogt", -1.0) } else { ("olt", 1.0) };
            let over = a.cmp(predicate, &signed, x);
            let step = a.sel_c(&over, move_by, &zero);
            a.add(&signed, &step)
        }
    };
    let y = a.copysign(&y, x);
    let small = a.test("olt", &size, limit);
    a.sel(&small, &y, x)
}
