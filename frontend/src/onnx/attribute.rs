//! Attributes of a node, decoded and checked against the kind they say they are.

use prost::bytes::Bytes;

use tcc_ir::diag::{Code, Diagnostic};

use super::external::ExternalFiles;
use super::model::GraphId;

use super::proto::{AttributeProto, AttributeType};
use super::sparse;
use super::tensor::{self, Tensor};
use super::types::{self, ValueType};

/// An attribute's value.
#[derive(Clone, Debug, PartialEq)]
pub enum Attribute {
    Float(f32),
    Int(i64),
    String(String),
    /// A tensor, or the dense form of a sparse one.
    Tensor(Tensor),
    Graph(GraphId),
    Type(ValueType),
    Floats(Vec<f32>),
    Ints(Vec<i64>),
    Strings(Vec<String>),
    Tensors(Vec<Tensor>),
    Graphs(Vec<GraphId>),
    Types(Vec<ValueType>),
}

/// Decodes `proto`, whose reference to a function's attribute (if any) has been followed. `add_graph` takes
/// each encoded graph and gives the id it will have.
pub(super) fn decode(
    proto: &AttributeProto,
    files: &mut ExternalFiles,
    mut add_graph: impl FnMut(Bytes) -> GraphId,
) -> Result<Attribute, Diagnostic> {
    let missing = || malformed("has no value");
    Ok(match kind(proto)? {
        // Writers that leave zeros out, as proto3 does, mean zero.
        AttributeType::Float => Attribute::Float(proto.f.unwrap_or(0.0)),
        AttributeType::Int => Attribute::Int(proto.i.unwrap_or(0)),
        AttributeType::String => Attribute::String(tensor::text(proto.s.as_deref().unwrap_or(b""))?),
        AttributeType::Tensor => {
            Attribute::Tensor(tensor::decode(proto.t.as_ref().ok_or_else(missing)?, files)?)
        }
        AttributeType::SparseTensor => {
            Attribute::Tensor(sparse::decode(proto.sparse_tensor.as_ref().ok_or_else(missing)?, files)?)
        }
        AttributeType::Graph => Attribute::Graph(add_graph(proto.g.clone().ok_or_else(missing)?)),
        AttributeType::TypeProto => {
            Attribute::Type(types::from_proto(proto.tp.as_ref())?.ok_or_else(missing)?)
        }
        AttributeType::Floats => Attribute::Floats(proto.floats.clone()),
        AttributeType::Ints => Attribute::Ints(proto.ints.clone()),
        AttributeType::Strings => Attribute::Strings(
            proto.strings.iter().map(|bytes| tensor::text(bytes)).collect::<Result<_, _>>()?,
        ),
        AttributeType::Tensors => Attribute::Tensors(
            proto.tensors.iter().map(|tensor| tensor::decode(tensor, files)).collect::<Result<_, _>>()?,
        ),
        AttributeType::SparseTensors => Attribute::Tensors(
            proto
                .sparse_tensors
                .iter()
                .map(|tensor| sparse::decode(tensor, files))
                .collect::<Result<_, _>>()?,
        ),
        AttributeType::Graphs => Attribute::Graphs(proto.graphs.iter().cloned().map(add_graph).collect()),
        AttributeType::TypeProtos => Attribute::Types(
            proto
                .type_protos
                .iter()
                .map(|ty| types::from_proto(Some(ty))?.ok_or_else(missing))
                .collect::<Result<_, _>>()?,
        ),
        AttributeType::Undefined => return Err(missing()),
    })
}

/// The kind stated, or else the kind of the one field that is there: old files don't state it.
pub(super) fn kind(proto: &AttributeProto) -> Result<AttributeType, Diagnostic> {
    let stated = proto.r#type.unwrap_or(0);
    match AttributeType::try_from(stated) {
        Err(_) => Err(Diagnostic::error(Code::FormatVersion, format!("has an unknown kind ({stated})"))),
        Ok(AttributeType::Undefined) => Ok(kind_of_content(proto)),
        Ok(kind) => Ok(kind),
    }
}

fn kind_of_content(proto: &AttributeProto) -> AttributeType {
    let present = [
        (proto.f.is_some(), AttributeType::Float),
        (proto.i.is_some(), AttributeType::Int),
        (proto.s.is_some(), AttributeType::String),
        (proto.t.is_some(), AttributeType::Tensor),
        (proto.g.is_some(), AttributeType::Graph),
        (proto.tp.is_some(), AttributeType::TypeProto),
        (proto.sparse_tensor.is_some(), AttributeType::SparseTensor),
        (!proto.floats.is_empty(), AttributeType::Floats),
        (!proto.ints.is_empty(), AttributeType::Ints),
        (!proto.strings.is_empty(), AttributeType::Strings),
        (!proto.tensors.is_empty(), AttributeType::Tensors),
        (!proto.graphs.is_empty(), AttributeType::Graphs),
    ];
    present.iter().find(|(is_present, _)| *is_present).map_or(AttributeType::Undefined, |(_, kind)| *kind)
}

fn malformed(message: &str) -> Diagnostic {
    Diagnostic::error(Code::FileMalformed, message)
}
