//! From messages to a [`Model`]: numbers every value, follows names through scopes, has calls of model-local
//! functions inlined (`inline.rs`) and turns `Constant` nodes into constants.
//!
//! Graphs in attributes are queued and function bodies kept on a stack of this module's own, so nothing here
//! recurses by how deep a file nests.

use std::collections::VecDeque;
use std::rc::Rc;

use indexmap::{IndexMap, IndexSet};
use prost::Message;
use prost::bytes::Bytes;

use tcc_ir::diag::{Code, Diagnostic, Diagnostics};

use super::attribute::{self, Attribute};
use super::external::ExternalFiles;
use super::function::{Context, Frame, FrameId, Functions};
use super::inline::Call;
use super::label::NodeLabel;
use super::model::{Graph, GraphId, Input, Model, Node, Output, Value, ValueId};
use super::opset::{self, ONNX_DOMAIN, Opsets, canonical_domain};
use super::problems::Problems;
use super::proto::{AttributeProto, GraphProto, ModelProto, NodeProto, ValueInfoProto};
use super::scope::Scopes;
use super::tensor::Tensor;
use super::types::{self, ValueType};
use super::{constant, order, sparse, tensor};

/// How deep control flow may nest: what follows the loader handles bodies by recursion.
pub const MAX_SUBGRAPH_DEPTH: usize = 512;

/// Builds the model that `proto` describes, or says all that is wrong with it.
pub(super) fn resolve(proto: ModelProto, files: ExternalFiles) -> Result<Model, Diagnostics> {
    let mut problems = Problems::default();
    let ir_version = proto.ir_version.unwrap_or(0);
    problems.check(opset::check_ir_version(ir_version));
    if proto.opset_import.is_empty() {
        problems.push(Diagnostic::error(Code::FileMalformed, "the model imports no operator set"));
    }
    let opsets = Opsets::from_imports(&proto.opset_import, &mut problems);
    let Some(main) = proto.graph else {
        problems.push(Diagnostic::error(Code::FileMalformed, "the model has no graph"));
        return Err(problems.into());
    };
    let functions = Functions::new(proto.functions, &opsets, &mut problems);
    let mut resolver = Resolver {
        problems,
        files,
        functions,
        graphs: vec![Graph::default()],
        values: Vec::new(),
        scopes: Scopes::default(),
        frames: vec![Frame {
            call: None,
            opsets: Rc::new(opsets.clone()),
            attributes: IndexMap::new(),
            prefix: String::new(),
        }],
        pending: VecDeque::new(),
        expanded_bytes: 0,
        inlining: true,
    };
    resolver.run(main);
    let Resolver { mut problems, mut graphs, values, .. } = resolver;
    order::find_captures(&mut graphs, &values);
    // Names that are wrong can look like a cycle, so that is only looked for once they are right.
    if !problems.has(Code::InvalidGraph) {
        order::sort_nodes(&mut graphs, &values, &mut problems);
    }
    problems.or(Model {
        ir_version,
        producer: [proto.producer_name, proto.producer_version]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" "),
        opsets,
        metadata: proto
            .metadata_props
            .into_iter()
            .map(|entry| (entry.key.unwrap_or_default(), entry.value.unwrap_or_default()))
            .collect(),
        graphs,
        values,
    })
}

pub(super) struct Resolver {
    pub(super) problems: Problems,
    files: ExternalFiles,
    pub(super) functions: Functions,
    pub(super) graphs: Vec<Graph>,
    values: Vec<Value>,
    pub(super) scopes: Scopes,
    pub(super) frames: Vec<Frame>,
    /// Graphs of attributes that have an id but aren't read yet, with the node they belong to.
    pending: VecDeque<(Bytes, Context, NodeLabel)>,
    pub(super) expanded_bytes: usize,
    /// Off after the first call that can't be inlined: the rest would only repeat the problem.
    pub(super) inlining: bool,
}

/// A node list that is being read.
pub(super) struct Body {
    pub nodes: Rc<[NodeProto]>,
    pub next: usize,
    pub ctx: Context,
}

