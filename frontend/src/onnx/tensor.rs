//! Decodes a `TensorProto`: whichever way its elements are stored, out come plain bytes of a known size.

use prost::bytes::Bytes;

use tcc_ir::diag::{Code, Diagnostic};

use super::dtype::DataType;
use super::external::ExternalFiles;

use super::proto::{DATA_LOCATION_EXTERNAL, TensorProto};

/// A constant tensor of a model file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    pub dtype: DataType,
    pub shape: Vec<usize>,
    pub data: TensorData,
}

/// Elements in row-major order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TensorData {
    /// [`DataType::size`] little-endian bytes an element, a slice of the file wherever it can be one. Types
    /// below a byte take one each: sign-extended for int4 and int2, else the code in the low bits.
    /// Bools are 0 or 1. The bytes may be unaligned.
    Bytes(Bytes),
    /// One UTF-8 text an element.
    Strings(Vec<String>),
}

impl Tensor {
    pub fn numel(&self) -> usize {
        self.shape.iter().product()
    }

    /// The elements of an int64 tensor of any rank.
    pub fn as_i64s(&self) -> Option<Vec<i64>> {
        match (&self.data, self.dtype) {
            (TensorData::Bytes(bytes), DataType::I64) => {
                let (chunks, _) = bytes.as_chunks();
                Some(chunks.iter().map(|&chunk| i64::from_le_bytes(chunk)).collect())
            }
            _ => None,
        }
    }
}

/// Decodes `proto`, reading external data through `files`.
pub fn decode(proto: &TensorProto, files: &mut ExternalFiles) -> Result<Tensor, Diagnostic> {
    let number = proto.data_type.unwrap_or(0);
    let dtype = DataType::from_number(number)
        .ok_or_else(|| Diagnostic::error(Code::FormatVersion, format!("unknown element type {number}")))?;
    if proto.segment.is_some() {
        return Err(Diagnostic::error(Code::FormatVersion, "tensors stored in segments aren't supported"));
    }
    let (shape, numel) = checked_shape(&proto.dims, dtype.size())?;
    let data = if dtype == DataType::String {
        TensorData::Strings(strings(proto, numel)?)
    } else if proto.data_location == Some(DATA_LOCATION_EXTERNAL) {
        let file = files.read(&proto.external_data, stored_bytes(numel, dtype) as u64)?;
        TensorData::Bytes(from_raw(file, numel, dtype)?)
    } else {
        TensorData::Bytes(inline(proto, numel, dtype)?)
    };
    Ok(Tensor { dtype, shape, data })
}

/// The shape and its element count; an error where a dim is negative or the bytes can't be counted.
pub(super) fn checked_shape(dims: &[i64], element_size: usize) -> Result<(Vec<usize>, usize), Diagnostic> {
    let shape: Option<Vec<usize>> = dims.iter().map(|&dim| usize::try_from(dim).ok()).collect();
    let shape = shape.ok_or_else(|| wrong(format!("shape {dims:?} has a negative dimension")))?;
    // Zeros are left out of the product so that no part of the shape can overflow later either.
    let product = |dims: &[usize]| {
        dims.iter().filter(|&&dim| dim != 0).try_fold(element_size.max(1), |size, &dim| size.checked_mul(dim))
    };
    product(&shape)
        .filter(|&bytes| isize::try_from(bytes).is_ok())
        .ok_or_else(|| wrong(format!("shape {dims:?} has more bytes than can be addressed")))?;
    let numel = shape.iter().product();
    Ok((shape, numel))
}

/// How many bytes `raw_data` or an external file has for `numel` elements.
fn stored_bytes(numel: usize, dtype: DataType) -> usize {
    // Below a byte, `checked_shape` counted whole bytes, so the result fits though the product may not.
    (numel as u128 * u128::from(dtype.file_bits())).div_ceil(8) as usize
}

fn inline(proto: &TensorProto, numel: usize, dtype: DataType) -> Result<Bytes, Diagnostic> {
    let typed = proto.float_data.len()
        + proto.int32_data.len()
        + proto.int64_data.len()
        + proto.double_data.len()
        + proto.uint64_data.len()
        + proto.string_data.len();
    match &proto.raw_data {
        Some(raw) if typed == 0 => from_raw(raw.clone(), numel, dtype),
        Some(raw) if !raw.is_empty() => Err(wrong("has both raw_data and typed data")),
        _ => from_typed(proto, typed, numel, dtype),
    }
}

/// Elements stored as their bytes, packed below a byte.
fn from_raw(raw: Bytes, numel: usize, dtype: DataType) -> Result<Bytes, Diagnostic> {
    let needed = stored_bytes(numel, dtype);
    if raw.len() != needed {
        return Err(wrong(format!(
            "has {} bytes of data, but its shape needs {needed} ({dtype})",
            raw.len()
        )));
    }
    match dtype.file_bits() {
        8.. if dtype == DataType::Bool && raw.iter().any(|&byte| byte > 1) => {
            Ok(raw.iter().map(|&byte| u8::from(byte != 0)).collect())
        }
        8.. => Ok(raw),
        bits => Ok(unpack(&raw, numel, bits, dtype.is_signed_sub_byte()).into()),
    }
}

