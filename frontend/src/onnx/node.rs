//! What an import function works with: the node's inputs, the graph it adds to, and the errors it may give.
//! Attributes are in `attrs.rs`, shorthands for IR operators in `build.rs`.

use std::cell::RefCell;

use indexmap::IndexSet;
use tcc_ir::diag::Code;
use tcc_ir::{Dim, Loc, Mismatch, Op, TensorType, Type, ValueId};

use super::import::{Importer, Region};
use super::model::{self, GraphId, Node};

pub type Result<T, E = ImportError> = std::result::Result<T, E>;

/// How many regions a model may need.
const MAX_REGIONS: usize = 10_000;

/// Why a node can't be imported.
#[derive(Clone, Debug)]
pub enum ImportError {
    Wrong(Code, String),
    /// The reason is among the problems already: a node of a body failed.
    Reported,
}

impl ImportError {
    /// The operator allows it, but tcc doesn't do it.
    pub fn unsupported(message: impl Into<String>) -> Self {
        ImportError::Wrong(Code::UnsupportedOperator, message.into())
    }

    /// An attribute or input has a value that the operator doesn't allow.
    pub fn invalid(message: impl Into<String>) -> Self {
        ImportError::Wrong(Code::InvalidAttribute, message.into())
    }
}

impl From<Mismatch> for ImportError {
    fn from(mismatch: Mismatch) -> Self {
        ImportError::Wrong(Code::TypeMismatch, mismatch.0)
    }
}

fn unranked() -> ImportError {
    ImportError::unsupported("the rank of an input is known only when the model runs")
}

/// One node that is being imported.
pub struct NodeCx<'a, 'm> {
    pub(super) importer: &'a mut Importer<'m>,
    pub(super) region: &'a mut Region,
    pub(super) node: &'m Node,
    pub(super) loc: Loc,
    inputs: Vec<Option<ValueId>>,
    /// What the import function has looked at; the rest it would silently ignore.
    seen_inputs: RefCell<IndexSet<usize>>,
    pub(super) seen_attributes: RefCell<IndexSet<&'m str>>,
}

impl<'a, 'm> NodeCx<'a, 'm> {
    pub(super) fn new(
        importer: &'a mut Importer<'m>,
        region: &'a mut Region,
        node: &'m Node,
        inputs: Vec<Option<ValueId>>,
    ) -> Self {
        let loc = node.label.loc();
        let (seen_inputs, seen_attributes) = Default::default();
        NodeCx { importer, region, node, loc, inputs, seen_inputs, seen_attributes }
    }

