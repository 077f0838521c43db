//! The graph: values in single assignment, nodes in program order, regions inside operators.
//!
//! Nodes stand in an order in which every value is defined before it is used; there is no other schedule.
//! A region (body of `if`, `loop`) is a graph of its own inside the operator; what it uses from outside comes in
//! through its inputs. Symbols are visible in the regions below the graph that defines them.
//!
//! Invariant: nodes are added and replaced only through the methods here, which infer types as they go.

mod border;
mod edit;
mod fits;
mod order;
mod renumber;
mod stated;
#[cfg(test)]
mod tests;
mod verify;

pub use verify::Violation;
pub(crate) use verify::compatible;

use crate::diag::Loc;
use crate::op::{Fact, Mismatch};
use crate::ops::Op;
use crate::tensor::Tensor;
use crate::types::{Cmp, DType, Dim, Symbol, TensorType, Type};
use std::sync::Arc;

/// A value of one graph.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ValueId(pub u32);

/// A node of one graph.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u32);

/// Integer tensors with at most this many elements are followed symbolically.
pub const MAX_ELEMS: usize = 64;

/// Where a value comes from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Def {
    Input(usize),
    Output { node: NodeId, index: usize },
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ValueInfo {
    pub ty: Type,
    /// Name in the model file, if any.
    pub name: Option<String>,
    pub def: Def,
    /// Symbolic elements of a small integer tensor.
    pub elems: Option<Vec<Dim>>,
}

/// An operator applied to values.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Node {
    pub op: Op,
    pub inputs: Vec<ValueId>,
    pub outputs: Vec<ValueId>,
    pub loc: Loc,
    /// What must hold before the node runs.
    pub checks: Vec<Check>,
}

/// A condition on sizes that inference couldn't prove.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Check {
    pub cmp: Cmp,
    pub a: Dim,
    pub b: Dim,
    /// What is wrong when it doesn't hold.
    pub message: String,
}

/// How a symbol gets its value at run time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SymbolSource {
    /// Extent of an axis of a graph input.
    Input { input: usize, axis: usize },
    /// Extent of an axis of a value whose size depends on data.
    Axis { value: ValueId, axis: usize },
    /// Element (in row-major order) of an integer tensor.
    Elem { value: ValueId, index: usize },
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Graph {
    pub name: String,
    /// Prefix of the symbols that inference makes here: unique among the graphs that are nested in each other.
    pub prefix: String,
    values: Vec<ValueInfo>,
    nodes: Vec<Option<Node>>,
    /// Live nodes in program order.
    order: Vec<NodeId>,
    inputs: Vec<ValueId>,
    outputs: Vec<ValueId>,
    output_names: Vec<String>,
    symbols: Vec<(Symbol, SymbolSource)>,
}

impl Graph {
    pub fn new(name: impl Into<String>) -> Self {
        Graph { name: name.into(), ..Graph::default() }
    }

    /// An empty region; `prefix` must differ from that of every enclosing and sibling graph.
    pub fn region(name: impl Into<String>, prefix: impl Into<String>) -> Self {
        Graph { name: name.into(), prefix: prefix.into(), ..Graph::default() }
    }

    /// Adds an input. Bare symbols in its shape that the graph doesn't know yet are bound to its extents.
    pub fn add_input(&mut self, name: impl Into<String>, ty: Type) -> ValueId {
        let input = self.inputs.len();
        if let Type::Tensor(t) = &ty {
            for (axis, dim) in t.shape.iter().enumerate() {
                if let Some(s) = dim.as_symbol().filter(|s| self.symbol_source(s).is_none()) {
                    self.symbols.push((s.clone(), SymbolSource::Input { input, axis }));
                }
            }
        }
        let id = self.push_value(ty, Some(name.into()), Def::Input(input));
        self.inputs.push(id);
        id
    }

