//! Walks a graph and writes its steps.

use super::Program;
use super::exprs::Exprs;
use super::kernels::Kernels;
use super::values::{Home, Values};
use super::weights::Weights;
use crate::lower::Span;
use indexmap::{IndexMap, IndexSet};
use tcc_ir::diag::{Code, Diagnostic, Diagnostics};
use tcc_ir::graph::{Graph, Node, SymbolSource, ValueId};
use tcc_ir::kernel::{BufferKind, Kernel, Scalar};
use tcc_ir::ops::Slice;
use tcc_ir::{Cmp, DType, Dim, Op, TensorType, Type};
use tcc_runtime::package::{self as rt, Block, BlockId, Form, Io, KernelStep, Manifest, Step, SymbolId};

/// Blocks in the making and everything that they refer to.
pub struct Walk<'a, 'k> {
    pub exprs: Exprs,
    pub values: Values,
    pub weights: Weights,
    pub strings: Vec<Vec<String>>,
    pub checks: Vec<rt::Check>,
    pub blocks: Vec<Block>,
    pub kernels: &'a mut Kernels<'k>,
    pub problems: Vec<Diagnostic>,
}

/// One graph being walked: where its values are in the package.
pub struct Scope<'g> {
    pub graph: &'g Graph,
    pub map: IndexMap<ValueId, rt::ValueId>,
    pub block: BlockId,
    /// The outermost graph.
    pub entry: bool,
}

/// The program without modules, functions and code.
pub fn walk(graph: &Graph, kernels: &mut Kernels) -> Result<Program, Diagnostics> {
    let mut w = Walk {
        exprs: Exprs::default(),
        values: Values::default(),
        weights: Weights::default(),
        strings: Vec::new(),
        checks: Vec::new(),
        blocks: vec![Block::default()],
        kernels,
        problems: Vec::new(),
    };
    let mut scope = Scope { graph, map: IndexMap::new(), block: BlockId(0), entry: true };
    w.declare_symbols(graph, true);
    let mut inputs = Vec::new();
    for (i, v) in graph.inputs().iter().enumerate() {
        let name = graph.value(*v).name.clone().unwrap_or_else(|| format!("input{i}"));
        let id = w.new_value(&name, graph.ty(*v), Home::Input(i as u32));
        scope.map.insert(*v, id);
        inputs.push(Io { name, value: id });
    }
    w.bound_checks(graph, &inputs);
    w.graph(&mut scope);
    w.values.step();
    let mut outputs = Vec::new();
    let mut taken = IndexSet::new();
    for (i, (v, name)) in graph.outputs().iter().zip(graph.output_names()).enumerate() {
        let id = scope.map[v];
        w.values.touch(id);
        if let Home::Free { output } = &mut w.values.get_mut(id).home
            && taken.insert(id)
        {
            *output = Some(i as u32);
        }
        outputs.push(Io { name: name.clone(), value: id });
    }
    w.problems.extend(w.kernels.refusal());
    if !w.problems.is_empty() {
        return Err(Diagnostics(w.problems));
    }
    let placed = w.values.finish(&mut w.exprs);
    let (symbols, bounds, exprs) = w.exprs.finish();
    let manifest = Manifest {
        model: graph.name.clone(),
        producer: concat!("tcc ", env!("CARGO_PKG_VERSION")).to_string(),
        symbols,
        exprs,
        inputs,
        outputs,
        checks: w.checks,
        values: placed.values,
        blocks: w.blocks,
        strings: w.strings,
        late_slots: placed.late_slots,
        object_slots: placed.object_slots,
        arena_bytes: placed.arena_bytes,
        ..Manifest::default()
    };
    let weights = w.weights;
    Ok(Program {
        manifest,
        weights,
        bounds,
        code: vec![],
        modules: vec![],
        functions: vec![],
        groups: vec![],
    })
}

impl Walk<'_, '_> {
    /// Declares the symbols that a graph defines. Those of a region are set by steps.
    pub fn declare_symbols(&mut self, graph: &Graph, entry: bool) {
        for (symbol, source) in graph.symbols() {
            let source = match source {
                SymbolSource::Input { input, axis } if entry => {
                    rt::SymbolSource::InputDim { input: *input as u32, axis: *axis as u32 }
                }
                _ => rt::SymbolSource::Late,
            };
            self.exprs.declare(symbol, source);
        }
    }