    pub fn op_type(&self) -> &'m str {
        &self.node.label.op_type
    }

    /// The version of the operator's domain.
    pub fn opset(&self) -> i64 {
        self.node.label.opset
    }

    /// A required input.
    pub fn input(&self, index: usize) -> Result<ValueId> {
        self.optional_input(index).ok_or_else(|| {
            ImportError::Wrong(Code::InvalidGraph, format!("required input {index} is missing"))
        })
    }

    /// An input that may be left out.
    pub fn optional_input(&self, index: usize) -> Option<ValueId> {
        self.seen_inputs.borrow_mut().insert(index);
        self.inputs.get(index).copied().flatten()
    }

    /// All inputs of an operator that takes any number and lets none out.
    pub fn inputs(&self) -> Result<Vec<ValueId>> {
        (0..self.n_inputs()).map(|index| self.input(index)).collect()
    }

    /// How many inputs are listed, left out or not.
    pub fn n_inputs(&self) -> usize {
        self.inputs.len()
    }

    /// How many outputs are listed, asked for or not.
    pub fn n_outputs(&self) -> usize {
        self.node.outputs.len()
    }

    /// Whether anything asks for the output.
    pub fn wants_output(&self, index: usize) -> bool {
        self.node.outputs.get(index).is_some_and(Option::is_some)
    }

    pub fn ty(&self, value: ValueId) -> &Type {
        self.region.graph.ty(value)
    }

    /// The type of a value that must be a tensor.
    pub fn tensor_type(&self, value: ValueId) -> Result<TensorType> {
        Ok(self.tensor(value)?.clone())
    }

    pub fn dtype(&self, value: ValueId) -> Result<tcc_ir::DType> {
        match self.ty(value) {
            Type::Unranked(dtype) => Ok(*dtype),
            _ => Ok(self.tensor(value)?.dtype),
        }
    }

    pub fn shape(&self, value: ValueId) -> Result<Vec<Dim>> {
        Ok(self.tensor(value)?.shape.clone())
    }

    pub fn rank(&self, value: ValueId) -> Result<usize> {
        Ok(self.tensor(value)?.rank())
    }

    fn tensor(&self, value: ValueId) -> Result<&TensorType> {
        match self.ty(value) {
            Type::Unranked(_) => Err(unranked()),
            _ => Ok(self.region.graph.tensor_type(value)?),
        }
    }

    /// The elements of a small integer tensor: constants, sizes, or symbols read at run time.
    pub fn elems(&mut self, value: ValueId) -> Result<Vec<Dim>> {
        Ok(self.region.graph.elems(value)?)
    }

    /// The elements of an integer tensor that must be known at compile time; `what` names it in the error.
    pub fn known_ints(&mut self, value: ValueId, what: &str) -> Result<Vec<i64>> {
        let elems: Option<Vec<i64>> = self.elems(value)?.iter().map(Dim::as_const).collect();
        elems.ok_or_else(|| ImportError::unsupported(format!("{what} must be known at compile time")))
    }

    /// The value of a bool with one element, where it is known at compile time.
    pub fn known_bool(&self, value: ValueId) -> Option<bool> {
        let fact = self.region.graph.fact(value);
        match (fact.elems, fact.constant) {
            (Some([elem]), _) => elem.as_const().map(|elem| elem != 0),
            (_, Some(tensor)) if tensor.n_elements() == 1 => Some(tensor.ints()[0] != 0),
            _ => None,
        }
    }

    /// The tensor behind a value that is a constant.
    pub fn constant_of(&self, value: ValueId) -> Option<&tcc_ir::Tensor> {
        self.region.graph.constant_of(value)
    }

    /// Adds an operator with one output.
    pub fn add(&mut self, op: impl Into<Op>, inputs: &[ValueId]) -> Result<ValueId> {
        self.region.graph.add1(op, inputs, &self.loc).map_err(|mismatch| self.refusal(mismatch, inputs))
    }

    /// Adds an operator with any number of outputs.
    pub fn add_all(&mut self, op: impl Into<Op>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        self.region.graph.add(op, inputs, &self.loc).map_err(|mismatch| self.refusal(mismatch, inputs))
    }

    /// Why an operator doesn't take these inputs: nothing is wrong with those whose rank isn't known.
    fn refusal(&self, mismatch: Mismatch, inputs: &[ValueId]) -> ImportError {
        let is_unranked = |value: &ValueId| matches!(self.ty(*value), Type::Unranked(_));
        if inputs.iter().any(is_unranked) { unranked() } else { mismatch.into() }
    }

    pub fn constant(&mut self, tensor: tcc_ir::Tensor) -> ValueId {
        self.region.graph.constant(tensor, &self.loc)
    }

    /// Resolves an axis that may count from the end.
    pub fn axis(&self, axis: i64, rank: usize) -> Result<usize> {
        let from_start = if axis < 0 { axis.checked_add(rank as i64) } else { Some(axis) };
        from_start
            .and_then(|axis| usize::try_from(axis).ok())
            .filter(|&axis| axis < rank)
            .ok_or_else(|| ImportError::invalid(format!("axis {axis} is out of range for rank {rank}")))
    }

    /// Resolves axes, each of which may be given once.
    pub fn axes(&self, axes: &[i64], rank: usize) -> Result<Vec<usize>> {
        let resolved: Vec<usize> = axes.iter().map(|&axis| self.axis(axis, rank)).collect::<Result<_>>()?;
        let distinct: IndexSet<&usize> = resolved.iter().collect();
        if distinct.len() < resolved.len() {
            return Err(ImportError::invalid(format!("axes {axes:?} name an axis twice")));
        }
        Ok(resolved)
    }

    /// Checks that nothing of the node was ignored and that every output asked for is there.
    pub(super) fn finish(&self, outputs: Vec<ValueId>) -> Result<Vec<ValueId>> {
        let unseen = (0..self.inputs.len())
            .find(|index| self.inputs[*index].is_some() && !self.seen_inputs.borrow().contains(index));
        if let Some(index) = unseen {
            return Err(ImportError::Wrong(Code::InvalidGraph, format!("the operator has no input {index}")));
        }
        let seen = self.seen_attributes.borrow();
        if let Some(name) = self.node.attributes.keys().find(|name| !seen.contains(name.as_str())) {
            return Err(ImportError::invalid(format!("the operator has no attribute `{name}`")));
        }
        match (outputs.len()..self.n_outputs()).find(|&index| self.wants_output(index)) {
            Some(index) => Err(ImportError::unsupported(format!("output {index} isn't supported"))),
            None => Ok((0..self.n_outputs())
                .map(|index| outputs.get(index).copied().unwrap_or(ValueId(0)))
                .collect()),
        }
    }

    /// A line for each input, for messages.
    pub(super) fn describe_operands(&self) -> Vec<String> {
        let describe = |(index, input): (usize, &Option<ValueId>)| {
            input.map(|value| format!("input {index}: {}", self.ty(value)))
        };
        self.inputs.iter().enumerate().take(8).filter_map(describe).collect()
    }
}

