//! The one door through which passes change a graph.

use super::{Def, Graph, Node, NodeId, SymbolSource, ValueId};
use crate::diag::Loc;
use crate::op::Mismatch;
use crate::ops::Op;
use crate::types::{Dim, Symbol};

impl Graph {
    /// Makes every use of `old` one of `new`: inputs of nodes, outputs of the graph and sources of symbols.
    pub fn replace_uses(&mut self, old: ValueId, new: ValueId) {
        let swap = |v: &mut ValueId| {
            if *v == old {
                *v = new;
            }
        };
        self.nodes.iter_mut().flatten().flat_map(|n| n.inputs.iter_mut()).for_each(swap);
        self.outputs.iter_mut().for_each(swap);
        for (_, source) in &mut self.symbols {
            match source {
                SymbolSource::Axis { value, .. } | SymbolSource::Elem { value, .. } => swap(value),
                SymbolSource::Input { .. } => {}
            }
        }
        let (name, elems) = (self.value(old).name.clone(), self.value(old).elems.clone());
        let info = &mut self.values[new.0 as usize];
        info.name = info.name.take().or(name);
        info.elems = info.elems.take().or(elems);
    }

    /// Removes a node. Its outputs must have no uses left.
    pub fn erase(&mut self, id: NodeId) {
        self.nodes[id.0 as usize] = None;
        self.order.retain(|n| *n != id);
    }

    /// Removes all nodes for which `keep` says false.
    pub fn retain_nodes(&mut self, keep: &dyn Fn(NodeId, &Node) -> bool) {
        let (nodes, order) = (&mut self.nodes, &mut self.order);
        order.retain(|id| {
            let live = keep(*id, nodes[id.0 as usize].as_ref().expect("a live node"));
            if !live {
                nodes[id.0 as usize] = None;
            }
            live
        });
    }

    /// Adds a node as [`Graph::add`] does, in front of `before`.
    pub fn insert(
        &mut self,
        before: NodeId,
        op: impl Into<Op>,
        inputs: &[ValueId],
        loc: &Loc,
    ) -> Result<Vec<ValueId>, Mismatch> {
        let outputs = self.add(op, inputs, loc)?;
        let id = self.order.pop().expect("just added");
        let at = self.order.iter().position(|n| *n == before).unwrap_or(self.order.len());
        self.order.insert(at, id);
        Ok(outputs)
    }

    /// Gives the node another operator and inputs; outputs and their types stay, so both must agree with them.
    pub fn set_node(&mut self, id: NodeId, op: Op, inputs: Vec<ValueId>) {
        let node = self.nodes[id.0 as usize].as_mut().expect("a live node");
        (node.op, node.inputs) = (op, inputs);
    }

    /// Calls `f` on every region of this graph's nodes, not on regions inside those. `f` must keep the types of a
    /// region's inputs and outputs.
    pub fn visit_regions_mut(&mut self, f: &mut dyn FnMut(&mut Graph)) {
        self.nodes.iter_mut().flatten().for_each(|node| node.op.visit_graphs_mut(f));
    }

    /// Adds the origin of a node that this one takes the place of.
    pub fn merge_loc(&mut self, id: NodeId, loc: &Loc) {
        let node = self.nodes[id.0 as usize].as_mut().expect("a live node");
        node.loc = node.loc.merge(loc);
    }

    /// Adds run-time checks to a node.
    pub fn add_checks(&mut self, id: NodeId, checks: impl IntoIterator<Item = super::Check>) {
        let node = self.nodes[id.0 as usize].as_mut().expect("a live node");
        for check in checks {
            if !node.checks.contains(&check) {
                node.checks.push(check);
            }
        }
    }

    /// Adds sources to a node's location.
    pub fn add_loc(&mut self, id: NodeId, loc: &Loc) {
        let node = self.nodes[id.0 as usize].as_mut().expect("a live node");
        node.loc = node.loc.merge(loc);
    }

    /// Replaces symbols by dims in every type, attribute, check and region (`--dim N=4`).
    pub fn substitute_symbols(&mut self, f: &dyn Fn(&Symbol) -> Option<Dim>) {
        self.symbols.retain(|(s, _)| f(s).is_none());
        self.map_all_dims(&mut |d| d.substitute(f));
    }

