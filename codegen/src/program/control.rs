//! Control flow: regions become blocks; captured values stay where they are.

use super::values::Home;
use super::walk::{Scope, Walk};
use indexmap::IndexMap;
use tcc_ir::graph::{Graph, Node, SymbolSource, ValueId};
use tcc_ir::ops::{If, Loop};
use tcc_ir::{DType, Dim, Symbol, Tensor, Type};
use tcc_runtime::package::{self as rt, Block, BlockId, Carried, LoopStep, ScanOut, Step};

impl Walk<'_, '_> {
    fn new_block(&mut self) -> BlockId {
        self.blocks.push(Block::default());
        BlockId(self.blocks.len() as u32 - 1)
    }

    /// Sets the region's symbols that are sizes of inputs which stand for an outer value.
    fn bind_sizes(
        &mut self,
        region: &Graph,
        inputs: &IndexMap<ValueId, rt::ValueId>,
        block: BlockId,
        skip: &[usize],
    ) {
        for (symbol, source) in region.symbols() {
            if let SymbolSource::Input { input, axis } = source
                && !skip.contains(input)
                && let Some(outer) = inputs.get(&region.inputs()[*input])
            {
                let d = self.values.get(*outer).dims[*axis].clone();
                let step = Step::SetDim { symbol: self.exprs.symbol(&symbol.name), expr: self.exprs.dim(&d) };
                self.push(block, step, []);
            }
        }
    }

    pub fn if_node(&mut self, scope: &mut Scope, node: &Node, op: &If) {
        let results: Vec<rt::ValueId> = node.outputs.iter().map(|v| self.free_value(scope, *v)).collect();
        let sets = self.sets_of(scope, &node.outputs);
        let cond = scope.map[&node.inputs[0]];
        self.values.touch(cond);
        let (then_block, else_block) = (self.new_block(), self.new_block());
        for (region, block) in [(&op.then_branch, then_block), (&op.else_branch, else_block)] {
            self.declare_symbols(region, false);
            let map: IndexMap<ValueId, rt::ValueId> = region
                .inputs()
                .iter()
                .zip(&node.inputs[1..])
                .map(|(inside, outside)| (*inside, scope.map[outside]))
                .collect();
            self.bind_sizes(region, &map, block, &[]);
            let mut inner = Scope { graph: region, map, block, entry: false };
            self.graph(&mut inner);
            for (v, to) in region.outputs().iter().zip(&results) {
                let from = inner.map[v];
                self.push(block, Step::Copy { from, to: *to, sets: sets.clone() }, [from, *to]);
            }
        }
        scope.map.extend(node.outputs.iter().copied().zip(results.iter().copied()));
        self.push(scope.block, Step::If { cond, then_block, else_block }, results);
    }

    pub fn loop_node(&mut self, scope: &mut Scope, node: &Node, op: &Loop) {
        let region = &op.body;
        self.declare_symbols(region, false);
        let mut operands = node.inputs.iter().map(|v| scope.map[v]);
        let trip = if op.has_trip { operands.next() } else { None };
        let cond_in = if op.has_cond { operands.next() } else { None };
        let inits: Vec<rt::ValueId> = operands.by_ref().take(op.n_carried).collect();
        let captures: Vec<rt::ValueId> = operands.collect();
        let start = self.values.position();
        trip.iter().chain(&cond_in).chain(&inits).for_each(|v| self.values.touch(*v));
        self.values.step();

        let block = self.new_block();
        let mut inner = Scope { graph: region, map: IndexMap::new(), block, entry: false };
        let (iter_in, cond_param) = (region.inputs()[0], region.inputs()[1]);
        let iter = self.free_value(&inner, iter_in);
        inner.map.insert(iter_in, iter);
        let params: Vec<(ValueId, rt::ValueId)> =
            region.inputs()[2..2 + op.n_carried].iter().map(|v| (*v, self.free_value(&inner, *v))).collect();
        inner.map.extend(params.iter().copied());
        inner.map.extend(region.inputs()[2 + op.n_carried..].iter().copied().zip(captures));
        let cond_used = region.uses(cond_param).next().is_some() || region.outputs().contains(&cond_param);
        let cond_value = self.free_value(&inner, cond_param);
        inner.map.insert(cond_param, cond_value);
        let skip: Vec<usize> = (0..2 + op.n_carried).collect();
        self.bind_sizes(region, &inner.map.clone(), block, &skip);
        self.graph(&mut inner);

        let cond_out = self.own(&inner, region.outputs()[0], block);
        let mut carried = Vec::new();
        for (i, ((inside, param), init)) in params.iter().zip(&inits).enumerate() {
            let next = self.own(&inner, region.outputs()[1 + i], block);
            carried.push(Carried {
                init: *init,
                param: *param,
                next,
                sets: self.input_symbols(region, *inside),
            });
        }
        if cond_used {
            let init = cond_in.unwrap_or_else(|| self.weight(Tensor::scalar_int(DType::Bool, 1)));
            carried.push(Carried { init, param: cond_value, next: cond_out, sets: vec![] });
        }
        let results = &node.outputs[op.n_carried..];
        let mut scans = Vec::new();
        for (v, elem) in results.iter().zip(&region.outputs()[1 + op.n_carried..]) {
            let elem = inner.map[elem];
            let stacked = self.free_value(scope, *v);
            scope.map.insert(*v, stacked);
            // The stack grows from the first iteration on.
            self.values.get_mut(stacked).starts_at(start);
            let count = scope.graph.symbols().iter().find_map(|(s, source)| match source {
                SymbolSource::Axis { value, axis: 0 } if value == v => self.exprs.late(s),
                _ => None,
            });
            scans.push(ScanOut { elem, stacked, count });
        }
        for v in [iter, cond_out, cond_value].into_iter().chain(params.iter().map(|p| p.1)) {
            self.values.get_mut(v).starts_at(start);
            self.values.touch(v);
        }
        carried.iter().for_each(|c| self.values.touch(c.next));
        scans.iter().for_each(|s| {
            self.values.touch(s.elem);
            self.values.touch(s.stacked);
        });
        let row_sizes = self.export_row_sizes(scope, node, &scans, block);
        self.values.close_loop(start);
        let zero_if_empty = scans.iter().flat_map(|s| self.late_dims(s.elem)).chain(row_sizes).collect();
        let step = Step::Loop(LoopStep {
            trip,
            cond_in,
            iter: Some(iter),
            cond_out: Some(cond_out),
            carried,
            scans: scans.clone(),
            body: block,
            zero_if_empty,
        });
        self.push(scope.block, step, []);
        for (v, (_, param)) in node.outputs.iter().zip(&params) {
            scope.map.insert(*v, *param);
        }
        self.export_state_sizes(scope, node, &params);
    }

