//! `Constant` nodes: the tensor that any of their forms stands for.

use indexmap::IndexMap;
use prost::bytes::Bytes;

use tcc_ir::diag::{Code, Diagnostic};

use super::attribute::Attribute;
use super::dtype::DataType;

use super::tensor::{Tensor, TensorData};

/// The tensor of a `Constant` node: exactly one of its attributes gives it.
pub(super) fn tensor(attributes: &IndexMap<String, Attribute>) -> Result<Tensor, Diagnostic> {
    let wrong = |message: String| Diagnostic::error(Code::InvalidGraph, message);
    let mut forms = attributes.iter();
    let (Some((name, value)), None) = (forms.next(), forms.next()) else {
        return Err(wrong(format!("a Constant must have one value attribute, not {}", attributes.len())));
    };
    match (name.as_str(), value) {
        ("value" | "sparse_value", Attribute::Tensor(tensor)) => Ok(tensor.clone()),
        ("value_float", &Attribute::Float(value)) => {
            Ok(numbers(DataType::F32, vec![], &[value], f32::to_le_bytes))
        }
        ("value_int", &Attribute::Int(value)) => {
            Ok(numbers(DataType::I64, vec![], &[value], i64::to_le_bytes))
        }
        ("value_string", Attribute::String(value)) => Ok(strings(vec![], vec![value.clone()])),
        ("value_floats", Attribute::Floats(values)) => {
            Ok(numbers(DataType::F32, vec![values.len()], values, f32::to_le_bytes))
        }
        ("value_ints", Attribute::Ints(values)) => {
            Ok(numbers(DataType::I64, vec![values.len()], values, i64::to_le_bytes))
        }
        ("value_strings", Attribute::Strings(values)) => Ok(strings(vec![values.len()], values.clone())),
        _ => Err(wrong(format!("attribute `{name}` isn't a value of a Constant"))),
    }
}

fn numbers<T: Copy, const N: usize>(
    dtype: DataType,
    shape: Vec<usize>,
    values: &[T],
    encode: impl Fn(T) -> [u8; N],
) -> Tensor {
    let bytes: Vec<u8> = values.iter().flat_map(|&value| encode(value)).collect();
    Tensor { dtype, shape, data: TensorData::Bytes(Bytes::from(bytes)) }
}

fn strings(shape: Vec<usize>, values: Vec<String>) -> Tensor {
    Tensor { dtype: DataType::String, shape, data: TensorData::Strings(values) }
}