    /// Checks that sizes of inputs lie in their bounds: memory is planned, and code is written, for no others.
    fn bound_checks(&mut self, graph: &Graph, inputs: &[Io]) {
        for (symbol, source) in graph.symbols() {
            let SymbolSource::Input { input, .. } = source else { continue };
            let size = Dim::symbol(symbol.clone());
            let place = format!("input \"{}\": the size {}", inputs[*input].name, symbol.name);
            // No size is negative.
            let lo = (symbol.lo > 0).then(|| (Cmp::Ge, symbol.lo, "at least"));
            let hi = symbol.hi.map(|hi| (Cmp::Le, hi, "at most"));
            for (cmp, bound, words) in lo.into_iter().chain(hi) {
                let message = format!("{place} must be {words} {bound}");
                let check = self.exprs.check(cmp, (&size, &Dim::from(bound)), message, true);
                self.checks.push(check);
            }
        }
    }

    pub fn new_value(&mut self, name: &str, ty: &Type, home: Home) -> rt::ValueId {
        let (form, dtype, dims) = shape_of(ty);
        self.values.add(name, form, dtype, dims, home)
    }

    /// A value to be placed later.
    pub fn free_value(&mut self, scope: &Scope, v: ValueId) -> rt::ValueId {
        let info = scope.graph.value(v);
        let name = info.name.clone().unwrap_or_default();
        self.new_value(&name, &info.ty, Home::Free { output: None })
    }

    /// Appends a step that uses and defines the given values.
    pub fn push(&mut self, block: BlockId, step: Step, touched: impl IntoIterator<Item = rt::ValueId>) {
        touched.into_iter().for_each(|v| self.values.touch(v));
        self.blocks[block.index()].steps.push(step);
        self.values.step();
    }

    pub fn problem(&mut self, node: &Node, message: String) {
        // Graphs in text form need not say where their nodes are from.
        let place = match node.loc.sources() {
            [] => format!("a `{}` node", node.op.name()),
            _ => format!("node {}", node.loc),
        };
        self.problems.push(
            Diagnostic::error(Code::TargetUnsupported, message)
                .at(place)
                .help("`tcc run MODEL --reference` evaluates the model without compiling it"),
        );
    }

    /// Writes the steps of a graph whose inputs are mapped.
    pub fn graph(&mut self, scope: &mut Scope) {
        let graph = scope.graph;
        for v in graph.inputs() {
            self.read_elements(scope, *v);
        }
        for (_, node) in graph.nodes() {
            self.node_checks(scope, node);
            self.node(scope, node);
            for v in &node.outputs {
                self.read_elements(scope, *v);
            }
        }
    }

    fn node_checks(&mut self, scope: &Scope, node: &Node) {
        for c in &node.checks {
            let at_bind = scope.entry && !self.exprs.is_late(&c.a) && !self.exprs.is_late(&c.b);
            let message = format!("{}: {}", node.loc, c.message);
            let check = self.exprs.check(c.cmp, (&c.a, &c.b), message, at_bind);
            self.checks.push(check);
            if !at_bind {
                let id = rt::CheckId(self.checks.len() as u32 - 1);
                self.push(scope.block, Step::Check(id), []);
            }
        }
    }

    /// Reads the elements of a value that symbols stand for.
    fn read_elements(&mut self, scope: &Scope, v: ValueId) {
        for (symbol, source) in scope.graph.symbols() {
            if let SymbolSource::Elem { value, index } = source
                && *value == v
            {
                let id = scope.map[&v];
                let step = Step::ReadDim {
                    symbol: self.exprs.symbol(&symbol.name),
                    value: id,
                    index: *index as u64,
                };
                self.push(scope.block, step, [id]);
            }
        }
    }

    /// The late symbols that are sizes of a value: what its definition sets.
    pub fn sets_of(&self, scope: &Scope, outputs: &[ValueId]) -> Vec<SymbolId> {
        let axes = scope.graph.symbols().iter().filter_map(|(symbol, source)| match source {
            SymbolSource::Axis { value, .. } if outputs.contains(value) => Some(symbol),
            _ => None,
        });
        axes.filter_map(|s| self.exprs.late(s)).collect()
    }

    fn node(&mut self, scope: &mut Scope, node: &Node) {
        if node.outputs.iter().any(|v| matches!(scope.graph.ty(*v), Type::Unranked(_))) {
            let message =
                "the rank of its result is only known when the model runs, which packages can't express";
            self.problem(node, format!("operator {}: {message}", node.op.name()));
        }
        match &node.op {
            Op::Constant(c) => {
                let home = if c.value.dtype() == DType::String {
                    self.strings.push(c.value.strings().to_vec());
                    Home::Strings(self.strings.len() as u32 - 1)
                } else {
                    Home::Weight(self.weights.place(&c.value))
                };
                let name = scope.graph.value(node.outputs[0]).name.clone().unwrap_or_default();
                let id = self.new_value(&name, scope.graph.ty(node.outputs[0]), home);
                scope.map.insert(node.outputs[0], id);
            }
            Op::Reshape(_) if is_plain(scope.graph.ty(node.inputs[0])) => {
                self.view(scope, node, Dim::from(0));
            }
            Op::Slice(op) => {
                match scope.graph.ty(node.inputs[0]).as_tensor().and_then(|from| first(op, from)) {
                    Some(offset) => self.view(scope, node, offset),
                    None => self.builtin(scope, node),
                }
            }
            Op::KernelOp(op) => self.kernel(scope, node, &op.kernel),
            Op::If(op) => self.if_node(scope, node, op),
            Op::Loop(op) => self.loop_node(scope, node, op),
            _ => self.builtin(scope, node),
        }
    }