    /// As `add_input`, for a region's input whose symbols belong to the enclosing graph.
    pub fn add_region_input(
        &mut self,
        name: impl Into<String>,
        ty: Type,
        outer: &dyn Fn(&Symbol) -> bool,
    ) -> ValueId {
        let before = self.symbols.len();
        let id = self.add_input(name, ty);
        let mut i = before;
        while i < self.symbols.len() {
            if outer(&self.symbols[i].0) {
                self.symbols.remove(i);
            } else {
                i += 1
            }
        }
        id
    }

    /// Appends a node; infers its outputs' types. Returns the outputs.
    ///
    /// # Errors
    /// What the operator says about operands that don't fit it.
    pub fn add(
        &mut self,
        op: impl Into<Op>,
        inputs: &[ValueId],
        loc: &Loc,
    ) -> Result<Vec<ValueId>, Mismatch> {
        let op = op.into();
        let found = self.infer(&op, inputs, ValueId(self.values.len() as u32))?;
        Ok(self.push_node(op, inputs, loc, found))
    }

    /// As [`Graph::add`], for operators with one output.
    pub fn add1(&mut self, op: impl Into<Op>, inputs: &[ValueId], loc: &Loc) -> Result<ValueId, Mismatch> {
        Ok(self.add(op, inputs, loc)?[0])
    }

    /// Adds a constant.
    pub fn constant(&mut self, tensor: Tensor, loc: &Loc) -> ValueId {
        self.add1(crate::ops::Constant { value: tensor }, &[], loc).expect("a constant needs nothing")
    }

    fn push_value(&mut self, ty: Type, name: Option<String>, def: Def) -> ValueId {
        let id = ValueId(self.values.len() as u32);
        self.values.push(ValueInfo { ty, name, def, elems: None });
        id
    }

    pub fn set_outputs(&mut self, outputs: Vec<(ValueId, String)>) {
        (self.outputs, self.output_names) = outputs.into_iter().unzip();
    }

    pub fn set_name(&mut self, value: ValueId, name: impl Into<String>) {
        self.values[value.0 as usize].name = Some(name.into());
    }

    pub fn inputs(&self) -> &[ValueId] {
        &self.inputs
    }

    pub fn outputs(&self) -> &[ValueId] {
        &self.outputs
    }

    pub fn output_names(&self) -> &[String] {
        &self.output_names
    }

    pub fn value(&self, id: ValueId) -> &ValueInfo {
        &self.values[id.0 as usize]
    }

    pub fn values(&self) -> impl Iterator<Item = (ValueId, &ValueInfo)> {
        self.values.iter().enumerate().map(|(i, v)| (ValueId(i as u32), v))
    }

    pub fn n_values(&self) -> usize {
        self.values.len()
    }

    pub fn ty(&self, id: ValueId) -> &Type {
        &self.value(id).ty
    }

    /// The tensor type of a value; a mismatch when it is a sequence or optional.
    pub fn tensor_type(&self, id: ValueId) -> Result<&TensorType, Mismatch> {
        let ty = self.ty(id);
        ty.as_tensor().ok_or_else(|| Mismatch::new(format!("expected a tensor, got {ty}")))
    }

    pub fn node(&self, id: NodeId) -> &Node {
        self.nodes[id.0 as usize].as_ref().expect("a live node")
    }

