//! What math functions are written with: float and integer operations of one width, f32 or f64.
//!
//! A function is written once; where the widths differ, it picks from [`Coefficients`] or [`Arith::pick`].

use super::super::emitter::Emitter;
use super::super::writer::{F32, F64, I32, I64, Ty, Val, Writer};
use crate::target::Arch;

/// A polynomial for each width, constant term first.
pub struct Coefficients {
    pub f32: &'static [f64],
    pub f64: &'static [f64],
}

/// Writes operations of one width into an emitter's body.
pub struct Arith<'a, 'k> {
    pub e: &'a mut Emitter<'k>,
    /// The float type.
    pub ty: Ty,
    /// The integer type of the same width.
    pub int: Ty,
    /// Width in bits.
    pub width: i64,
    /// Explicit bits of the mantissa.
    pub mantissa: i64,
    /// Exponent bias.
    pub bias: i64,
}

impl<'a, 'k> Arith<'a, 'k> {
    /// Operations on floats of type `ty`: f32 or f64.
    pub fn new(e: &'a mut Emitter<'k>, ty: Ty) -> Self {
        match ty {
            F64 => Arith { e, ty, int: I64, width: 64, mantissa: 52, bias: 1023 },
            _ => Arith { e, ty, int: I32, width: 32, mantissa: 23, bias: 127 },
        }
    }

    pub fn w(&mut self) -> &mut Writer {
        &mut self.e.w
    }

    /// The width's own of two values.
    pub fn pick<T>(&self, f32: T, f64: T) -> T {
        if self.ty == F64 { f64 } else { f32 }
    }

    /// A float constant.
    pub fn c(&mut self, v: f64) -> Val {
        let ty = self.ty;
        self.e.w.float(ty, v)
    }

    /// An integer constant of the float's width.
    pub fn i(&mut self, v: i64) -> Val {
        let int = self.int;
        self.e.w.int(int, v)
    }

    pub fn add(&mut self, a: &Val, b: &Val) -> Val {
        self.e.w.bin("arith.addf", a, b)
    }

    pub fn sub(&mut self, a: &Val, b: &Val) -> Val {
        self.e.w.bin("arith.subf", a, b)
    }

    pub fn mul(&mut self, a: &Val, b: &Val) -> Val {
        self.e.w.bin("arith.mulf", a, b)
    }

    pub fn div(&mut self, a: &Val, b: &Val) -> Val {
        self.e.w.bin("arith.divf", a, b)
    }

    pub fn neg(&mut self, a: &Val) -> Val {
        self.e.w.un("arith.negf", a)
    }

    pub fn abs(&mut self, a: &Val) -> Val {
        self.e.abs(a)
    }

    pub fn sqrt(&mut self, a: &Val) -> Val {
        self.e.sqrt(a)
    }

    /// `magnitude` with the sign of `sign`.
    pub fn copysign(&mut self, magnitude: &Val, sign: &Val) -> Val {
        // MLIR takes no such operation on f64 to SPIR-V.
        if self.e.target.arch == Arch::Spirv && self.ty == F64 {
            let (size, sign) = (self.abs(magnitude), self.bits(sign));
            let (size, sign) = (self.bits(&size), self.int_c("arith.andi", &sign, i64::MIN));
            let bits = self.int_op("arith.ori", &size, &sign);
            return self.from_bits(&bits);
        }
        self.e.w.bin("math.copysign", magnitude, sign)
    }

    /// `a * b + c`: rounded once where the target has such an instruction, else twice.
    pub fn fma(&mut self, a: &Val, b: &Val, c: &Val) -> Val {
        if self.e.target.can.fma {
            return self.e.w.def(a.ty, format_args!("math.fma {a}, {b}, {c} : {}", a.ty));
        }
        let product = self.mul(a, b);
        self.add(&product, c)
    }

    /// `a <predicate> b`, of floats or of integers.
    pub fn cmp(&mut self, predicate: &str, a: &Val, b: &Val) -> Val {
        self.e.w.cmp(predicate, a, b)
    }

    /// `a <predicate> constant`, of floats.
    pub fn test(&mut self, predicate: &str, a: &Val, constant: f64) -> Val {
        let c = self.c(constant);
        self.e.w.cmp(predicate, a, &c)
    }

    /// `cond ? a : b`.
    pub fn sel(&mut self, cond: &Val, a: &Val, b: &Val) -> Val {
        self.e.w.select(cond, a, b)
    }

    /// `cond ? constant : b`.
    pub fn sel_c(&mut self, cond: &Val, constant: f64, b: &Val) -> Val {
        let c = self.c(constant);
        self.e.w.select(cond, &c, b)
    }