    /// The result is memory of the operand, `offset` bytes from its first.
    fn view(&mut self, scope: &mut Scope, node: &Node, offset: Dim) {
        let of = scope.map[&node.inputs[0]];
        let name = scope.graph.value(node.outputs[0]).name.clone().unwrap_or_default();
        let id = self.new_value(&name, scope.graph.ty(node.outputs[0]), Home::Alias { of, offset });
        scope.map.insert(node.outputs[0], id);
    }

    fn kernel(&mut self, scope: &mut Scope, node: &Node, kernel: &Kernel) {
        let inputs: Vec<rt::ValueId> = node.inputs.iter().map(|v| scope.map[v]).collect();
        let outputs: Vec<rt::ValueId> = node
            .outputs
            .iter()
            .map(|v| {
                let id = self.free_value(scope, *v);
                scope.map.insert(*v, id);
                id
            })
            .collect();
        let source = node.loc.to_string();
        let exprs = &self.exprs;
        let Some((id, lowered)) = self.kernels.add(kernel, &source, &|d| exprs.is_late(d)) else { return };
        let (flops, bytes) = work(kernel);
        let step = Step::Kernel(KernelStep {
            kernel: rt::KernelId(id as u32),
            dims: lowered.dims.iter().map(|d| self.exprs.dim(d)).collect(),
            tiles: self.exprs.dim(&lowered.tiles),
            scratch: self.exprs.dim(&lowered.scratch),
            work: Some(rt::Work { flops: self.exprs.dim(&flops), bytes: self.exprs.dim(&bytes) }),
            inputs: inputs.clone(),
            outputs: outputs.clone(),
            spans: lowered.spans.iter().map(|span| span.as_ref().map(|span| self.span(span))).collect(),
        });
        self.push(scope.block, step, inputs.into_iter().chain(outputs));
    }

    fn span(&mut self, span: &Span) -> rt::Span {
        let Span { tiles, step, len } = span;
        rt::Span { tiles: self.exprs.dim(tiles), step: self.exprs.dim(step), len: self.exprs.dim(len) }
    }
}

/// The byte of a tensor of numbers that a slice begins at, if it is one stretch of memory.
fn first(op: &Slice, from: &TensorType) -> Option<Dim> {
    let place = tcc_passes::kernels::contiguous(op, from)?;
    (from.dtype != DType::String).then(|| place * Dim::from(from.dtype.size()))
}

/// Form, element type and dims of a type.
pub fn shape_of(ty: &Type) -> (Form, DType, Vec<Dim>) {
    match ty {
        Type::Tensor(t) => (Form::Tensor, t.dtype, t.shape.clone()),
        Type::Unranked(d) => (Form::Tensor, *d, vec![]),
        Type::Sequence(e) => (Form::Sequence, shape_of(e).1, vec![]),
        Type::Optional(e) => match &**e {
            Type::Sequence(_) => (Form::OptionalSequence, shape_of(e).1, vec![]),
            _ => (Form::Optional, shape_of(e).1, vec![]),
        },
    }
}

/// Whether a value is a tensor in plain memory.
pub fn is_plain(ty: &Type) -> bool {
    ty.as_tensor().is_some_and(|t| t.dtype != DType::String)
}

/// Arithmetic operations, and bytes of operands, of one run of a kernel.
fn work(kernel: &Kernel) -> (Dim, Dim) {
    let outer = Dim::product(kernel.outer.iter().map(|a| kernel.extent(*a).clone()));
    let per_point = kernel
        .exprs
        .iter()
        .filter(|e| matches!(e, Scalar::Unary(..) | Scalar::Binary(..) | Scalar::Select(..)))
        .count();
    let flops = Dim::sum(kernel.stages.iter().map(|s| {
        let points = Dim::product(s.axes.iter().chain(&s.reduce).map(|a| kernel.extent(*a).clone()));
        let accumulated = s.accs.len() * 2;
        points * Dim::from(if s.accs.is_empty() { per_point.max(1) } else { accumulated })
    })) * outer;
    let operands = [BufferKind::Input, BufferKind::Output];
    let bytes =
        Dim::sum(operands.iter().flat_map(|kind| kernel.buffers_of(*kind)).map(|(_, b)| b.ty.n_bytes()));
    (flops, bytes)
}