impl Resolver {
    fn run(&mut self, main: GraphProto) {
        let scope = self.scopes.add(None);
        self.graph(main, Context { frame: FrameId(0), scope, graph: Model::MAIN, depth: 0 });
        while let Some((bytes, ctx, label)) = self.pending.pop_front() {
            match GraphProto::decode(bytes) {
                Ok(proto) => self.graph(proto, ctx),
                Err(error) => self.problems.push(
                    Diagnostic::error(Code::FileMalformed, format!("a subgraph can't be decoded: {error}"))
                        .at(&label),
                ),
            }
        }
    }

    fn graph(&mut self, proto: GraphProto, ctx: Context) {
        let inputs = self.inputs(&proto, ctx);
        self.initializers(&proto, ctx);
        self.nodes(proto.node.into(), ctx);
        let outputs = self.outputs(proto.output, ctx);
        let graph = &mut self.graphs[ctx.graph.0 as usize];
        graph.name = proto.name.unwrap_or_default();
        graph.inputs = inputs;
        graph.outputs = outputs;
    }

    fn inputs(&mut self, proto: &GraphProto, ctx: Context) -> Vec<Input> {
        let is_main = ctx.graph == Model::MAIN;
        let names =
            proto.initializer.iter().chain(proto.sparse_initializer.iter().filter_map(|s| s.values.as_ref()));
        let initialised: IndexSet<&str> = names.filter_map(|tensor| tensor.name.as_deref()).collect();
        let mut inputs = Vec::new();
        for info in &proto.input {
            let name = info.name.as_deref().unwrap_or("");
            if is_main && initialised.contains(name) {
                continue;
            }
            let ty = self.stated_type(info, "input");
            if is_main && ty.is_none() {
                self.problems
                    .push(Diagnostic::error(Code::FileMalformed, format!("input `{name}` has no type")));
            }
            inputs.push(Input { value: self.declare(name, "graph input", ctx), ty });
        }
        inputs
    }

    fn outputs(&mut self, infos: Vec<ValueInfoProto>, ctx: Context) -> Vec<Output> {
        let mut outputs = Vec::new();
        for info in infos {
            let ty = self.stated_type(&info, "output");
            let name = info.name.unwrap_or_default();
            match self.scopes.lookup(ctx.scope, &name).flatten() {
                Some(value) => outputs.push(Output { name, value, ty }),
                None => self.problems.push(Diagnostic::error(
                    Code::InvalidGraph,
                    format!("graph output `{name}` is not defined by anything in the graph"),
                )),
            }
        }
        outputs
    }