/// Bodies of control flow.
impl<'a, 'm> NodeCx<'a, 'm> {
    /// What the bodies read from around them and must get as inputs, in a fixed order without repeats.
    pub fn captures(&mut self, bodies: &[GraphId]) -> Vec<model::ValueId> {
        let model = self.importer.model;
        let all: IndexSet<model::ValueId> =
            bodies.iter().flat_map(|&body| model.graph(body).captures.iter().copied()).collect();
        let all: Vec<model::ValueId> = all.into_iter().collect();
        self.importer.needed_inputs(&all, self.region)
    }

    /// The captured values as inputs of the control-flow operator.
    pub fn captured_values(&self, captures: &[model::ValueId]) -> Vec<ValueId> {
        captures.iter().filter_map(|&value| self.region.bound(value)).collect()
    }

    /// Builds a region whose inputs are `formals`, then `captures`. `build` gets a context over the region and
    /// the values of the formals; what it returns becomes the region's outputs. `bodies` are the model's graphs
    /// that it imports: what they read that is known at compile time is known inside too.
    pub fn region(
        &mut self,
        name: &str,
        formals: &[(&str, Type)],
        captures: &[model::ValueId],
        bodies: &[GraphId],
        build: impl FnOnce(&mut NodeCx<'_, 'm>, &[ValueId]) -> Result<Vec<ValueId>>,
    ) -> Result<tcc_ir::Graph> {
        let model = self.importer.model;
        let read: Vec<model::ValueId> =
            bodies.iter().flat_map(|&body| model.graph(body).captures.iter().copied()).collect();
        let mut region = self.importer.inner_region(name, &read, self.region);
        let inputs: Vec<ValueId> =
            formals.iter().map(|(name, ty)| region.add_input(name, ty.clone())).collect();
        for (&value, outer) in captures.iter().zip(self.captured_values(captures)) {
            let inner = region.add_input(&model.value(value).name, self.ty(outer).clone());
            region.bind(value, Some(inner));
        }
        let mut cx = NodeCx::new(self.importer, &mut region, self.node, Vec::new());
        let outputs = build(&mut cx, &inputs)?;
        region.graph.set_outputs(outputs.into_iter().map(|value| (value, String::new())).collect());
        Ok(region.graph)
    }

    /// The prefix of the symbols of the next region. Bodies of loops in loops are built several times over, so
    /// their number is limited.
    pub fn next_region_prefix(&self) -> Result<String> {
        let number = self.importer.n_regions() + 1;
        if number > MAX_REGIONS {
            return Err(ImportError::Wrong(Code::ResourceLimit, format!("more than {MAX_REGIONS} bodies")));
        }
        Ok(format!("r{number}"))
    }

    /// Where the list of problems stands, to go back to.
    pub fn mark(&self) -> usize {
        self.importer.problems.mark()
    }

    /// Forgets the problems of an attempt that failed.
    pub fn rollback(&mut self, mark: usize) {
        self.importer.problems.rollback(mark);
    }

    /// Imports the nodes of a body into the graph at hand, with `inputs` for its inputs; gives its outputs.
    pub fn inline(&mut self, body: GraphId, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let graph = self.importer.model.graph(body);
        if graph.inputs.len() != inputs.len() {
            return Err(ImportError::Wrong(
                Code::InvalidGraph,
                format!("a body takes {} inputs, but gets {}", graph.inputs.len(), inputs.len()),
            ));
        }
        for (input, &value) in graph.inputs.iter().zip(inputs) {
            self.region.bind(input.value, Some(value));
        }
        self.importer.nodes(body, self.region);
        let lookup = |output: &model::Output| self.importer.lookup(output.value, self.region);
        graph.outputs.iter().map(lookup).collect::<Option<Vec<_>>>().ok_or(ImportError::Reported)
    }
}
