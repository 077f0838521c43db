//! Scalar functions: their names and exact meaning on floats and integers. The elementwise operators, the kernel
//! interpreter and the code generators all refer to these.

use crate::types::DType;

crate::attr_enum! {
    /// A function of one number.
    pub enum UnaryKind {
        Neg = "neg",
        /// Absolute value; wraps at the smallest integer.
        Abs = "abs",
        /// -1, 0 or 1; NaN stays NaN.
        Sign = "sign",
        Ceil = "ceil",
        Floor = "floor",
        /// To the nearest integer, ties to even.
        Round = "round",
        /// Toward zero.
        Trunc = "trunc",
        Sqrt = "sqrt",
        Reciprocal = "reciprocal",
        Exp = "exp",
        /// exp(x) - 1 without cancellation.
        Expm1 = "expm1",
        Log = "log",
        /// log(1 + x) without cancellation.
        Log1p = "log1p",
        Sin = "sin",
        Cos = "cos",
        Tan = "tan",
        Asin = "asin",
        Acos = "acos",
        Atan = "atan",
        Sinh = "sinh",
        Cosh = "cosh",
        Tanh = "tanh",
        Asinh = "asinh",
        Acosh = "acosh",
        Atanh = "atanh",
        Erf = "erf",
        /// 1 / (1 + exp(-x)).
        Sigmoid = "sigmoid",
        /// Logical not of a bool, complement of an integer.
        Not = "not",
        /// Whether a float is NaN: gives bool.
        IsNan = "is_nan",
    }
}

crate::attr_enum! {
    /// A function of two numbers of one type.
    pub enum BinaryKind {
        Add = "add",
        Sub = "sub",
        Mul = "mul",
        /// Integers: toward zero; division by zero gives 0.
        Div = "div",
        /// Remainder with the sign of the divisor (Python's %); integer modulo zero gives 0.
        Mod = "mod",
        /// Remainder with the sign of the dividend (C's fmod); integer modulo zero gives 0.
        Rem = "rem",
        /// Integers: wraps; a negative exponent truncates the exact result toward zero.
        Pow = "pow",
        /// NaN if either is NaN.
        Max = "max",
        /// NaN if either is NaN.
        Min = "min",
        /// Logical on bool, bitwise on integers.
        And = "and",
        Or = "or",
        Xor = "xor",
        /// Shift left; a distance of the width or more gives 0.
        Shl = "shl",
        /// Shift right, of the sign for signed integers; a distance of the width or more gives 0 (or the sign).
        Shr = "shr",
    }
}

impl UnaryKind {
    /// Whether the function is defined on integers too.
    pub fn takes_ints(self) -> bool {
        use UnaryKind::*;
        matches!(self, Neg | Abs | Sign | Ceil | Floor | Round | Trunc)
    }

    /// The exact function on a float, to be rounded to the element type by the caller. `is_nan` gives 1 or 0.
    pub fn float(self, x: f64) -> f64 {
        use UnaryKind::*;
        match self {
            Neg => -x,
            Abs => x.abs(),
            Sign if x.is_nan() || x == 0.0 => x,
            Sign => x.signum(),
            Ceil => x.ceil(),
            Floor => x.floor(),
            Round => x.round_ties_even(),
            Trunc => x.trunc(),
            Sqrt => x.sqrt(),
            Reciprocal => 1.0 / x,
            Exp => x.exp(),
            Expm1 => x.exp_m1(),
            Log => x.ln(),
            Log1p => x.ln_1p(),
            Sin => x.sin(),
            Cos => x.cos(),
            Tan => x.tan(),
            Asin => x.asin(),
            Acos => x.acos(),
            Atan => x.atan(),
            Sinh => x.sinh(),
            Cosh => x.cosh(),
            Tanh => x.tanh(),
            // The standard library's overflow or cancel for some arguments.
            Asinh => libm::asinh(x),
            Acosh if x < 1.0 => f64::NAN,
            Acosh => libm::acosh(x),
            Atanh => libm::atanh(x),
            Erf => libm::erf(x),
            Sigmoid => 1.0 / (1.0 + (-x).exp()),
            Not => f64::NAN,
            IsNan => f64::from(u8::from(x.is_nan())),
        }
    }

    /// The function on an integer of type `dtype` (or bool), before wrapping.
    pub fn int(self, dtype: DType, x: i128) -> i128 {
        use UnaryKind::*;
        match self {
            Neg => -x,
            Abs => x.abs(),
            Sign => x.signum(),
            Not if dtype == DType::Bool => 1 - x,
            Not => !x,
            _ => x,
        }
    }
}

impl BinaryKind {
    pub fn takes_floats(self) -> bool {
        use BinaryKind::*;
        !matches!(self, And | Or | Xor | Shl | Shr)
    }

    pub fn is_commutative(self) -> bool {
        use BinaryKind::*;
        matches!(self, Add | Mul | Max | Min | And | Or | Xor)
    }

    /// The exact function on floats, to be rounded to the element type by the caller.
    pub fn float(self, a: f64, b: f64) -> f64 {
        use BinaryKind::*;
        match self {
            Add => a + b,
            Sub => a - b,
            Mul => a * b,
            Div => a / b,
            Mod => {
                let r = a % b;
                if r == 0.0 {
                    r.copysign(b)
                } else if (r < 0.0) != (b < 0.0) {
                    r + b
                } else {
                    r
                }
            }
            Rem => a % b,
            Pow => a.powf(b),
            Max if a.is_nan() || b.is_nan() => f64::NAN,
            Max => {
                if a > b || (a == b && b.is_sign_negative()) {
                    a
                } else {
                    b
                }
            }
            Min if a.is_nan() || b.is_nan() => f64::NAN,
            Min => {
                if a < b || (a == b && a.is_sign_negative()) {
                    a
                } else {
                    b
                }
            }
            And | Or | Xor | Shl | Shr => f64::NAN,
        }
    }

    /// The function on integers of type `dtype` (or bool), before wrapping.
    pub fn int(self, dtype: DType, a: i128, b: i128) -> i128 {
        use BinaryKind::*;
        let bits = i128::from(dtype.bits());
        match self {
            Add => a + b,
            Sub => a - b,
            Mul => a.wrapping_mul(b),
            Div | Mod | Rem if b == 0 => 0,
            Div => a / b,
            Mod => {
                let r = a % b;
                if r != 0 && (r < 0) != (b < 0) { r + b } else { r }
            }
            Rem => a % b,
            Pow => int_pow(dtype, a, b),
            Max => a.max(b),
            Min => a.min(b),
            And => a & b,
            Or => a | b,
            Xor => a ^ b,
            Shl if b < 0 || b >= bits => 0,
            Shl => a << b,
            Shr if b < 0 || b >= bits => {
                if a < 0 {
                    -1
                } else {
                    0
                }
            }
            Shr => a >> b,
        }
    }
}

/// Power by squaring, wrapped to `dtype` at every step.
fn int_pow(dtype: DType, base: i128, exponent: i128) -> i128 {
    if exponent < 0 {
        return match base {
            1 => 1,
            -1 => {
                if exponent % 2 == 0 {
                    1
                } else {
                    -1
                }
            }
            _ => 0,
        };
    }
    let (mut acc, mut square, mut left) = (1i128, base, exponent);
    while left > 0 {
        if left & 1 == 1 {
            acc = dtype.wrap_int(acc.wrapping_mul(square));
        }
        square = dtype.wrap_int(square.wrapping_mul(square));
        left >>= 1;
    }
    acc
}
