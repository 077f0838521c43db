//! Element types as a package stores them.

use serde::{Deserialize, Serialize};

/// Element type of a tensor. Integers and floats below one byte are stored one element a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum DType {
    F64,
    F32,
    F16,
    BF16,
    F8E4M3FN,
    F8E4M3FNUZ,
    F8E5M2,
    F8E5M2FNUZ,
    F8E8M0,
    F4E2M1,
    I64,
    I32,
    I16,
    I8,
    I4,
    I2,
    U64,
    U32,
    U16,
    U8,
    U4,
    U2,
    Bool,
    C64,
    C128,
    String,
}

/// One row a type, in the order of the enum: type, name, bytes an element (0: not plain bytes).
const TABLE: [(DType, &str, usize); 26] = [
    (DType::F64, "f64", 8),
    (DType::F32, "f32", 4),
    (DType::F16, "f16", 2),
    (DType::BF16, "bf16", 2),
    (DType::F8E4M3FN, "f8e4m3fn", 1),
    (DType::F8E4M3FNUZ, "f8e4m3fnuz", 1),
    (DType::F8E5M2, "f8e5m2", 1),
    (DType::F8E5M2FNUZ, "f8e5m2fnuz", 1),
    (DType::F8E8M0, "f8e8m0", 1),
    (DType::F4E2M1, "f4e2m1", 1),
    (DType::I64, "i64", 8),
    (DType::I32, "i32", 4),
    (DType::I16, "i16", 2),
    (DType::I8, "i8", 1),
    (DType::I4, "i4", 1),
    (DType::I2, "i2", 1),
    (DType::U64, "u64", 8),
    (DType::U32, "u32", 4),
    (DType::U16, "u16", 2),
    (DType::U8, "u8", 1),
    (DType::U4, "u4", 1),
    (DType::U2, "u2", 1),
    (DType::Bool, "bool", 1),
    (DType::C64, "c64", 8),
    (DType::C128, "c128", 16),
    (DType::String, "string", 0),
];

impl DType {
    /// Every type, in the order of its code.
    pub fn all() -> impl Iterator<Item = DType> {
        TABLE.iter().map(|row| row.0)
    }

    /// The name used in messages and text forms, for example `bf16`.
    pub fn name(self) -> &'static str {
        TABLE[self as usize].1
    }

    /// Bytes an element takes in memory; 0 for strings, which are objects.
    pub fn size(self) -> usize {
        TABLE[self as usize].2
    }

    /// The type with this name.
    pub fn from_name(name: &str) -> Option<DType> {
        TABLE.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    /// The type with this code, as the C interface passes it.
    pub fn from_code(code: u32) -> Option<DType> {
        TABLE.get(code as usize).map(|row| row.0)
    }
}

impl std::fmt::Display for DType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_the_order_of_the_codes() {
        for (code, dtype) in DType::all().enumerate() {
            assert_eq!(dtype as usize, code);
            assert_eq!(DType::from_code(code as u32), Some(dtype));
            assert_eq!(DType::from_name(dtype.name()), Some(dtype));
        }
        assert_eq!(DType::from_code(26), None);
    }
}