    /// An integer operation with a constant.
    pub fn int_c(&mut self, op: &str, a: &Val, constant: i64) -> Val {
        let c = self.e.w.int(a.ty, constant);
        self.e.w.bin(op, a, &c)
    }

    /// An integer or boolean operation.
    pub fn int_op(&mut self, op: &str, a: &Val, b: &Val) -> Val {
        self.e.w.bin(op, a, b)
    }

    /// The bits of a float.
    pub fn bits(&mut self, a: &Val) -> Val {
        let int = self.int;
        self.e.w.convert("arith.bitcast", a, int)
    }

    /// The float of these bits.
    pub fn from_bits(&mut self, a: &Val) -> Val {
        let ty = self.ty;
        self.e.w.convert("arith.bitcast", a, ty)
    }

    /// 2^n of an integer n in the range of normal exponents.
    pub fn power_of_two(&mut self, n: &Val) -> Val {
        let biased = self.int_c("arith.addi", n, self.bias);
        let bits = self.int_c("arith.shli", &biased, self.mantissa);
        self.from_bits(&bits)
    }

    /// Two powers of two whose product is 2^n, for n in twice the range of normal exponents: multiplying by one after the
    /// other rounds once where the result is subnormal.
    pub fn powers_of_two(&mut self, n: &Val) -> [Val; 2] {
        let half = self.int_c("arith.shrsi", n, 1);
        let rest = self.int_op("arith.subi", n, &half);
        [half, rest].map(|n| self.power_of_two(&n))
    }

    /// `c[0] + x*(c[1] + x*(...))` by Horner's rule.
    pub fn polynomial(&mut self, x: &Val, c: &Coefficients) -> Val {
        let c = self.pick(c.f32, c.f64);
        self.horner(x, c)
    }

    pub fn horner(&mut self, x: &Val, coefficients: &[f64]) -> Val {
        let (last, rest) = coefficients.split_last().expect("a polynomial has a coefficient");
        let mut acc = self.c(*last);
        for c in rest.iter().rev() {
            let c = self.c(*c);
            acc = self.fma(&acc, x, &c);
        }
        acc
    }

    /// `a + b` and its rounding error, for |a| >= |b| or a = 0.
    pub fn fast_two_sum(&mut self, a: &Val, b: &Val) -> (Val, Val) {
        let sum = self.add(a, b);
        let taken = self.sub(&sum, a);
        (sum, self.sub(b, &taken))
    }

    /// `a + b` and its rounding error.
    pub fn two_sum(&mut self, a: &Val, b: &Val) -> (Val, Val) {
        let sum = self.add(a, b);
        let b_part = self.sub(&sum, a);
        let a_part = self.sub(&sum, &b_part);
        let (b_left, a_left) = (self.sub(b, &b_part), self.sub(a, &a_part));
        let error = self.add(&a_left, &b_left);
        (sum, error)
    }

    /// `a * b` and its rounding error; without fused multiply-add by Dekker's splitting.
    pub fn two_mul(&mut self, a: &Val, b: &Val) -> (Val, Val) {
        let product = self.mul(a, b);
        if self.e.target.can.fma {
            let minus = self.neg(&product);
            let error = self.fma(a, b, &minus);
            return (product, error);
        }
        let ((ah, al), (bh, bl)) = (self.split(a), self.split(b));
        let high = self.mul(&ah, &bh);
        let error = self.sub(&high, &product);
        let cross = self.mul(&ah, &bl);
        let error = self.add(&error, &cross);
        let cross = self.mul(&al, &bh);
        let error = self.add(&error, &cross);
        let low = self.mul(&al, &bl);
        (product, self.add(&error, &low))
    }

    /// Upper and lower half of the mantissa, by masking.
    fn split(&mut self, a: &Val) -> (Val, Val) {
        let bits = self.bits(a);
        let mask = self.pick(-1i64 << 12, -1i64 << 27);
        let high = self.int_c("arith.andi", &bits, mask);
        let high = self.from_bits(&high);
        let low = self.sub(a, &high);
        (high, low)
    }
}

/// `f` computed in f64 where `x` is f32 and the target has f64: the rounded result is then nearly exact.
pub fn in_double(e: &mut Emitter, x: &Val, f: impl FnOnce(&mut Arith, &Val) -> Val) -> Val {
    if x.ty == F64 || !e.target.can.f64 {
        return f(&mut Arith::new(e, x.ty), x);
    }
    let wide = e.w.convert("arith.extf", x, F64);
    let y = f(&mut Arith::new(e, F64), &wide);
    e.w.convert("arith.truncf", &y, F32)
}
