//! Math functions as straight-line arithmetic: no target has to have a math library, and LLVM vectorises them.
//!
//! Each function is written once over [`Arith`], which computes in f32 or f64; coefficients are per width. f32 results
//! are within 2.5 units in the last place (pow 4) and f64 within 4, where multiply-add is fused.

mod arith;
mod erf;
mod exp;
mod hyperbolic;
mod inverse_trig;
mod log;
mod power;
mod remainder;
mod rounding;
#[cfg(test)]
pub mod tests;
mod trig;

pub use power::int_pow;
pub use rounding::{To, round};

use super::emitter::Emitter;
use super::writer::Val;
use arith::{Arith, in_double};
use tcc_ir::ops::{BinaryKind, UnaryKind};
use trig::{Trig, trig};

/// `kind` of a float, f32 or f64.
pub fn unary(e: &mut Emitter, kind: UnaryKind, x: &Val) -> Val {
    use UnaryKind::*;
    match kind {
        Ceil => return round(e, To::Up, x),
        Floor => return round(e, To::Down, x),
        Round => return round(e, To::Even, x),
        Trunc => return round(e, To::Zero, x),
        Asinh => return in_double(e, x, hyperbolic::asinh),
        Acosh => return in_double(e, x, hyperbolic::acosh),
        Atanh => return in_double(e, x, hyperbolic::atanh),
        _ => {}
    }
    let a = &mut Arith::new(e, x.ty);
    match kind {
        Neg => a.neg(x),
        Abs => a.abs(x),
        Sign => {
            let (positive, negative) = (a.test("ogt", x, 0.0), a.test("olt", x, 0.0));
            let y = a.sel_c(&negative, -1.0, x);
            a.sel_c(&positive, 1.0, &y)
        }
        Sqrt => a.sqrt(x),
        Reciprocal => {
            let one = a.c(1.0);
            a.div(&one, x)
        }
        Exp => exp::exp(a, x),
        Expm1 => exp::expm1(a, x),
        Sigmoid => exp::sigmoid(a, x),
        Log => log::log(a, x),
        Log1p => log::log1p(a, x),
        Sin => trig(a, Trig::Sin, x),
        Cos => trig(a, Trig::Cos, x),
        Tan => trig(a, Trig::Tan, x),
        Asin => inverse_trig::asin(a, x),
        Acos => inverse_trig::acos(a, x),
        Atan => inverse_trig::atan(a, x),
        Sinh => hyperbolic::sinh(a, x),
        Cosh => hyperbolic::cosh(a, x),
        Tanh => hyperbolic::tanh(a, x),
        Erf => erf::erf(a, x),
        Not => a.c(f64::NAN),
        Ceil | Floor | Round | Trunc | Asinh | Acosh | Atanh => unreachable!("done above"),
        IsNan => unreachable!("gives a bool: the caller's"),
    }
}

/// `kind` of two floats; arithmetic that is one instruction is the caller's.
pub fn binary(e: &mut Emitter, kind: BinaryKind, x: &Val, y: &Val) -> Val {
    match kind {
        BinaryKind::Pow => power::pow(e, x, y),
        BinaryKind::Rem => remainder::fmod(e, x, y),
        BinaryKind::Mod => remainder::floor_mod(e, x, y),
        // Bit operations have no meaning on floats.
        _ => e.w.float(x.ty, f64::NAN),
    }
}
