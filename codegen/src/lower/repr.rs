//! How element types are held: in memory and in registers, and the conversions between.
//!
//! Floats narrower than f32 are computed in f32 and rounded after every operation; integers are signless, with
//! sub-byte ones in a byte, kept wrapped; bool is a byte in memory and `i1` in registers.

use super::writer::{F32, F64, I1, I8, I32, Ty, Val, Writer};
use crate::target::Capabilities;
use tcc_ir::DType;

/// Type in memory.
pub fn memory(dtype: DType, can: &Capabilities) -> Ty {
    match dtype {
        DType::F16 if can.f16_casts => Ty::Float(16),
        DType::F64 | DType::F32 => Ty::Float(dtype.bits()),
        _ => Ty::Int(8 * dtype.size() as u32),
    }
}

/// Type in registers.
pub fn register(dtype: DType) -> Ty {
    match dtype {
        DType::F64 => F64,
        DType::Bool => I1,
        d if d.is_float() => F32,
        d => Ty::Int(8 * d.size() as u32),
    }
}

/// Whether memory of zeros holds zeros: a format without a mantissa has none, its code 0 is its least power of two.
pub fn code_0_is_zero(dtype: DType) -> bool {
    dtype.format8().is_none_or(|f| f.man_bits > 0)
}

/// Memory form to register form.
pub fn widen(w: &mut Writer, dtype: DType, v: &Val, can: &Capabilities) -> Val {
    match (dtype, v.ty) {
        (DType::Bool, _) => {
            let zero = w.int(v.ty, 0);
            w.cmp("ne", v, &zero)
        }
        (DType::F16, Ty::Float(16)) => w.convert("arith.extf", v, F32),
        (DType::BF16, _) => {
            let bits = w.convert("arith.extui", v, I32);
            let c = w.int(I32, 16);
            let bits = w.bin("arith.shli", &bits, &c);
            w.convert("arith.bitcast", &bits, F32)
        }
        (d, Ty::Int(_)) if d.is_float() => decode(w, &layout(d), v, can),
        _ => v.clone(),
    }
}

/// Register form, already rounded or wrapped to the type, to memory form.
pub fn narrow(w: &mut Writer, dtype: DType, v: &Val, can: &Capabilities) -> Val {
    match (dtype, memory(dtype, can)) {
        (DType::Bool, to) => w.convert("arith.extui", v, to),
        (DType::F16, to @ Ty::Float(16)) => w.convert("arith.truncf", v, to),
        (DType::BF16, to) => {
            let bits = round_bf16(w, v);
            w.convert("arith.trunci", &bits, to)
        }
        (d, to @ Ty::Int(_)) if d.is_float() => {
            let code = encode(w, &layout(d), v, false);
            w.convert("arith.trunci", &code, to)
        }
        _ => v.clone(),
    }
}

/// Rounds a raw f32 result to a narrower float type, or wraps an integer one to a sub-byte type.
pub fn settle(w: &mut Writer, dtype: DType, v: &Val, can: &Capabilities) -> Val {
    match dtype {
        DType::F16 if can.f16_casts => {
            let half = w.convert("arith.truncf", v, Ty::Float(16));
            w.convert("arith.extf", &half, F32)
        }
        DType::BF16 => {
            let bits = round_bf16(w, v);
            let c = w.int(I32, 16);
            let bits = w.bin("arith.shli", &bits, &c);
            w.convert("arith.bitcast", &bits, F32)
        }
        d if d.is_float() && !matches!(d, DType::F32 | DType::F64) => saturate_or_round(w, d, v, false, can),
        d if d.is_int() && d.bits() < 8 => {
            let c = w.int(I8, i64::from(8 - d.bits()));
            let up = w.bin("arith.shli", v, &c);
            w.bin(if d.is_signed_int() { "arith.shrsi" } else { "arith.shrui" }, &up, &c)
        }
        _ => v.clone(),
    }
}

/// Rounds f32 to an 8- or 4-bit float (or software f16); beyond the range: the largest value if `saturate`.
pub fn saturate_or_round(w: &mut Writer, dtype: DType, v: &Val, saturate: bool, can: &Capabilities) -> Val {
    let code = encode(w, &layout(dtype), v, saturate);
    decode(w, &layout(dtype), &code, can)
}

/// The upper 16 bits of an f32, rounded to nearest even, as i32; NaN stays NaN.
fn round_bf16(w: &mut Writer, v: &Val) -> Val {
    let bits = w.convert("arith.bitcast", v, I32);
    let c16 = w.int(I32, 16);
    let high = w.bin("arith.shrui", &bits, &c16);
    let rounded = round_shift(w, &bits, 16);
    let quiet = w.int(I32, 0x40);
    let nan = w.bin("arith.ori", &high, &quiet);
    let is_nan = w.cmp("uno", v, v);
    w.select(&is_nan, &nan, &rounded)
}

