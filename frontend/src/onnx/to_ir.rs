//! Types and tensors of a file in terms of the IR.

use tcc_ir::diag::{Code, Diagnostic};
use tcc_ir::ops::varying;
use tcc_ir::{DType, Dim, Tensor, TensorType, Type, Value};

use super::data::Data;
use super::dtype::DataType;
use super::symbols::SymbolNames;
use super::tensor::{self, TensorData};
use super::types::{self, ValueType};

/// The IR's element type, where it has one.
pub fn dtype(dtype: DataType) -> Result<DType, Diagnostic> {
    Ok(match dtype {
        DataType::F32 => DType::F32,
        DataType::U8 => DType::U8,
        DataType::I8 => DType::I8,
        DataType::U16 => DType::U16,
        DataType::I16 => DType::I16,
        DataType::I32 => DType::I32,
        DataType::I64 => DType::I64,
        DataType::String => DType::String,
        DataType::Bool => DType::Bool,
        DataType::F16 => DType::F16,
        DataType::F64 => DType::F64,
        DataType::U32 => DType::U32,
        DataType::U64 => DType::U64,
        DataType::Complex64 => DType::C64,
        DataType::Complex128 => DType::C128,
        DataType::BF16 => DType::BF16,
        DataType::F8E4M3FN => DType::F8E4M3FN,
        DataType::F8E4M3FNUZ => DType::F8E4M3FNUZ,
        DataType::F8E5M2 => DType::F8E5M2,
        DataType::F8E5M2FNUZ => DType::F8E5M2FNUZ,
        DataType::U4 => DType::U4,
        DataType::I4 => DType::I4,
        DataType::F4E2M1 => DType::F4E2M1,
        DataType::F8E8M0 => DType::F8E8M0,
        DataType::U2 => DType::U2,
        DataType::I2 => DType::I2,
        DataType::F6E2M3 | DataType::F6E3M2 => {
            return Err(unsupported(format!("element type {dtype} isn't supported")));
        }
    })
}

/// The tensor, sharing its bytes.
pub fn tensor(tensor: &tensor::Tensor) -> Result<Tensor, Diagnostic> {
    let shape = tensor.shape.clone();
    match &tensor.data {
        TensorData::Strings(strings) => Ok(Tensor::from_strings(shape, strings.clone())),
        TensorData::Bytes(bytes) => Tensor::from_bytes(dtype(tensor.dtype)?, shape, bytes.clone())
            .ok_or_else(|| Diagnostic::error(Code::FileMalformed, "the data doesn't fit the shape")),
    }
}

/// A value of a test set.
pub fn value(data: &Data) -> Result<Value, Diagnostic> {
    Ok(match data {
        Data::Tensor(data) => Value::Tensor(tensor(data)?),
        Data::Sequence(elements) => Value::Sequence(elements.iter().map(value).collect::<Result<_, _>>()?),
        Data::Optional(element) => Value::Optional(element.as_deref().map(value).transpose()?.map(Box::new)),
    })
}

/// The type of a model's input: dims that aren't stated become symbols named after the input.
pub(super) fn input_type(
    ty: Option<&ValueType>,
    name: &str,
    symbols: &mut SymbolNames,
) -> Result<Type, Diagnostic> {
    match ty {
        Some(ValueType::Tensor(tensor)) => tensor_type(tensor, name, symbols),
        Some(ValueType::Sequence(element)) => {
            element_type(element.as_deref()).map(|ty| Type::Sequence(Box::new(ty)))
        }
        Some(ValueType::Optional(element)) => {
            element_type(element.as_deref()).map(|ty| Type::Optional(Box::new(ty)))
        }
        _ => Err(unsupported("only tensors, sequences and optionals can be inputs".to_owned())),
    }
}

fn tensor_type(ty: &types::TensorType, name: &str, symbols: &mut SymbolNames) -> Result<Type, Diagnostic> {
    let dtype = element_dtype(ty)?;
    let Some(shape) = &ty.shape else {
        return Err(Diagnostic::error(
            Code::TypeMismatch,
            "the file doesn't state how many dimensions it has",
        )
        .help("give the input a shape; its dimensions may be symbols"));
    };
    let dim = |(axis, dim): (usize, &types::Dim)| match dim {
        types::Dim::Known(size) => i64::try_from(*size)
            .map(Dim::from)
            .map_err(|_| Diagnostic::error(Code::FileMalformed, format!("dimension {size} is too large"))),
        types::Dim::Named(text) => Ok(Dim::symbol(symbols.named(text))),
        types::Dim::Unknown => Ok(Dim::symbol(symbols.fresh(&format!("{name}_{axis}")))),
    };
    let shape: Vec<Dim> = shape.iter().enumerate().map(dim).collect::<Result<_, _>>()?;
    Ok(TensorType { dtype, shape }.into())
}

/// The type of what a sequence or optional holds. Of a stated shape only the rank is taken: extents may vary
/// between elements, and are a claim.
pub(super) fn element_type(ty: Option<&ValueType>) -> Result<Type, Diagnostic> {
    match ty {
        Some(ValueType::Tensor(tensor)) => {
            let dtype = element_dtype(tensor)?;
            Ok(match &tensor.shape {
                Some(shape) => TensorType { dtype, shape: vec![varying(); shape.len()] }.into(),
                None => Type::Unranked(dtype),
            })
        }
        Some(ValueType::Sequence(element)) => Ok(Type::Sequence(Box::new(element_type(element.as_deref())?))),
        Some(ValueType::Optional(element)) => Ok(Type::Optional(Box::new(element_type(element.as_deref())?))),
        _ => Err(unsupported("only tensors, sequences and optionals can be elements".to_owned())),
    }
}

/// The element type that the file states for a tensor, where it states one that the IR has.
pub(super) fn stated_dtype(ty: Option<&ValueType>) -> Option<DType> {
    match ty {
        Some(ValueType::Tensor(tensor)) => dtype(tensor.dtype?).ok(),
        _ => None,
    }
}

fn element_dtype(ty: &types::TensorType) -> Result<DType, Diagnostic> {
    dtype(
        ty.dtype.ok_or_else(|| {
            Diagnostic::error(Code::FileMalformed, "the file doesn't state the element type")
        })?,
    )
}

fn unsupported(message: String) -> Diagnostic {
    Diagnostic::error(Code::UnsupportedOperator, message)
}