    fn stated_type(&mut self, info: &ValueInfoProto, role: &str) -> Option<ValueType> {
        let name = info.name.as_deref().unwrap_or("");
        let ty = types::from_proto(info.r#type.as_ref());
        self.problems.check(ty.map_err(|problem| problem.at(format_args!("{role} `{name}`")))).flatten()
    }

    fn initializers(&mut self, proto: &GraphProto, ctx: Context) {
        for initializer in &proto.initializer {
            let tensor = tensor::decode(initializer, &mut self.files);
            self.initializer(initializer.name.as_deref(), tensor, ctx);
        }
        for initializer in &proto.sparse_initializer {
            let tensor = sparse::decode(initializer, &mut self.files);
            self.initializer(
                initializer.values.as_ref().and_then(|values| values.name.as_deref()),
                tensor,
                ctx,
            );
        }
    }

    fn initializer(&mut self, name: Option<&str>, tensor: Result<Tensor, Diagnostic>, ctx: Context) {
        let name = name.unwrap_or("");
        let value = self.declare(name, "initializer", ctx);
        let tensor = tensor.map_err(|problem| problem.at(format_args!("initializer `{name}`")));
        if let Some(tensor) = self.problems.check(tensor) {
            self.graphs[ctx.graph.0 as usize].constants.push((value, tensor));
        }
    }

    /// Reads `nodes` and the bodies of the functions that they call, in the order of execution.
    fn nodes(&mut self, nodes: Rc<[NodeProto]>, ctx: Context) {
        self.declare_outputs(&nodes, &IndexMap::new(), ctx);
        let mut stack = vec![Body { nodes, next: 0, ctx }];
        while let Some(body) = stack.last_mut() {
            let (nodes, index, ctx) = (Rc::clone(&body.nodes), body.next, body.ctx);
            let Some(node) = nodes.get(index) else {
                stack.pop();
                continue;
            };
            body.next += 1;
            stack.extend(self.node(node, index, ctx));
        }
    }

    /// Names what the nodes of one list define; `bound` has those names that stand for a value already.
    pub(super) fn declare_outputs(
        &mut self,
        nodes: &[NodeProto],
        bound: &IndexMap<&str, ValueId>,
        ctx: Context,
    ) {
        for (index, node) in nodes.iter().enumerate() {
            for name in node.output.iter().filter(|name| !name.is_empty()) {
                let value = match bound.get(name.as_str()) {
                    Some(&value) => value,
                    None => self.add_value(name, ctx),
                };
                if !self.scopes.declare(ctx.scope, name, Some(value)) {
                    let label = self.label(node, index, ctx);
                    let problem =
                        Diagnostic::error(Code::InvalidGraph, format!("output `{name}` is already defined"));
                    self.problems.push(problem.at(&label));
                }
            }
        }
    }

    /// Reads one node; gives the body to read next where it calls a function.
    fn node(&mut self, node: &NodeProto, index: usize, ctx: Context) -> Option<Body> {
        let label = self.label(node, index, ctx);
        let inputs: Vec<_> = node.input.iter().map(|name| self.resolve(name, &label, ctx)).collect();
        // The empty name of an output left out is in no scope.
        let outputs: Vec<_> =
            node.output.iter().map(|name| self.scopes.own(ctx.scope, name).flatten()).collect();
        if let Some(function) = self.functions.called_by(node) {
            return self.call(function, Call { node, label, inputs, outputs }, ctx);
        }
        if label.opset == 0 {
            self.problems.push(
                Diagnostic::error(
                    Code::FormatVersion,
                    format!("the model doesn't import domain {}", label.domain),
                )
                .at(&label),
            );
        }
        let attributes = self.attributes(node, &label, ctx);
        let graph = ctx.graph.0 as usize;
        if label.op_type == "Constant" && label.domain == ONNX_DOMAIN {
            let tensor = constant::tensor(&attributes).map_err(|problem| problem.at(&label));
            if let (Some(tensor), Some(&Some(value))) = (self.problems.check(tensor), outputs.first()) {
                self.graphs[graph].constants.push((value, tensor));
            }
        } else {
            self.graphs[graph].nodes.push(Node { label, inputs, outputs, attributes });
        }
        None
    }

    fn resolve(&mut self, name: &str, label: &NodeLabel, ctx: Context) -> Option<ValueId> {
        if name.is_empty() {
            return None;
        }
        match self.scopes.lookup(ctx.scope, name) {
            Some(value) => value,
            None => {
                let problem = Diagnostic::error(
                    Code::InvalidGraph,
                    format!("input `{name}` is not defined by anything"),
                );
                self.problems.push(problem.at(label));
                None
            }
        }
    }

    fn attributes(
        &mut self,
        node: &NodeProto,
        label: &NodeLabel,
        ctx: Context,
    ) -> IndexMap<String, Attribute> {
        let mut attributes = IndexMap::new();
        for proto in &node.attribute {
            let name = proto.name.clone().unwrap_or_default();
            let followed = self.follow(proto, ctx).map_err(|problem| self.located(problem, &name, label));
            let Some(followed) = self.problems.check(followed) else { continue };
            let (value, origin) = match &followed {
                Followed::Own => (proto, ctx),
                Followed::Given(value, origin) => (&**value, *origin),
                Followed::NotGiven => continue,
            };
            let decoded = self.decode_attribute(value, origin, label, ctx);
            let decoded = decoded.map_err(|problem| self.located(problem, &name, label));
            let Some(decoded) = self.problems.check(decoded) else { continue };
            if attributes.contains_key(&name) {
                self.problems.push(self.located(
                    Diagnostic::error(Code::FileMalformed, "is given twice"),
                    &name,
                    label,
                ));
            }
            attributes.insert(name, decoded);
        }
        attributes
    }

    pub(super) fn located(&self, problem: Diagnostic, attribute: &str, label: &NodeLabel) -> Diagnostic {
        problem.at(label).at(format_args!("attribute `{attribute}`"))
    }

    /// Where the value of an attribute is: with itself, or with the call of the function that it is in.
    pub(super) fn follow(&self, proto: &AttributeProto, ctx: Context) -> Result<Followed, Diagnostic> {
        let Some(reference) = proto.ref_attr_name.as_deref().filter(|name| !name.is_empty()) else {
            return Ok(Followed::Own);
        };
        let frame = &self.frames[ctx.frame.0 as usize];
        if frame.call.is_none() {
            return Err(Diagnostic::error(
                Code::FileMalformed,
                format!("refers to a function's attribute `{reference}` outside of any function"),
            ));
        }
        let Some((value, origin)) = frame.attributes.get(reference) else { return Ok(Followed::NotGiven) };
        if proto.r#type.is_some() && attribute::kind(proto)? != attribute::kind(value)? {
            return Err(Diagnostic::error(
                Code::FileMalformed,
                format!("is of another kind than the function's attribute `{reference}`"),
            ));
        }
        Ok(Followed::Given(Rc::clone(value), *origin))
    }