/// A small float format as integer arithmetic sees it.
struct Layout {
    exp_bits: u32,
    man_bits: u32,
    bias: i64,
    signed: bool,
    nan: Option<i64>,
    inf: Option<i64>,
    max: i64,
    negative_zero: bool,
}

fn layout(dtype: DType) -> Layout {
    match dtype.format8() {
        Some(f) => Layout {
            exp_bits: f.exp_bits,
            man_bits: f.man_bits,
            bias: f.bias.into(),
            signed: f.signed,
            nan: f.nan.map(i64::from),
            inf: f.inf.map(i64::from),
            max: f.max.into(),
            negative_zero: f.negative_zero,
        },
        // IEEE half, for targets without casts of it.
        None => Layout {
            exp_bits: 5,
            man_bits: 10,
            bias: 15,
            signed: true,
            nan: Some(0x7e00),
            inf: Some(0x7c00),
            max: 0x7bff,
            negative_zero: true,
        },
    }
}

impl Layout {
    fn sign_bit(&self) -> i64 {
        if self.signed { 1 << (self.exp_bits + self.man_bits) } else { 0 }
    }
}

/// Code (i8 or i16) to f32.
fn decode(w: &mut Writer, f: &Layout, code: &Val, can: &Capabilities) -> Val {
    let code = if code.ty == I32 { code.clone() } else { w.convert("arith.extui", code, I32) };
    let mask = w.int(I32, if f.signed { f.sign_bit() - 1 } else { 0xff });
    let magnitude = w.bin("arith.andi", &code, &mask);
    // Placing the code's exponent and mantissa in an f32's fields and multiplying by a power of two is right for
    // normal and subnormal codes alike.
    let c = w.int(I32, i64::from(23 - f.man_bits));
    let field = w.bin("arith.shli", &magnitude, &c);
    let raw = w.convert("arith.bitcast", &field, F32);
    let value = if f.man_bits == 0 {
        // E8M0: code 0 is 2^-127, a subnormal of f32.
        let half = w.int(I32, 0x0040_0000);
        let tiny = w.convert("arith.bitcast", &half, F32);
        let zero = w.int(I32, 0);
        let is_zero = w.cmp("eq", &magnitude, &zero);
        w.select(&is_zero, &tiny, &raw)
    } else if can.subnormals {
        let scale = w.float(F32, 2f64.powi(127 - f.bias as i32));
        w.bin("arith.mulf", &raw, &scale)
    } else {
        // The placed code of a subnormal would count as zero: scale its mantissa as a whole number.
        let up = w.int(I32, (127 - f.bias) << 23);
        let normal = w.bin("arith.addi", &field, &up);
        let normal = w.convert("arith.bitcast", &normal, F32);
        let whole = w.convert("arith.uitofp", &magnitude, F32);
        let scale = w.float(F32, 2f64.powi(1 - f.bias as i32 - f.man_bits as i32));
        let small = w.bin("arith.mulf", &whole, &scale);
        let least = w.int(I32, 1 << f.man_bits);
        let is_small = w.cmp("ult", &magnitude, &least);
        w.select(&is_small, &small, &normal)
    };
    let mut out = value;
    if f.signed {
        let sign = w.int(I32, f.sign_bit());
        let zero = w.int(I32, 0);
        let bit = w.bin("arith.andi", &code, &sign);
        let negative = w.cmp("ne", &bit, &zero);
        let minus = w.un("arith.negf", &out);
        out = w.select(&negative, &minus, &out);
    }
    if let Some(inf) = f.inf {
        let inf = w.int(I32, inf);
        let is_inf = w.cmp("eq", &magnitude, &inf);
        let (plus, minus) = (w.float(F32, f64::INFINITY), w.float(F32, f64::NEG_INFINITY));
        let zero = w.float(F32, 0.0);
        let negative = w.cmp("olt", &out, &zero);
        let value = w.select(&negative, &minus, &plus);
        out = w.select(&is_inf, &value, &out);
    }
    let top = w.int(I32, f.inf.unwrap_or(f.max));
    let mut is_nan = w.cmp("ugt", &magnitude, &top);
    if !f.negative_zero {
        let nan = w.int(I32, f.nan.expect("a format without negative zero has a NaN"));
        is_nan = w.cmp("eq", &code, &nan);
    } else if f.nan.is_none() {
        return out;
    }
    let nan = w.float(F32, f64::NAN);
    w.select(&is_nan, &nan, &out)
}

