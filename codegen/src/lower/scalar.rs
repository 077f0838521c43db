//! Scalar expressions of kernels as arith operations.

use super::emitter::{Emitter, Memory};
use super::repr::{self, register};
use super::writer::{F32, F64, I1, I64, Ty, Val, Writer};
use crate::gpu;
use crate::target::Arch;
use tcc_ir::kernel::{ExprId, Scalar, Stage};
use tcc_ir::ops::{BinaryKind, UnaryKind};
use tcc_ir::{Cmp, DType};

impl Emitter<'_> {
    /// The value of an expression at the present point. Computed once a scope.
    pub fn eval(&mut self, stage: &Stage, id: ExprId) -> Val {
        if let Some(v) = self.known.get(&id).or_else(|| self.hoisted.get(&id)) {
            return v.clone();
        }
        let v = self.compute(stage, id);
        self.known.insert(id, v.clone());
        v
    }

    fn compute(&mut self, stage: &Stage, id: ExprId) -> Val {
        let kernel = self.kernel;
        let dtype = kernel.dtype(stage, id);
        match kernel.expr(id) {
            Scalar::Float(d, v) => self.w.float(register(*d), v.0),
            Scalar::Int(d, v) => self.w.int(register(*d), *v),
            Scalar::Axis(a) => self.axis(*a),
            Scalar::Dim(d) => self.dim(d),
            Scalar::Load { buffer, index, guard } => {
                let at = self.position(stage, *buffer, index);
                let guard = guard.map(|g| self.eval(stage, g));
                let guard = match (guard, self.reached.clone()) {
                    (Some(a), Some(b)) => Some(self.w.bin("arith.andi", &a, &b)),
                    (a, b) => a.or(b),
                };
                match guard {
                    None => self.load(*buffer, &at),
                    Some(guard) => self.load_if(*buffer, &at, &guard),
                }
            }
            Scalar::Unary(kind, a) => {
                let from = kernel.dtype(stage, *a);
                let a = self.eval(stage, *a);
                let raw = self.unary(*kind, from, &a);
                if *kind == UnaryKind::IsNan { raw } else { self.settle(dtype, &raw) }
            }
            Scalar::Binary(kind, a, b) => {
                let (a, b) = (self.eval(stage, *a), self.eval(stage, *b));
                let raw = self.binary(*kind, dtype, &a, &b);
                self.settle(dtype, &raw)
            }
            Scalar::Compare(cmp, a, b) => {
                let from = kernel.dtype(stage, *a);
                let (a, b) = (self.eval(stage, *a), self.eval(stage, *b));
                self.w.cmp(predicate(*cmp, from), &a, &b)
            }
            Scalar::Select(c, a, b) => {
                let c = self.eval(stage, *c);
                let (a, b) = (self.eval(stage, *a), self.eval(stage, *b));
                self.w.select(&c, &a, &b)
            }
            Scalar::Cast(to, a) => {
                let from = kernel.dtype(stage, *a);
                let a = self.eval(stage, *a);
                self.cast(from, *to, &a)
            }
            Scalar::Bitcast(to, a) => {
                let from = kernel.dtype(stage, *a);
                let a = self.eval(stage, *a);
                self.bitcast(from, *to, &a)
            }
            Scalar::Acc(i) => self.accs[*i as usize].clone(),
            Scalar::AccBefore(i) => self.accs_before[*i as usize].clone(),
            Scalar::Check { cond, value } => {
                let cond = self.eval(stage, *cond);
                self.check(&cond);
                let value = self.eval(stage, *value);
                // What follows may use the value as an index: keep it harmless.
                let zero = self.zero(dtype);
                self.w.select(&cond, &value, &zero)
            }
        }
    }

    pub fn abs(&mut self, a: &Val) -> Val {
        let op = if self.is_spirv_f64(a) { "spirv.GL.FAbs" } else { "math.absf" };
        self.w.un(op, a)
    }

    pub fn sqrt(&mut self, a: &Val) -> Val {
        let op = if self.is_spirv_f64(a) { "spirv.GL.Sqrt" } else { "math.sqrt" };
        self.w.un(op, a)
    }

    /// MLIR takes operations of the math dialect to SPIR-V for narrower types only.
    fn is_spirv_f64(&self, a: &Val) -> bool {
        self.target.arch == Arch::Spirv && a.ty == F64
    }

    pub fn zero(&mut self, dtype: DType) -> Val {
        match register(dtype) {
            ty @ Ty::Float(_) => self.w.float(ty, 0.0),
            ty => self.w.int(ty, 0),
        }
    }

    /// Rounds or wraps a raw result to its type.
    pub fn settle(&mut self, dtype: DType, v: &Val) -> Val {
        repr::settle(&mut self.w, dtype, v, &self.target.can)
    }

    fn unary(&mut self, kind: UnaryKind, dtype: DType, a: &Val) -> Val {
        use UnaryKind::*;
        let w = &mut self.w;
        if !dtype.is_float() {
            let zero = w.int(a.ty, 0);
            return match kind {
                Neg => w.bin("arith.subi", &zero, a),
                Abs if dtype.is_unsigned_int() => a.clone(),
                Abs => {
                    let minus = w.bin("arith.subi", &zero, a);
                    let negative = w.cmp("slt", a, &zero);
                    w.select(&negative, &minus, a)
                }
                Sign => {
                    let (one, minus) = (w.int(a.ty, 1), w.int(a.ty, -1));
                    let is_zero = w.cmp("eq", a, &zero);
                    let sign = if dtype.is_unsigned_int() {
                        one
                    } else {
                        let negative = w.cmp("slt", a, &zero);
                        w.select(&negative, &minus, &one)
                    };
                    w.select(&is_zero, &zero, &sign)
                }
                Not => {
                    let ones = w.int(a.ty, if a.ty == I1 { 1 } else { -1 });
                    w.bin("arith.xori", a, &ones)
                }
                _ => a.clone(),
            };
        }
        match kind {
            IsNan => w.cmp("uno", a, a),
            _ => super::math::unary(self, kind, a),
        }
    }

    pub fn binary(&mut self, kind: BinaryKind, dtype: DType, a: &Val, b: &Val) -> Val {
        use BinaryKind::*;
        if dtype.is_float() {
            return match kind {
                Add => self.w.bin("arith.addf", a, b),
                Sub => self.w.bin("arith.subf", a, b),
                Mul => self.w.bin("arith.mulf", a, b),
                Div => self.w.bin("arith.divf", a, b),
                Max => self.w.bin("arith.maximumf", a, b),
                Min => self.w.bin("arith.minimumf", a, b),
                _ => super::math::binary(self, kind, a, b),
            };
        }
        if dtype == DType::Bool {
            return self.bool_binary(kind, a, b);
        }
        let signed = dtype.is_signed_int();
        let pick = |s, u| if signed { s } else { u };
        match kind {
            Add => self.w.bin("arith.addi", a, b),
            Sub => self.w.bin("arith.subi", a, b),
            Mul => self.w.bin("arith.muli", a, b),
            Max => self.w.bin(pick("arith.maxsi", "arith.maxui"), a, b),
            Min => self.w.bin(pick("arith.minsi", "arith.minui"), a, b),
            And => self.w.bin("arith.andi", a, b),
            Or => self.w.bin("arith.ori", a, b),
            Xor => self.w.bin("arith.xori", a, b),
            Div | Mod | Rem => self.int_division(kind, signed, a, b),
            Shl | Shr => {
                let w = &mut self.w;
                let (width, last) =
                    (w.int(a.ty, dtype.bits().into()), w.int(a.ty, i64::from(dtype.bits()) - 1));
                let inside = w.cmp("ult", b, &width);
                let distance = w.select(&inside, b, &last);
                let op = if kind == Shl { "arith.shli" } else { pick("arith.shrsi", "arith.shrui") };
                let shifted = w.bin(op, a, &distance);
                let zero = w.int(a.ty, 0);
                let beyond = if kind == Shr && signed { w.bin("arith.shrsi", a, &last) } else { zero };
                w.select(&inside, &shifted, &beyond)
            }
            Pow => super::math::int_pow(self, dtype, a, b),
        }
    }

    /// What arithmetic on 0 and 1 comes to, when anything but 0 is true.
    fn bool_binary(&mut self, kind: BinaryKind, a: &Val, b: &Val) -> Val {
        use BinaryKind::*;
        let truth = self.w.int(I1, 1);
        let not_b = self.w.bin("arith.xori", b, &truth);
        match kind {
            Add | Max | Or => self.w.bin("arith.ori", a, b),
            Mul | Div | Min | And => self.w.bin("arith.andi", a, b),
            Sub | Xor => self.w.bin("arith.xori", a, b),
            Mod | Rem => self.w.int(I1, 0),
            Pow => self.w.bin("arith.ori", a, &not_b),
            Shl => a.clone(),
            Shr => self.w.bin("arith.andi", a, &not_b),
        }
    }

    /// Division that never traps: by zero gives 0; the smallest integer by -1 wraps.
    fn int_division(&mut self, kind: BinaryKind, signed: bool, a: &Val, b: &Val) -> Val {
        // MLIR writes signed remainders to SPIR-V with absolute values, which drivers get wrong for 64 bits.
        let spirv = self.target.arch == Arch::Spirv;
        let signed_remainder = |w: &mut Writer, a: &Val, b: &Val| {
            if !spirv {
                return w.bin("arith.remsi", a, b);
            }
            let quotient = w.bin("arith.divsi", a, b);
            let whole = w.bin("arith.muli", &quotient, b);
            w.bin("arith.subi", a, &whole)
        };
        let w = &mut self.w;
        let (zero, one) = (w.int(a.ty, 0), w.int(a.ty, 1));
        let is_zero = w.cmp("eq", b, &zero);
        let mut safe = w.select(&is_zero, &one, b);
        let minus_one = signed.then(|| {
            let minus = w.int(a.ty, -1);
            w.cmp("eq", b, &minus)
        });
        if let Some(m) = &minus_one {
            safe = w.select(m, &one, &safe);
        }
        let result = match (kind, signed) {
            (BinaryKind::Div, false) => w.bin("arith.divui", a, &safe),
            (BinaryKind::Div, true) => {
                let q = w.bin("arith.divsi", a, &safe);
                let negated = w.bin("arith.subi", &zero, a);
                w.select(minus_one.as_ref().expect("signed"), &negated, &q)
            }
            (_, false) => w.bin("arith.remui", a, &safe),
            (BinaryKind::Rem, true) => signed_remainder(w, a, &safe),
            (_, true) => {
                // The remainder takes the divisor's sign.
                let r = signed_remainder(w, a, &safe);
                let nonzero = w.cmp("ne", &r, &zero);
                let signs = w.bin("arith.xori", &r, &safe);
                let differ = w.cmp("slt", &signs, &zero);
                let fix = w.bin("arith.andi", &nonzero, &differ);
                let moved = w.bin("arith.addi", &r, &safe);
                w.select(&fix, &moved, &r)
            }
        };
        let result = match (&minus_one, kind) {
            (Some(m), BinaryKind::Mod | BinaryKind::Rem) => w.select(m, &zero, &result),
            _ => result,
        };
        w.select(&is_zero, &zero, &result)
    }

    /// Conversion as `Scalar::Cast` defines it.
    pub fn cast(&mut self, from: DType, to: DType, a: &Val) -> Val {
        if from == to {
            return a.clone();
        }
        let target = register(to);
        match (from.is_float(), to.is_float()) {
            (_, false) if to == DType::Bool => {
                let zero = self.zero(from);
                let predicate = if from.is_float() { "une" } else { "ne" };
                self.w.cmp(predicate, a, &zero)
            }
            (true, true) => {
                let raw = match (a.ty, target) {
                    (F64, F32) if to != DType::F32 => self.round_to_odd(a),
                    (F64, F32) => self.w.convert("arith.truncf", a, F32),
                    (F32, F64) => self.w.convert("arith.extf", a, F64),
                    _ => a.clone(),
                };
                self.settle(to, &raw)
            }
            (false, true) => {
                let op = if from.is_signed_int() { "arith.sitofp" } else { "arith.uitofp" };
                // Narrow floats from wide integers: through f64 rounded to odd, so that rounding happens once.
                let raw = if to != DType::F32 && target == F32 && from.bits() > 24 {
                    let exact =
                        if from.bits() > 53 { self.fit_f64(a, from.is_signed_int()) } else { a.clone() };
                    let wide = self.w.convert(op, &exact, F64);
                    self.round_to_odd(&wide)
                } else {
                    self.w.convert(op, a, target)
                };
                self.settle(to, &raw)
            }
            (true, false) => self.float_to_int(to, a),
            (false, false) => {
                let raw = match (a.ty, target) {
                    (Ty::Int(x), Ty::Int(y)) if x < y && (from.is_signed_int()) => {
                        self.w.convert("arith.extsi", a, target)
                    }
                    (Ty::Int(x), Ty::Int(y)) if x < y => self.w.convert("arith.extui", a, target),
                    (Ty::Int(x), Ty::Int(y)) if x > y => self.w.convert("arith.trunci", a, target),
                    _ => a.clone(),
                };
                self.settle(to, &raw)
            }
        }
    }

    /// A 64-bit integer that f64 holds exactly: rounded to odd where it has more than 53 bits.
    fn fit_f64(&mut self, a: &Val, signed: bool) -> Val {
        let w = &mut self.w;
        let int = |w: &mut super::writer::Writer, v| w.int(Ty::Int(64), v);
        let (digits, zero, one) = (int(w, 53), int(w, 0), int(w, 1));
        let top = w.bin(if signed { "arith.shrsi" } else { "arith.shrui" }, a, &digits);
        // All zeros, or all ones of a negative number, have nothing to lose.
        let top = w.bin("arith.addi", &top, &one);
        let large = w.cmp("ugt", &top, &one);
        let (lost, kept, last) = (int(w, 0x7ff), int(w, !0x7ff), int(w, 0x800));
        let low = w.bin("arith.andi", a, &lost);
        let inexact = w.cmp("ne", &low, &zero);
        let high = w.bin("arith.andi", a, &kept);
        let odd = w.bin("arith.ori", &high, &last);
        let rounded = w.select(&inexact, &odd, &high);
        w.select(&large, &rounded, a)
    }

    /// f64 to f32 rounded to odd: a second rounding to a narrower type then gives the correctly rounded result.
    fn round_to_odd(&mut self, a: &Val) -> Val {
        let w = &mut self.w;
        let near = w.convert("arith.truncf", a, F32);
        let back = w.convert("arith.extf", &near, F64);
        let inexact = w.cmp("one", &back, a);
        let bits = w.convert("arith.bitcast", &near, Ty::Int(32));
        let one = w.int(Ty::Int(32), 1);
        let bit = w.bin("arith.andi", &bits, &one);
        let zero = w.int(Ty::Int(32), 0);
        let even = w.cmp("eq", &bit, &zero);
        let fix = w.bin("arith.andi", &inexact, &even);
        // The neighbour on the other side of `a` is the odd one.
        let (abs_back, abs_a) = (self.abs(&back), self.abs(a));
        let over = self.w.cmp("ogt", &abs_back, &abs_a);
        let w = &mut self.w;
        let (down, up) = (w.bin("arith.subi", &bits, &one), w.bin("arith.addi", &bits, &one));
        let moved = w.select(&over, &down, &up);
        let odd = w.select(&fix, &moved, &bits);
        w.convert("arith.bitcast", &odd, F32)
    }

    /// Truncation toward zero, saturating; NaN gives 0.
    fn float_to_int(&mut self, to: DType, a: &Val) -> Val {
        let ty = register(to);
        let (lo, hi) = to.int_range().expect("an integer type");
        let w = &mut self.w;
        // Where floats have both bounds, those are applied to the float: fewer steps, all in vectors of one width.
        if to.bits() <= 16 {
            let (zero, low, high) = (w.float(a.ty, 0.0), w.float(a.ty, lo as f64), w.float(a.ty, hi as f64));
            let mut value = a.clone();
            if lo != 0 {
                let number = w.cmp("ord", a, a);
                value = w.select(&number, a, &zero);
            }
            // False for NaN.
            let inside = w.cmp("ogt", &value, &low);
            value = w.select(&inside, &value, &low);
            let inside = w.cmp("olt", &value, &high);
            value = w.select(&inside, &value, &high);
            let value = w.convert("arith.fptosi", &value, Ty::Int(32));
            return w.convert("arith.trunci", &value, ty);
        }
        // Bounds as floats: `lo` is a power of two or 0 and exact; `hi + 1` is a power of two and exact.
        let (low, above) = (w.float(a.ty, lo as f64), w.float(a.ty, (hi + 1) as f64));
        let (min, max) = (w.int(ty, lo as i64), w.int(ty, hi as i64));
        let whole = super::math::round(self, super::math::To::Zero, a);
        let w = &mut self.w;
        let inside_low = w.cmp("oge", &whole, &low);
        let inside_high = w.cmp("olt", &whole, &above);
        let inside = w.bin("arith.andi", &inside_low, &inside_high);
        let zero = w.float(a.ty, 0.0);
        let safe = w.select(&inside, &whole, &zero);
        let op = if to.is_signed_int() { "arith.fptosi" } else { "arith.fptoui" };
        let value = w.convert(op, &safe, ty);
        let above = w.cmp("oge", &whole, &above);
        let below = w.cmp("olt", &whole, &low);
        let value = w.select(&above, &max, &value);
        w.select(&below, &min, &value)
    }

    fn bitcast(&mut self, from: DType, to: DType, a: &Val) -> Val {
        let can = self.target.can;
        let code = repr::narrow(&mut self.w, from, a, &can);
        let memory = repr::memory(to, &can);
        let code = if code.ty == memory { code } else { self.w.convert("arith.bitcast", &code, memory) };
        repr::widen(&mut self.w, to, &code, &can)
    }

    /// Marks the run as failed where `cond` is false.
    pub fn check(&mut self, cond: &Val) {
        self.can_fail = true;
        let truth = self.w.int(I1, 1);
        let failed = self.w.bin("arith.xori", cond, &truth);
        let fault = match self.target.is_gpu() {
            true => gpu::faults(self.target.arch),
            false => Memory { name: "%fault".to_owned(), ty: "memref<1xi32>".to_owned() },
        };
        self.w.if_then(&failed, |w| {
            let (zero, one) = (w.index(0), w.int(Ty::Int(32), 1));
            w.store(&one, &fault, &zero);
        });
    }
}

fn predicate(cmp: Cmp, dtype: DType) -> &'static str {
    let row = Cmp::ALL.iter().position(|(c, _)| *c == cmp).expect("a comparison");
    let table: [&str; 6] = if dtype.is_float() {
        ["oeq", "une", "olt", "ole", "ogt", "oge"]
    } else if dtype.is_signed_int() {
        ["eq", "ne", "slt", "sle", "sgt", "sge"]
    } else {
        ["eq", "ne", "ult", "ule", "ugt", "uge"]
    };
    table[row]
}

/// Index arithmetic is done in this type.
pub const INDEX: Ty = I64;