    fn decode_attribute(
        &mut self,
        proto: &AttributeProto,
        origin: Context,
        label: &NodeLabel,
        ctx: Context,
    ) -> Result<Attribute, Diagnostic> {
        let Resolver { files, graphs, scopes, pending, .. } = self;
        let depth = ctx.depth + 1;
        let mut too_deep = false;
        let attribute = attribute::decode(proto, files, |bytes| {
            let graph = GraphId(graphs.len() as u32);
            graphs.push(Graph::default());
            if depth > MAX_SUBGRAPH_DEPTH {
                too_deep = true;
            } else {
                let scope = scopes.add(Some(origin.scope));
                pending.push_back((
                    bytes,
                    Context { frame: origin.frame, scope, graph, depth },
                    label.clone(),
                ));
            }
            graph
        });
        if too_deep {
            return Err(Diagnostic::error(
                Code::ResourceLimit,
                format!("subgraphs nest deeper than {MAX_SUBGRAPH_DEPTH} levels"),
            ));
        }
        attribute
    }

    /// A new value under a name that must be new to the scope.
    fn declare(&mut self, name: &str, role: &str, ctx: Context) -> ValueId {
        let value = self.add_value(name, ctx);
        if name.is_empty() {
            self.problems.push(Diagnostic::error(Code::InvalidGraph, format!("{role} without a name")));
        } else if !self.scopes.declare(ctx.scope, name, Some(value)) {
            self.problems
                .push(Diagnostic::error(Code::InvalidGraph, format!("{role} `{name}` is already defined")));
        }
        value
    }

    fn add_value(&mut self, name: &str, ctx: Context) -> ValueId {
        let name = format!("{}{name}", self.frames[ctx.frame.0 as usize].prefix);
        self.values.push(Value { name, graph: ctx.graph });
        ValueId(self.values.len() as u32 - 1)
    }

    fn label(&self, node: &NodeProto, index: usize, ctx: Context) -> NodeLabel {
        let frame = &self.frames[ctx.frame.0 as usize];
        let domain = canonical_domain(node.domain.as_deref());
        let name = match (node.name.as_deref(), node.output.first()) {
            (Some(name), _) if !name.is_empty() => format!("{}{name}", frame.prefix),
            (_, Some(output)) => format!("{}#{index} -> {output}", frame.prefix),
            (_, None) => format!("{}#{index}", frame.prefix),
        };
        NodeLabel {
            name,
            op_type: node.op_type.clone().unwrap_or_default(),
            domain: domain.to_owned(),
            opset: frame.opsets.version(domain).unwrap_or(0),
        }
    }
}

/// Where [`Resolver::follow`] found the value of an attribute.
pub(super) enum Followed {
    Own,
    Given(Rc<AttributeProto>, Context),
    /// It refers to an attribute of the function that the call leaves out: the node doesn't have it either.
    NotGiven,
}