/// f32 to a power of two's code (E8M0), as i32: its exponent, rounded to nearest even, NaN for negatives.
fn encode_power(w: &mut Writer, f: &Layout, v: &Val, saturate: bool) -> Val {
    let bits = w.convert("arith.bitcast", v, I32);
    let high = round_shift(w, &bits, 23);
    // Below the normal numbers the codes 0 and 1 are 2^-127 and 2^-126.
    let (one, zero) = (w.int(I32, 1), w.int(I32, 0));
    let (middle, least) = (w.int(I32, 0x0060_0000), w.int(I32, 0x0080_0000));
    let upper = w.cmp("sgt", &bits, &middle);
    let small = w.select(&upper, &one, &zero);
    let is_small = w.cmp("slt", &bits, &least);
    let code = w.select(&is_small, &small, &high);
    let (limit, max) = (w.int(I32, 0x7f40_0000), w.int(I32, f.max));
    let nan = w.int(I32, f.nan.unwrap_or(f.max));
    let over = w.cmp("sge", &bits, &limit);
    let beyond = if saturate { &max } else { &nan };
    let code = w.select(&over, beyond, &code);
    let plus_zero = w.float(F32, 0.0);
    let bad = w.cmp("ult", v, &plus_zero);
    w.select(&bad, &nan, &code)
}

/// `bits / 2^n` of an i32, rounded to nearest even.
fn round_shift(w: &mut Writer, bits: &Val, n: i64) -> Val {
    let (shift, one, below_half) = (w.int(I32, n), w.int(I32, 1), w.int(I32, (1 << (n - 1)) - 1));
    let high = w.bin("arith.shrui", bits, &shift);
    let odd = w.bin("arith.andi", &high, &one);
    let bias = w.bin("arith.addi", &below_half, &odd);
    let sum = w.bin("arith.addi", bits, &bias);
    w.bin("arith.shrui", &sum, &shift)
}

/// f32 to code, as i32, to nearest even.
fn encode(w: &mut Writer, f: &Layout, v: &Val, saturate: bool) -> Val {
    if f.man_bits == 0 {
        return encode_power(w, f, v, saturate);
    }
    let bits = w.convert("arith.bitcast", v, I32);
    let c31 = w.int(I32, 31);
    let sign = w.bin("arith.shrui", &bits, &c31);
    let mask = w.int(I32, 0x7fff_ffff);
    let abs_bits = w.bin("arith.andi", &bits, &mask);
    let abs = w.convert("arith.bitcast", &abs_bits, F32);
    // The exponent of the quantum: that of the value, but not below the subnormals'.
    let c23 = w.int(I32, 23);
    let exponent = w.bin("arith.shrui", &abs_bits, &c23);
    let lowest = w.int(I32, 127 + 1 - f.bias);
    let exponent = w.bin("arith.maxsi", &exponent, &lowest);
    let ceiling = w.int(I32, 127 + f.bias.max(1) + 40);
    let exponent = w.bin("arith.minsi", &exponent, &ceiling);
    // q = abs / 2^(e - man_bits), rounded by adding 2^23.
    let flip = w.int(I32, 254 + i64::from(f.man_bits));
    let inverse = w.bin("arith.subi", &flip, &exponent);
    let inverse = w.bin("arith.shli", &inverse, &c23);
    let inverse = w.convert("arith.bitcast", &inverse, F32);
    let q = w.bin("arith.mulf", &abs, &inverse);
    let magic = w.float(F32, 8_388_608.0);
    let cap = w.float(F32, 4096.0);
    let q = w.bin("arith.minnumf", &q, &cap);
    let sum = w.bin("arith.addf", &q, &magic);
    let q = w.convert("arith.bitcast", &sum, I32);
    let base = w.convert("arith.bitcast", &magic, I32);
    let q = w.bin("arith.subi", &q, &base);
    // The implicit bit of q carries into the exponent field, so one formula serves subnormals too.
    let biased = w.bin("arith.subi", &exponent, &lowest);
    let shift = w.int(I32, f.man_bits.into());
    let field = w.bin("arith.shli", &biased, &shift);
    let code = w.bin("arith.addi", &field, &q);
    let max = w.int(I32, f.max);
    let over = w.cmp("sgt", &code, &max);
    let beyond = if saturate { f.max } else { f.inf.or(f.nan).unwrap_or(f.max) };
    let beyond = w.int(I32, beyond);
    let mut code = w.select(&over, &beyond, &code);
    if f.signed {
        let c = w.int(I32, i64::from(f.exp_bits + f.man_bits));
        let bit = w.bin("arith.shli", &sign, &c);
        let signed = w.bin("arith.ori", &code, &bit);
        code = if f.negative_zero {
            signed
        } else {
            let zero = w.int(I32, 0);
            let is_zero = w.cmp("eq", &code, &zero);
            w.select(&is_zero, &code, &signed)
        };
    }
    let nan = w.int(I32, f.nan.unwrap_or(f.sign_bit()));
    let is_nan = w.cmp("uno", v, v);
    w.select(&is_nan, &nan, &code)
}
