//! The element types of ONNX, `TensorProto.DataType`: number, name and width of each.

/// An element type as files number it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(i32)]
pub enum DataType {
    F32 = 1,
    U8 = 2,
    I8 = 3,
    U16 = 4,
    I16 = 5,
    I32 = 6,
    I64 = 7,
    String = 8,
    Bool = 9,
    F16 = 10,
    F64 = 11,
    U32 = 12,
    U64 = 13,
    Complex64 = 14,
    Complex128 = 15,
    BF16 = 16,
    F8E4M3FN = 17,
    F8E4M3FNUZ = 18,
    F8E5M2 = 19,
    F8E5M2FNUZ = 20,
    U4 = 21,
    I4 = 22,
    F4E2M1 = 23,
    F8E8M0 = 24,
    U2 = 25,
    I2 = 26,
    F6E2M3 = 27,
    F6E3M2 = 28,
}

/// Every type with the name it has in messages and the bits an element takes in a file (0: strings).
const TABLE: &[(DataType, &str, u32)] = &[
    (DataType::F32, "float", 32),
    (DataType::U8, "uint8", 8),
    (DataType::I8, "int8", 8),
    (DataType::U16, "uint16", 16),
    (DataType::I16, "int16", 16),
    (DataType::I32, "int32", 32),
    (DataType::I64, "int64", 64),
    (DataType::String, "string", 0),
    (DataType::Bool, "bool", 8),
    (DataType::F16, "float16", 16),
    (DataType::F64, "double", 64),
    (DataType::U32, "uint32", 32),
    (DataType::U64, "uint64", 64),
    (DataType::Complex64, "complex64", 64),
    (DataType::Complex128, "complex128", 128),
    (DataType::BF16, "bfloat16", 16),
    (DataType::F8E4M3FN, "float8e4m3fn", 8),
    (DataType::F8E4M3FNUZ, "float8e4m3fnuz", 8),
    (DataType::F8E5M2, "float8e5m2", 8),
    (DataType::F8E5M2FNUZ, "float8e5m2fnuz", 8),
    (DataType::U4, "uint4", 4),
    (DataType::I4, "int4", 4),
    (DataType::F4E2M1, "float4e2m1", 4),
    (DataType::F8E8M0, "float8e8m0", 8),
    (DataType::U2, "uint2", 2),
    (DataType::I2, "int2", 2),
    (DataType::F6E2M3, "float6e2m3", 6),
    (DataType::F6E3M2, "float6e3m2", 6),
];

impl DataType {
    /// The type with this number; `None` for 0 (undefined) and for numbers of later ONNX versions.
    pub fn from_number(number: i32) -> Option<Self> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        TABLE.get(index).map(|row| row.0)
    }

    /// The name ONNX gives it, in lower case.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// Bits of one element in a file; 0 for strings, whose elements have no fixed size.
    pub fn file_bits(self) -> u32 {
        self.row().2
    }

    /// Bytes of one element in a decoded [`super::tensor::Tensor`]: types below a byte take one.
    pub fn size(self) -> usize {
        self.file_bits().div_ceil(8) as usize
    }

    /// Whether a byte holds a sign-extended value after unpacking.
    pub fn is_signed_sub_byte(self) -> bool {
        matches!(self, DataType::I4 | DataType::I2)
    }

    fn row(self) -> &'static (DataType, &'static str, u32) {
        &TABLE[self as usize - 1]
    }
}

impl std::fmt::Display for DataType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_indexed_by_number() {
        for (index, row) in TABLE.iter().enumerate() {
            assert_eq!(row.0 as usize, index + 1, "{}", row.1);
            assert_eq!(DataType::from_number(index as i32 + 1), Some(row.0));
        }
        assert_eq!(DataType::from_number(0), None);
        assert_eq!(DataType::from_number(-1), None);
        assert_eq!(DataType::from_number(TABLE.len() as i32 + 1), None);
    }
}