/// One byte an element out of a bit stream that fills bytes from the low end.
fn unpack(packed: &[u8], numel: usize, bits: u32, signed: bool) -> Vec<u8> {
    let spare = 8 - bits;
    (0..numel)
        .map(|index| {
            let bit = index * bits as usize;
            let low = u16::from(packed[bit / 8]);
            let high = u16::from(packed.get(bit / 8 + 1).copied().unwrap_or(0));
            let code = ((low | (high << 8)) >> (bit % 8)) as u8;
            let top = code << spare;
            if signed { ((top as i8) >> spare) as u8 } else { top >> spare }
        })
        .collect()
}

/// Elements stored in the repeated field of their type; `typed` is how many entries all such fields have.
fn from_typed(proto: &TensorProto, typed: usize, numel: usize, dtype: DataType) -> Result<Bytes, Diagnostic> {
    use DataType::*;
    let field = |used: usize, entries: usize| match used {
        _ if used != typed => Err(wrong(format!("has data in a field that {dtype} doesn't use"))),
        _ if used != entries => {
            Err(wrong(format!("has {used} elements, but its shape needs {entries} ({dtype})")))
        }
        _ => Ok(()),
    };
    match dtype {
        F32 | Complex64 => {
            field(proto.float_data.len(), numel * dtype.size() / 4)?;
            Ok(bytes_of(&proto.float_data, |value| value.to_le_bytes()))
        }
        F64 | Complex128 => {
            field(proto.double_data.len(), numel * dtype.size() / 8)?;
            Ok(bytes_of(&proto.double_data, |value| value.to_le_bytes()))
        }
        I64 => {
            field(proto.int64_data.len(), numel)?;
            Ok(bytes_of(&proto.int64_data, |value| value.to_le_bytes()))
        }
        U64 => {
            field(proto.uint64_data.len(), numel)?;
            Ok(bytes_of(&proto.uint64_data, |value| value.to_le_bytes()))
        }
        U32 => {
            field(proto.uint64_data.len(), numel)?;
            if let Some(value) = proto.uint64_data.iter().find(|&&value| value > u64::from(u32::MAX)) {
                return Err(wrong(format!("value {value} is out of range for {dtype}")));
            }
            Ok(bytes_of(&proto.uint64_data, |value| (value as u32).to_le_bytes()))
        }
        I32 => {
            field(proto.int32_data.len(), numel)?;
            Ok(bytes_of(&proto.int32_data, |value| value.to_le_bytes()))
        }
        U16 | I16 | F16 | BF16 => {
            field(proto.int32_data.len(), numel)?;
            in_bits(&proto.int32_data, 16, dtype)?;
            Ok(bytes_of(&proto.int32_data, |value| (value as u16).to_le_bytes()))
        }
        Bool => {
            field(proto.int32_data.len(), numel)?;
            Ok(bytes_of(&proto.int32_data, |value| [u8::from(value != 0)]))
        }
        U8 | I8 | F8E4M3FN | F8E4M3FNUZ | F8E5M2 | F8E5M2FNUZ | F8E8M0 => {
            field(proto.int32_data.len(), numel)?;
            in_bits(&proto.int32_data, 8, dtype)?;
            Ok(bytes_of(&proto.int32_data, |value| [value as u8]))
        }
        F6E2M3 | F6E3M2 => {
            field(proto.int32_data.len(), numel)?;
            in_bits(&proto.int32_data, 6, dtype)?;
            Ok(bytes_of(&proto.int32_data, |value| [value as u8 & 0x3f]))
        }
        // Each entry holds a packed byte.
        U4 | I4 | F4E2M1 | U2 | I2 => {
            field(proto.int32_data.len(), stored_bytes(numel, dtype))?;
            in_bits(&proto.int32_data, 8, dtype)?;
            from_raw(bytes_of(&proto.int32_data, |value| [value as u8]), numel, dtype)
        }
        String => unreachable!("strings are decoded apart"),
    }
}

fn bytes_of<T: Copy, const N: usize>(values: &[T], encode: impl Fn(T) -> [u8; N]) -> Bytes {
    values.iter().flat_map(|&value| encode(value)).collect::<Vec<u8>>().into()
}

/// Writers differ on whether narrow values are sign-extended into int32_data, so both readings of the low
/// `bits` pass; anything wider would lose its top.
fn in_bits(values: &[i32], bits: u32, dtype: DataType) -> Result<(), Diagnostic> {
    let range = -(1i32 << (bits - 1))..(1i32 << bits);
    match values.iter().find(|value| !range.contains(value)) {
        Some(value) => Err(wrong(format!("value {value} is out of range for {dtype}"))),
        None => Ok(()),
    }
}

fn strings(proto: &TensorProto, numel: usize) -> Result<Vec<String>, Diagnostic> {
    if proto.raw_data.as_ref().is_some_and(|raw| !raw.is_empty())
        || proto.data_location == Some(DATA_LOCATION_EXTERNAL)
    {
        return Err(wrong("a string tensor must have its elements in string_data"));
    }
    if proto.string_data.len() != numel {
        return Err(wrong(format!("has {} strings, but its shape needs {numel}", proto.string_data.len())));
    }
    proto.string_data.iter().map(|bytes| text(bytes)).collect()
}

/// UTF-8 text out of a bytes field.
pub(super) fn text(bytes: &[u8]) -> Result<String, Diagnostic> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => Err(wrong("a string is not UTF-8")),
    }
}

fn wrong(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code::FileMalformed, message)
}

#[cfg(test)]
#[path = "tensor_tests.rs"]
mod tests;