    /// Live nodes in program order.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = (NodeId, &Node)> {
        self.order.iter().map(|id| (*id, self.node(*id)))
    }

    pub fn n_nodes(&self) -> usize {
        self.order.len()
    }

    /// The node that defines a value; None for inputs.
    pub fn producer(&self, id: ValueId) -> Option<(NodeId, &Node)> {
        match self.value(id).def {
            Def::Output { node, .. } => self.nodes[node.0 as usize].as_ref().map(|n| (node, n)),
            Def::Input(_) => None,
        }
    }

    /// The tensor behind a value that is a constant.
    pub fn constant_of(&self, id: ValueId) -> Option<&Tensor> {
        match self.producer(id) {
            Some((_, Node { op: Op::Constant(c), .. })) => Some(&c.value),
            _ => None,
        }
    }

    pub fn fact(&self, id: ValueId) -> Fact<'_> {
        let info = self.value(id);
        Fact { ty: &info.ty, elems: info.elems.as_deref(), constant: self.constant_of(id) }
    }

    /// The elements of a small integer tensor of static shape as symbolic integers. Elements that nothing is known
    /// of become symbols that are read from the tensor at run time.
    ///
    /// # Errors
    /// When the tensor isn't one of integers (or bool) with a static shape of at most [`MAX_ELEMS`] elements.
    pub fn elems(&mut self, id: ValueId) -> Result<Vec<Dim>, Mismatch> {
        if let Some(elems) = &self.value(id).elems {
            return Ok(elems.clone());
        }
        if let Some(c) = self.constant_of(id).filter(|c| c.dtype().is_int() || c.dtype() == DType::Bool) {
            return Ok(c.ints().iter().map(|v| Dim::from(i64::try_from(*v).unwrap_or(i64::MAX))).collect());
        }
        let ty = self.ty(id).clone();
        let t = small_int(&ty).ok_or_else(|| {
            Mismatch::new(format!(
                "{ty} should be a small integer tensor whose shape doesn't depend on inputs"
            ))
        })?;
        let n: usize = t.static_shape().expect("static").iter().product();
        let (lo, hi) = fits::element_bounds(t.dtype);
        let elems: Vec<Dim> = (0..n)
            .map(|index| {
                let name = fresh_name(&self.symbols, format!("{}v{}e{index}", self.prefix, id.0));
                let symbol = Symbol::bounded(name, lo, hi);
                self.symbols.push((symbol.clone(), SymbolSource::Elem { value: id, index }));
                Dim::symbol(symbol)
            })
            .collect();
        self.values[id.0 as usize].elems = Some(elems.clone());
        Ok(elems)
    }

    /// The symbols that get their value in this graph.
    pub fn symbols(&self) -> &[(Symbol, SymbolSource)] {
        &self.symbols
    }

    pub fn symbol_source(&self, symbol: &Symbol) -> Option<SymbolSource> {
        self.symbols.iter().find(|(s, _)| s.name == symbol.name).map(|(_, src)| *src)
    }

    /// The symbols of this graph that are known before a run starts: those that come from no data. In a region they are
    /// those of the graph around it, `outside`; what enters a region may come from data.
    pub fn known_at_bind(&self, outside: &KnownSymbols) -> KnownSymbols {
        let entering = |source: &SymbolSource| matches!(source, SymbolSource::Input { .. });
        let own = self.symbols.iter().filter(|(_, source)| self.prefix.is_empty() && entering(source));
        KnownSymbols(outside.0.iter().cloned().chain(own.map(|(s, _)| s.name.clone())).collect())
    }
}

/// Names of symbols that are known before a run starts, so that scratch memory can depend on them.
#[derive(Clone, Debug, Default)]
pub struct KnownSymbols(Vec<Arc<str>>);

impl KnownSymbols {
    /// Whether a size depends on these alone.
    pub fn suffice_for(&self, d: &Dim) -> bool {
        let mut known = true;
        d.visit_symbols(&mut |s| known &= self.0.contains(&s.name));
        known
    }
}

/// `name`, made longer until no symbol has it.
pub(crate) fn fresh_name(taken: &[(Symbol, SymbolSource)], mut name: String) -> String {
    while taken.iter().any(|(s, _)| *s.name == *name) {
        name.push('_');
    }
    name
}

/// The tensor type when it is one of integers or bool, static and small.
pub(crate) fn small_int(ty: &Type) -> Option<&TensorType> {
    let t = ty.as_tensor().filter(|t| t.dtype.is_int() || t.dtype == DType::Bool)?;
    let n = t.static_shape()?.into_iter().try_fold(1usize, usize::checked_mul)?;
    (n <= MAX_ELEMS).then_some(t)
}