    /// A value that a loop takes over at the end of an iteration: computed by the body, and in memory of its own.
    fn own(&mut self, inner: &Scope, v: ValueId, block: BlockId) -> rt::ValueId {
        let from = inner.map[&v];
        let root = self.values.root(from);
        let computed = inner.graph.producer(v).is_some();
        if computed
            && matches!(self.values.get(root).home, Home::Free { .. })
            && !inner.graph.inputs().iter().any(|i| inner.map[i] == root)
        {
            return from;
        }
        let to = self.free_value(inner, v);
        self.push(block, Step::Copy { from, to, sets: vec![] }, [from, to]);
        to
    }

    /// The late symbols that are sizes of a region's input.
    fn input_symbols(&self, region: &Graph, input: ValueId) -> Vec<rt::SymbolId> {
        let at = region.inputs().iter().position(|v| *v == input);
        let own = region
            .symbols()
            .iter()
            .filter(|(_, s)| matches!(s, SymbolSource::Input { input, .. } if Some(*input) == at));
        own.filter_map(|(s, _)| self.exprs.late(s)).collect()
    }

    fn late_dims(&self, v: rt::ValueId) -> Vec<rt::SymbolId> {
        let mut found = Vec::new();
        for d in &self.values.get(v).dims {
            d.visit_symbols(&mut |s| found.extend(self.exprs.late(s)));
        }
        found
    }

    /// After a loop: the node's own symbols for sizes of its final states.
    fn export_state_sizes(&mut self, scope: &Scope, node: &Node, params: &[(ValueId, rt::ValueId)]) {
        for (symbol, at, axis) in result_sizes(scope, node) {
            let Some((_, param)) = params.get(at) else { continue };
            let inside = self.values.get(*param).dims[axis].clone();
            self.set_size(scope.block, &symbol, &inside);
        }
    }

    /// At the end of a body: the node's own symbols for sizes of the rows that are stacked, which must be known when
    /// a row is appended. Gives these symbols.
    fn export_row_sizes(
        &mut self,
        scope: &Scope,
        node: &Node,
        scans: &[ScanOut],
        body: BlockId,
    ) -> Vec<rt::SymbolId> {
        let first = node.outputs.len() - scans.len();
        let mut set = Vec::new();
        for (symbol, at, axis) in result_sizes(scope, node) {
            if at < first || axis == 0 {
                continue;
            }
            let inside = self.values.get(scans[at - first].elem).dims[axis - 1].clone();
            self.set_size(body, &symbol, &inside);
            set.push(self.exprs.symbol(&symbol.name));
        }
        set
    }

    fn set_size(&mut self, block: BlockId, symbol: &Symbol, size: &Dim) {
        let step = Step::SetDim { symbol: self.exprs.symbol(&symbol.name), expr: self.exprs.dim(size) };
        self.push(block, step, []);
    }

    fn weight(&mut self, tensor: Tensor) -> rt::ValueId {
        let home = Home::Weight(self.weights.place(&tensor));
        let ty: Type = tensor.tensor_type().into();
        self.new_value("", &ty, home)
    }
}

/// The symbols that are sizes of a node's results: symbol, number of the result, axis.
fn result_sizes(scope: &Scope, node: &Node) -> Vec<(Symbol, usize, usize)> {
    let symbols = scope.graph.symbols().iter();
    symbols
        .filter_map(|(symbol, source)| match source {
            SymbolSource::Axis { value, axis } => {
                node.outputs.iter().position(|v| v == value).map(|at| (symbol.clone(), at, *axis))
            }
            SymbolSource::Input { .. } | SymbolSource::Elem { .. } => None,
        })
        .collect()
}
