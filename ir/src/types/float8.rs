//! 8- and 4-bit float formats (OCP 8-bit Floating Point and Microscaling specifications, and the FNUZ variants
//! of ONNX): one generic encoder and decoder over a table of formats.

/// A small binary float: layout and the special values it has.
#[derive(Debug)]
pub struct Format {
    pub exp_bits: u32,
    pub man_bits: u32,
    pub bias: i32,
    pub signed: bool,
    /// Code of the canonical NaN, if there is one.
    pub nan: Option<u8>,
    /// Code of +infinity, if there is one.
    pub inf: Option<u8>,
    /// Code of the largest finite value.
    pub max: u8,
    /// False for FNUZ: the code of negative zero is the NaN.
    pub negative_zero: bool,
}

pub static E4M3FN: Format = Format {
    exp_bits: 4,
    man_bits: 3,
    bias: 7,
    signed: true,
    nan: Some(0x7f),
    inf: None,
    max: 0x7e,
    negative_zero: true,
};
pub static E4M3FNUZ: Format = Format {
    exp_bits: 4,
    man_bits: 3,
    bias: 8,
    signed: true,
    nan: Some(0x80),
    inf: None,
    max: 0x7f,
    negative_zero: false,
};
pub static E5M2: Format = Format {
    exp_bits: 5,
    man_bits: 2,
    bias: 15,
    signed: true,
    nan: Some(0x7e),
    inf: Some(0x7c),
    max: 0x7b,
    negative_zero: true,
};
pub static E5M2FNUZ: Format = Format {
    exp_bits: 5,
    man_bits: 2,
    bias: 16,
    signed: true,
    nan: Some(0x80),
    inf: None,
    max: 0x7f,
    negative_zero: false,
};
pub static E8M0: Format = Format {
    exp_bits: 8,
    man_bits: 0,
    bias: 127,
    signed: false,
    nan: Some(0xff),
    inf: None,
    max: 0xfe,
    negative_zero: true,
};
pub static E2M1: Format = Format {
    exp_bits: 2,
    man_bits: 1,
    bias: 1,
    signed: true,
    nan: None,
    inf: None,
    max: 0x7,
    negative_zero: true,
};

impl Format {
    fn sign_bit(&self) -> u8 {
        if self.signed { 1 << (self.exp_bits + self.man_bits) } else { 0 }
    }

    /// The value of a code.
    pub fn decode(&self, code: u8) -> f64 {
        if !self.negative_zero && Some(code) == self.nan {
            return f64::NAN;
        }
        let sign = if code & self.sign_bit() != 0 { -1.0 } else { 1.0 };
        let magnitude = if self.signed { code & (self.sign_bit() - 1) } else { code };
        if Some(magnitude) == self.inf {
            return sign * f64::INFINITY;
        }
        if magnitude > self.max {
            return f64::NAN;
        }
        sign * self.magnitude(magnitude)
    }

    fn magnitude(&self, code: u8) -> f64 {
        let exp = (code >> self.man_bits) as i32;
        let man = (code & ((1 << self.man_bits) - 1)) as f64 / f64::from(1u32 << self.man_bits);
        // A format without mantissa bits (E8M0) has no zero and no subnormals.
        if exp == 0 && self.man_bits > 0 {
            man * 2f64.powi(1 - self.bias)
        } else {
            (1.0 + man) * 2f64.powi(exp - self.bias)
        }
    }

    /// The code nearest to `v` (ties to even). Beyond the largest finite value: that value when `saturate`, else
    /// infinity where the format has one, else NaN, else (E2M1) the largest value. NaN gives NaN where there is one,
    /// else negative zero.
    pub fn encode(&self, v: f64, saturate: bool) -> u8 {
        let sign = if v.is_sign_negative() { self.sign_bit() } else { 0 };
        let nan = self.nan.map(|n| if self.negative_zero { n | sign } else { n });
        if v.is_nan() {
            return nan.unwrap_or(self.sign_bit());
        }
        let a = v.abs();
        if !self.signed && v < 0.0 {
            return nan.unwrap_or(0);
        }
        // Codes of magnitudes are ordered as their values are: search the nearest.
        let (mut lo, mut hi) = (0u8, self.max);
        while lo < hi {
            let mid = lo + (hi - lo).div_ceil(2);
            if self.magnitude(mid) <= a { lo = mid } else { hi = mid - 1 }
        }
        let below = self.magnitude(lo);
        let code = if lo == self.max {
            let step = below - self.magnitude(self.max - 1);
            let overflow = if self.man_bits == 0 {
                a >= below * 1.5
            } else {
                a > below + step / 2.0 || (a == below + step / 2.0 && lo & 1 == 1)
            };
            if overflow && !saturate {
                return match (self.inf, nan) {
                    (Some(inf), _) => inf | sign,
                    (None, Some(n)) => n,
                    (None, None) => self.max | sign,
                };
            }
            lo
        } else {
            let above = self.magnitude(lo + 1);
            let (d_lo, d_hi) = (a - below, above - a);
            if d_lo < d_hi || (d_lo == d_hi && lo & 1 == 0) { lo } else { lo + 1 }
        };
        if code == 0 && !self.negative_zero && self.man_bits > 0 { 0 } else { code | sign }
    }
}
