//! Math functions as straight-line arithmetic: no target has to have a math library, and LLVM vectorises them.
//!
//! Each function is written once over [`Arith`], which computes in f32 or f64; coefficients are per width.

mod exp;

use super::emitter::Emitter;
use super::writer::{I32, I64, Ty, Val, Writer};
use tcc_ir::DType;
use tcc_ir::ops::{BinaryKind, UnaryKind};

/// `kind` of a float.
pub fn unary(e: &mut Emitter, kind: UnaryKind, x: &Val) -> Val {
    use UnaryKind::*;
    let w = &mut e.w;
    match kind {
        Neg => w.un("arith.negf", x),
        Abs => w.un("math.absf", x),
        Ceil => w.un("math.ceil", x),
        Floor => w.un("math.floor", x),
        Round => w.un("math.roundeven", x),
        Trunc => w.un("math.trunc", x),
        Sqrt => w.un("math.sqrt", x),
        Reciprocal => {
            let one = w.float(x.ty, 1.0);
            w.bin("arith.divf", &one, x)
        }
        Exp => exp::exp(w, x),
        Sigmoid => {
            let minus = w.un("arith.negf", x);
            let e = exp::exp(w, &minus);
            let one = w.float(x.ty, 1.0);
            let sum = w.bin("arith.addf", &one, &e);
            w.bin("arith.divf", &one, &sum)
        }
        _ => panic!("math function {} isn't expanded yet", kind.name()),
    }
}

/// `kind` of two floats.
pub fn binary(_e: &mut Emitter, kind: BinaryKind, _a: &Val, _b: &Val) -> Val {
    panic!("math function {} isn't expanded yet", kind.name())
}

/// Integer power, wrapping.
pub fn int_pow(_e: &mut Emitter, _dtype: DType, _a: &Val, _b: &Val) -> Val {
    panic!("integer pow isn't expanded yet")
}

/// `c[0] + x*(c[1] + x*(...))` by Horner's rule.
fn polynomial(w: &mut Writer, x: &Val, coefficients: &[f64]) -> Val {
    let (last, rest) = coefficients.split_last().expect("a polynomial has a coefficient");
    let mut acc = w.float(x.ty, *last);
    for c in rest.iter().rev() {
        let c = w.float(x.ty, *c);
        acc = fma(w, &acc, x, &c);
    }
    acc
}

/// `a * b + c`, fused.
fn fma(w: &mut Writer, a: &Val, b: &Val, c: &Val) -> Val {
    w.def(a.ty, format_args!("math.fma {a}, {b}, {c} : {}", a.ty))
}

/// The integer type as wide as a float type.
fn bits_of(ty: Ty) -> Ty {
    if ty == super::writer::F64 { I64 } else { I32 }
}
