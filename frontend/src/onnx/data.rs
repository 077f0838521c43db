//! Values in files of their own, as test sets store inputs and outputs: tensors, sequences and optionals.

use std::path::Path;

use prost::Message;
use prost::bytes::Bytes;

use tcc_ir::diag::{Code, Diagnostic};

use super::external::{ExternalFiles, map_file};

use super::proto::{ElementKind, OptionalProto, SequenceProto, TensorProto};
use super::tensor::{self, Tensor};
use super::types::ValueType;

/// A value of any type but a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Data {
    Tensor(Tensor),
    Sequence(Vec<Data>),
    Optional(Option<Box<Data>>),
}

/// Reads the file at `path`, whose bytes don't say of which kind they are: `ty` does.
pub fn read(path: &Path, ty: &ValueType) -> Result<Data, Diagnostic> {
    let place = path.display();
    let bytes = map_file(path)
        .map_err(|error| Diagnostic::error(Code::FileUnreadable, format!("{place}: {error}")))?;
    decode(bytes, ty).map_err(|problem| problem.at(place))
}

fn decode(bytes: Bytes, ty: &ValueType) -> Result<Data, Diagnostic> {
    let malformed =
        |error| Diagnostic::error(Code::FileMalformed, format!("not a value of the type: {error}"));
    match ty {
        ValueType::Tensor(_) => tensor(&TensorProto::decode(bytes).map_err(malformed)?),
        ValueType::Sequence(_) => sequence(&SequenceProto::decode(bytes).map_err(malformed)?),
        ValueType::Optional(_) => optional(&OptionalProto::decode(bytes).map_err(malformed)?),
        _ => Err(unsupported()),
    }
}

fn tensor(proto: &TensorProto) -> Result<Data, Diagnostic> {
    tensor::decode(proto, &mut ExternalFiles::none()).map(Data::Tensor)
}

fn sequence(proto: &SequenceProto) -> Result<Data, Diagnostic> {
    let elements: Result<Vec<Data>, Diagnostic> = match proto.elem_type() {
        ElementKind::Tensor | ElementKind::Undefined => proto.tensor_values.iter().map(tensor).collect(),
        ElementKind::Sequence => proto.sequence_values.iter().map(sequence).collect(),
        ElementKind::Optional => proto.optional_values.iter().map(optional).collect(),
        ElementKind::SparseTensor | ElementKind::Map => Err(unsupported()),
    };
    elements.map(Data::Sequence)
}

fn optional(proto: &OptionalProto) -> Result<Data, Diagnostic> {
    let value = match proto.elem_type() {
        ElementKind::Undefined => None,
        ElementKind::Tensor => proto.tensor_value.as_ref().map(tensor),
        ElementKind::Sequence => proto.sequence_value.as_deref().map(sequence),
        ElementKind::Optional => proto.optional_value.as_deref().map(optional),
        ElementKind::SparseTensor | ElementKind::Map => Some(Err(unsupported())),
    };
    Ok(Data::Optional(value.transpose()?.map(Box::new)))
}

fn unsupported() -> Diagnostic {
    Diagnostic::error(Code::FormatVersion, "maps, sparse tensors and opaque values aren't read from files")
}
