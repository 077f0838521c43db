//! A model as the importer reads it: a flat list of graphs over numbered values.
//!
//! Invariants of a loaded [`Model`]: every value has one definition; a graph's nodes are in topological
//! order, with what their subgraphs capture counted among their inputs; a subgraph's id is greater than that
//! of the graph it is in; no node calls a model-local function and none is a `Constant`.

use std::path::Path;

use indexmap::IndexMap;
use prost::Message;
use prost::bytes::Bytes;

use tcc_ir::diag::{Code, Diagnostic, Diagnostics};

use super::attribute::Attribute;
use super::external::{ExternalFiles, map_file};
use super::label::NodeLabel;
use super::opset::Opsets;
use super::proto::ModelProto;
use super::resolve;
use super::tensor::Tensor;
use super::types::ValueType;

/// Protobuf's own limit: what no other reader of the format would take either.
const MAX_FILE_BYTES: usize = (1 << 31) - 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GraphId(pub u32);

/// A checked model.
#[derive(Debug)]
pub struct Model {
    pub ir_version: i64,
    /// Which program wrote the file, with its version.
    pub producer: String,
    pub opsets: Opsets,
    pub metadata: Vec<(String, String)>,
    /// The main graph, then every subgraph.
    pub graphs: Vec<Graph>,
    pub values: Vec<Value>,
}

impl Model {
    pub const MAIN: GraphId = GraphId(0);

    pub fn main(&self) -> &Graph {
        self.graph(Self::MAIN)
    }

    pub fn graph(&self, id: GraphId) -> &Graph {
        &self.graphs[id.0 as usize]
    }

    pub fn value(&self, id: ValueId) -> &Value {
        &self.values[id.0 as usize]
    }
}

/// One value: what a name in the file stands for, in its scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// The name in the file; inside an inlined function after the names of the calls.
    pub name: String,
    /// The graph whose input, constant or node defines it.
    pub graph: GraphId,
}

/// The main graph or the body of a control-flow node.
#[derive(Debug, Default)]
pub struct Graph {
    pub name: String,
    /// Without those that an initialiser gives a value: these are constants, in every IR version.
    pub inputs: Vec<Input>,
    pub outputs: Vec<Output>,
    /// Initialisers and `Constant` nodes.
    pub constants: Vec<(ValueId, Tensor)>,
    pub nodes: Vec<Node>,
    /// Values of enclosing graphs that this one or a graph inside it reads, ascending. Empty for the main graph.
    pub captures: Vec<ValueId>,
}

#[derive(Debug)]
pub struct Input {
    pub value: ValueId,
    pub ty: Option<ValueType>,
}

/// A result of a graph. Its name may differ from its value's where a function was inlined.
#[derive(Debug)]
pub struct Output {
    pub name: String,
    pub value: ValueId,
    /// What the file claims; a check at most.
    pub ty: Option<ValueType>,
}

#[derive(Debug)]
pub struct Node {
    pub label: NodeLabel,
    /// `None`: an optional input that isn't given.
    pub inputs: Vec<Option<ValueId>>,
    /// `None`: an output that nobody asks for.
    pub outputs: Vec<Option<ValueId>>,
    pub attributes: IndexMap<String, Attribute>,
}

impl Node {
    /// The bodies among its attributes.
    pub fn subgraphs(&self) -> impl Iterator<Item = GraphId> {
        self.attributes.values().flat_map(|attribute| match attribute {
            Attribute::Graph(id) => std::slice::from_ref(id).iter().copied(),
            Attribute::Graphs(ids) => ids.iter().copied(),
            _ => [].iter().copied(),
        })
    }
}

/// Reads the model at `path`, with the external data beside it.
pub fn load(path: &Path) -> Result<Model, Diagnostics> {
    let io = |error| Diagnostic::error(Code::FileUnreadable, format!("{}: {error}", path.display()));
    let bytes = map_file(path).map_err(io)?;
    let files = ExternalFiles::beside(path).map_err(io)?;
    load_bytes(bytes, files)
}

/// Reads a model out of memory. Its tensors are slices of `bytes` wherever possible.
pub fn load_bytes(bytes: Bytes, files: ExternalFiles) -> Result<Model, Diagnostics> {
    if bytes.len() > MAX_FILE_BYTES {
        return Err(Diagnostic::error(Code::ResourceLimit, "the model file is larger than 2 GiB")
            .help("save its weights as external data")
            .into());
    }
    let proto = ModelProto::decode(bytes)
        .map_err(|error| Diagnostic::error(Code::FileMalformed, format!("not an ONNX model: {error}")))?;
    resolve::resolve(proto, files)
}