    /// Gives the symbol of that name tighter bounds, wherever it stands.
    pub fn refine_symbol(&mut self, bounded: &Symbol) {
        for (symbol, _) in self.symbols.iter_mut().filter(|(s, _)| s.name == bounded.name) {
            *symbol = bounded.clone();
        }
        self.map_all_dims(&mut |d| {
            d.substitute(&|s| (s.name == bounded.name).then(|| bounded.clone().into()))
        });
    }

    /// Applies `f` to every dim of the graph and its regions.
    pub fn map_all_dims(&mut self, f: &mut dyn FnMut(&Dim) -> Dim) {
        for info in &mut self.values {
            info.ty.map_dims(f);
            info.elems.iter_mut().flatten().for_each(|d| *d = f(d));
        }
        for node in self.nodes.iter_mut().flatten() {
            node.op.map_dims(f);
            for c in &mut node.checks {
                (c.a, c.b) = (f(&c.a), f(&c.b));
            }
            node.checks.retain(|c| Dim::compare(c.cmp, &c.a, &c.b) != Some(true));
        }
    }

    /// The (node, input index) pairs that use a value.
    pub fn uses(&self, value: ValueId) -> impl Iterator<Item = (NodeId, usize)> {
        self.nodes().flat_map(move |(id, n)| {
            n.inputs.iter().enumerate().filter(move |(_, v)| **v == value).map(move |(i, _)| (id, i))
        })
    }

    /// How often each value is used by nodes, outputs and symbols, indexed by value.
    pub fn use_counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.values.len()];
        let symbols = self.symbols.iter().filter_map(|(_, s)| match s {
            SymbolSource::Axis { value, .. } | SymbolSource::Elem { value, .. } => Some(*value),
            SymbolSource::Input { .. } => None,
        });
        let uses = self.nodes().flat_map(|(_, n)| n.inputs.iter().copied());
        uses.chain(self.outputs.iter().copied())
            .chain(symbols)
            .for_each(|v: ValueId| counts[v.0 as usize] += 1);
        counts
    }

    /// Forgets symbols that no live type, attribute or check mentions.
    pub fn drop_unused_symbols(&mut self) {
        let mut used = std::collections::BTreeSet::new();
        let mut probe = self.clone();
        let dead: Vec<ValueId> = self
            .values()
            .filter(|(_, info)| matches!(info.def, Def::Output { node, .. } if self.nodes[node.0 as usize].is_none()))
            .map(|(id, _)| id)
            .collect();
        for id in dead {
            probe.values[id.0 as usize].ty = crate::types::Type::Unranked(crate::types::DType::Bool);
            probe.values[id.0 as usize].elems = None;
        }
        // An element symbol that only its own tensor's record mentions isn't used.
        for (_, source) in &self.symbols {
            if let SymbolSource::Elem { value, .. } = source {
                probe.values[value.0 as usize].elems = None;
            }
        }
        probe.map_all_dims(&mut |d| {
            d.visit_symbols(&mut |s| {
                used.insert(s.name.clone());
            });
            d.clone()
        });
        // The elements of one tensor are symbols together or not at all.
        let element_of = |source: &SymbolSource| match source {
            SymbolSource::Elem { value, .. } => Some(*value),
            SymbolSource::Axis { .. } | SymbolSource::Input { .. } => None,
        };
        let read: std::collections::BTreeSet<ValueId> = self
            .symbols
            .iter()
            .filter(|(s, _)| used.contains(&s.name))
            .filter_map(|(_, source)| element_of(source))
            .collect();
        let mut unread = Vec::new();
        self.symbols.retain(|(s, source)| match element_of(source) {
            Some(value) if !read.contains(&value) => {
                unread.push(value);
                false
            }
            Some(_) => true,
            None => matches!(source, SymbolSource::Input { .. }) || used.contains(&s.name),
        });
        // What was known of them were these symbols.
        for value in unread {
            self.values[value.0 as usize].elems = None;
        }
    }
}
