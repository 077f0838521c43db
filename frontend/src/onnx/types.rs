//! The types that a file states for its inputs and outputs.

use tcc_ir::diag::{Code, Diagnostic};

use super::dtype::DataType;

use super::proto::{DimensionValue, TensorShapeProto, TypeProto, type_proto};

/// A stated type. For anything but a model's inputs it is a claim to check, never a fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueType {
    Tensor(TensorType),
    SparseTensor(TensorType),
    /// `None` where the file leaves the element type open.
    Sequence(Option<Box<ValueType>>),
    Optional(Option<Box<ValueType>>),
    Map {
        key: DataType,
        value: Option<Box<ValueType>>,
    },
    Opaque {
        domain: String,
        name: String,
    },
}

/// Element type and shape of a tensor, as far as they are stated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorType {
    pub dtype: Option<DataType>,
    /// `None`: of any rank.
    pub shape: Option<Vec<Dim>>,
}

/// One stated dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dim {
    Known(u64),
    /// A symbol or a formula, as the file spells it: the same text means the same size.
    Named(String),
    /// Not stated, or negative (as some exporters write it).
    Unknown,
}

/// Reads a stated type; `Ok(None)` where the file states none.
pub fn from_proto(proto: Option<&TypeProto>) -> Result<Option<ValueType>, Diagnostic> {
    use type_proto::Value;
    let Some(value) = proto.and_then(|proto| proto.value.as_ref()) else { return Ok(None) };
    let element = |element: &type_proto::Element| -> Result<_, Diagnostic> {
        Ok(from_proto(element.elem_type.as_deref())?.map(Box::new))
    };
    Ok(Some(match value {
        Value::TensorType(tensor) => ValueType::Tensor(tensor_type(tensor)?),
        Value::SparseTensorType(tensor) => ValueType::SparseTensor(tensor_type(tensor)?),
        Value::SequenceType(sequence) => ValueType::Sequence(element(sequence)?),
        Value::OptionalType(optional) => ValueType::Optional(element(optional)?),
        Value::MapType(map) => ValueType::Map {
            key: dtype(map.key_type)?
                .ok_or_else(|| Diagnostic::error(Code::FileMalformed, "a map type has no key type"))?,
            value: from_proto(map.value_type.as_deref())?.map(Box::new),
        },
        Value::OpaqueType(opaque) => ValueType::Opaque {
            domain: opaque.domain.clone().unwrap_or_default(),
            name: opaque.name.clone().unwrap_or_default(),
        },
    }))
}

fn tensor_type(tensor: &type_proto::Tensor) -> Result<TensorType, Diagnostic> {
    Ok(TensorType { dtype: dtype(tensor.elem_type)?, shape: tensor.shape.as_ref().map(shape) })
}

fn dtype(number: Option<i32>) -> Result<Option<DataType>, Diagnostic> {
    match number.unwrap_or(0) {
        0 => Ok(None),
        number => DataType::from_number(number)
            .map(Some)
            .ok_or_else(|| Diagnostic::error(Code::FormatVersion, format!("unknown element type {number}"))),
    }
}

fn shape(shape: &TensorShapeProto) -> Vec<Dim> {
    shape
        .dim
        .iter()
        .map(|dim| match &dim.value {
            Some(DimensionValue::DimValue(value)) => u64::try_from(*value).map_or(Dim::Unknown, Dim::Known),
            Some(DimensionValue::DimParam(name)) if !name.is_empty() => Dim::Named(name.clone()),
            _ => Dim::Unknown,
        })
        .collect()
}
