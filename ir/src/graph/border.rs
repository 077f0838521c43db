//! Edits at the border between a region and the graph around it.

use super::{Def, Graph, Node, NodeId, SymbolSource, ValueId};
use crate::types::{DType, Dim, Symbol, Type};

impl Graph {
    /// Copies the nodes of a region to the front of node `before`, with `args` in the place of the region's inputs.
    /// Returns what takes the place of the region's outputs. Types aren't inferred again: the caller sees to it that
    /// the arguments are what the region takes.
    pub fn splice(&mut self, before: NodeId, region: &Graph, args: &[ValueId]) -> Vec<ValueId> {
        let mut region = region.clone();
        for (input, arg) in args.iter().enumerate() {
            region.bind_input_extents(input, self.value(*arg).ty.as_tensor().map_or(&[], |t| &t.shape));
        }
        let mut here: Vec<Option<ValueId>> = vec![None; region.values.len()];
        region.inputs.iter().zip(args).for_each(|(v, arg)| here[v.0 as usize] = Some(*arg));
        let mut order = Vec::with_capacity(region.order.len());
        for (_, node) in region.nodes() {
            let id = NodeId(self.nodes.len() as u32);
            let inputs =
                node.inputs.iter().map(|v| here[v.0 as usize].expect("defined before use")).collect();
            let mut outputs = Vec::with_capacity(node.outputs.len());
            for (index, v) in node.outputs.iter().enumerate() {
                let info = region.value(*v);
                let new =
                    self.push_value(info.ty.clone(), info.name.clone(), Def::Output { node: id, index });
                self.values[new.0 as usize].elems = info.elems.clone();
                here[v.0 as usize] = Some(new);
                outputs.push(new);
            }
            self.nodes.push(Some(Node { inputs, outputs, ..node.clone() }));
            order.push(id);
        }
        for (symbol, source) in &region.symbols {
            let moved = |v: &ValueId| here[v.0 as usize];
            let source = match source {
                SymbolSource::Axis { value, axis } => {
                    moved(value).map(|value| SymbolSource::Axis { value, axis: *axis })
                }
                SymbolSource::Elem { value, index } => {
                    moved(value).map(|value| SymbolSource::Elem { value, index: *index })
                }
                SymbolSource::Input { .. } => None,
            };
            self.symbols.extend(source.map(|source| (symbol.clone(), source)));
        }
        let at = self.order.iter().position(|n| *n == before).unwrap_or(self.order.len());
        self.order.splice(at..at, order);
        region.outputs.iter().map(|v| here[v.0 as usize].expect("defined")).collect()
    }

    /// Replaces the symbols that a region reads from an input's extents by these dims, which mean the same in the
    /// region as outside. Whether anything was replaced.
    pub fn bind_input_extents(&mut self, input: usize, extents: &[Dim]) -> bool {
        let bound: Vec<(Symbol, Dim)> = self
            .symbols
            .iter()
            .filter_map(|(s, source)| match source {
                SymbolSource::Input { input: i, axis } if *i == input => {
                    Some((s.clone(), extents.get(*axis)?.clone()))
                }
                _ => None,
            })
            .collect();
        self.substitute_symbols(&|s| bound.iter().find(|(b, _)| b.name == s.name).map(|(_, d)| d.clone()));
        !bound.is_empty()
    }

    /// Removes an input that nothing uses, neither nodes nor outputs nor symbols.
    pub fn remove_input(&mut self, input: usize) {
        let removed = self.inputs.remove(input);
        self.forget(removed);
        for (i, v) in self.inputs.iter().enumerate().skip(input) {
            self.values[v.0 as usize].def = Def::Input(i);
        }
        for (_, source) in &mut self.symbols {
            if let SymbolSource::Input { input: i, .. } = source
                && *i > input
            {
                *i -= 1;
            }
        }
    }

    /// Removes an output of a node that nothing uses.
    pub fn remove_node_output(&mut self, id: NodeId, output: usize) {
        let node = self.nodes[id.0 as usize].as_mut().expect("a live node");
        let removed = node.outputs.remove(output);
        for (i, v) in node.outputs.iter().enumerate().skip(output) {
            self.values[v.0 as usize].def = Def::Output { node: id, index: i };
        }
        self.forget(removed);
    }

    /// Clears what is recorded of a value that is no more, so that its type keeps no symbol alive.
    fn forget(&mut self, value: ValueId) {
        let info = &mut self.values[value.0 as usize];
        (info.ty, info.name, info.elems) = (Type::Unranked(DType::Bool), None, None);
    }
}
