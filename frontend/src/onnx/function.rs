//! Model-local functions: the table of them, and the frames that their calls make while they are inlined.

use std::rc::Rc;

use indexmap::IndexMap;
use prost::Message;

use tcc_ir::diag::{Code, Diagnostic};

use super::model::GraphId;
use super::opset::{Opsets, canonical_domain};
use super::problems::Problems;
use super::proto::{AttributeProto, FunctionProto, NodeProto};
use super::scope::ScopeId;

/// What all calls of functions together may add to a model: a few functions of ten calls each would
/// otherwise make a file of a kilobyte stand for more nodes than any machine holds.
pub(super) const MAX_EXPANSION_BYTES: usize = 1 << 28;

/// How deep functions may call each other.
pub(super) const MAX_CALL_DEPTH: usize = 256;

/// What a node costs in memory beside its own fields.
const NODE_BYTES: usize = 256;

/// A function, ready to be inlined.
pub(super) struct Function {
    /// `domain.name`, for messages.
    pub title: String,
    pub inputs: Vec<String>,
    pub outputs: Vec<String>,
    pub nodes: Rc<[NodeProto]>,
    pub opsets: Rc<Opsets>,
    pub defaults: Vec<Rc<AttributeProto>>,
    /// What one call adds, counted against [`MAX_EXPANSION_BYTES`].
    pub expansion_bytes: usize,
}

/// The functions of a model by canonical domain, name and overload.
#[derive(Default)]
pub(super) struct Functions(IndexMap<(String, String, String), Function>);

impl Functions {
    pub fn new(protos: Vec<FunctionProto>, model_opsets: &Opsets, problems: &mut Problems) -> Self {
        let mut functions = Functions::default();
        for proto in protos {
            let domain = canonical_domain(proto.domain.as_deref()).to_owned();
            let name = proto.name.unwrap_or_default();
            let title = format!("{domain}.{name}");
            let function = Function {
                inputs: proto.input,
                outputs: proto.output,
                expansion_bytes: proto.node.iter().map(expansion_bytes).sum::<usize>() + NODE_BYTES,
                nodes: proto.node.into(),
                opsets: Rc::new(Opsets::from_imports(&proto.opset_import, problems).or(model_opsets)),
                defaults: proto.attribute_proto.into_iter().map(Rc::new).collect(),
                title: title.clone(),
            };
            if functions.0.insert((domain, name, proto.overload.unwrap_or_default()), function).is_some() {
                problems.push(Diagnostic::error(
                    Code::InvalidGraph,
                    format!("function {title} is defined twice"),
                ));
            }
        }
        functions
    }

    /// The number of the function that `node` calls, where it calls one.
    pub fn called_by(&self, node: &NodeProto) -> Option<usize> {
        if self.0.is_empty() {
            return None;
        }
        self.0.get_index_of(&(
            canonical_domain(node.domain.as_deref()).to_owned(),
            node.op_type.clone().unwrap_or_default(),
            node.overload.clone().unwrap_or_default(),
        ))
    }

    pub fn get(&self, number: usize) -> &Function {
        &self.0[number]
    }
}

/// What a copy of the node takes. Raw tensor data is shared by all copies.
fn expansion_bytes(node: &NodeProto) -> usize {
    let tensors = node.attribute.iter().flat_map(|attribute| attribute.t.iter().chain(&attribute.tensors));
    let shared: usize = tensors.filter_map(|tensor| tensor.raw_data.as_ref()).map(|raw| raw.len()).sum();
    NODE_BYTES + node.encoded_len() - shared
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameId(pub u32);

/// Where a node list is being read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context {
    pub frame: FrameId,
    pub scope: ScopeId,
    pub graph: GraphId,
    /// How many graphs are around this one.
    pub depth: usize,
}

/// The model itself, or one call of a function.
pub(super) struct Frame {
    /// The function's number and the frame of the call; `None` for the model.
    pub call: Option<(usize, FrameId)>,
    pub opsets: Rc<Opsets>,
    /// The call's attributes by name, each with where a graph in it belongs.
    pub attributes: IndexMap<String, (Rc<AttributeProto>, Context)>,
    /// Before the names of values and nodes, so that those of two calls differ.
    pub prefix: String,
}
