//! Program order: restored after edits by petgraph's topological sort.

use super::{Graph, NodeId, SymbolSource};
use indexmap::{IndexMap, IndexSet};
use petgraph::Direction;
use petgraph::graphmap::DiGraphMap;

impl Graph {
    /// The dependences between nodes as a petgraph graph: data, and values that a node needs through symbols.
    pub fn dependences(&self) -> DiGraphMap<NodeId, ()> {
        let mut deps = DiGraphMap::new();
        for (id, node) in self.nodes() {
            deps.add_node(id);
            for v in &node.inputs {
                if let Some((from, _)) = self.producer(*v) {
                    deps.add_edge(from, id, ());
                }
            }
            for v in self.symbol_values(id) {
                if let Some((from, _)) = self.producer(v).filter(|(from, _)| *from != id) {
                    deps.add_edge(from, id, ());
                }
            }
        }
        deps
    }

    /// The values that give their meaning to the symbols that a node mentions.
    pub fn symbol_values(&self, id: NodeId) -> Vec<super::ValueId> {
        let mut found = Vec::new();
        let mut see = |d: &crate::types::Dim| {
            d.visit_symbols(&mut |s| match self.symbol_source(s) {
                Some(SymbolSource::Axis { value, .. } | SymbolSource::Elem { value, .. }) => {
                    found.push(value)
                }
                Some(SymbolSource::Input { .. }) | None => {}
            });
        };
        if self.symbols.iter().all(|(_, s)| matches!(s, SymbolSource::Input { .. })) {
            return found;
        }
        let node = self.node(id);
        node.op.clone().map_dims(&mut |d| {
            see(d);
            d.clone()
        });
        for c in &node.checks {
            see(&c.a);
            see(&c.b);
        }
        for v in &node.outputs {
            self.ty(*v).clone().map_dims(&mut |d| {
                see(d);
                d.clone()
            });
        }
        found.retain(|v| !node.outputs.contains(v));
        found
    }

    /// Brings nodes into an order in which values are defined before they are used, staying near the present one.
    ///
    /// # Errors
    /// A node on a cycle.
    pub fn sort(&mut self) -> Result<(), NodeId> {
        let deps = self.dependences();
        // petgraph's order is one of many; the position in the present order breaks ties so that sorting a sorted
        // graph changes nothing.
        petgraph::algo::toposort(&deps, None).map_err(|cycle| cycle.node_id())?;
        let position = self.positions();
        let mut missing: Vec<usize> =
            self.order.iter().map(|n| deps.neighbors_directed(*n, Direction::Incoming).count()).collect();
        let mut ready: std::collections::BinaryHeap<_> =
            (0..missing.len()).filter(|i| missing[*i] == 0).map(std::cmp::Reverse).collect();
        let mut order = Vec::with_capacity(missing.len());
        while let Some(std::cmp::Reverse(i)) = ready.pop() {
            let id = self.order[i];
            order.push(id);
            for next in deps.neighbors(id) {
                let j = position[&next];
                missing[j] -= 1;
                if missing[j] == 0 {
                    ready.push(std::cmp::Reverse(j));
                }
            }
        }
        self.order = order;
        Ok(())
    }

    /// Moves nodes to where they are first needed; they and all others keep their order. Gives whether that is another
    /// order than before.
    pub fn sink(&mut self, late: &IndexSet<NodeId>) -> bool {
        let deps = self.dependences();
        let before = |id: NodeId| deps.neighbors_directed(id, Direction::Incoming);
        let position = self.positions();
        let mut order: IndexSet<NodeId> = IndexSet::with_capacity(self.order.len());
        for id in self.order.iter().filter(|id| !late.contains(*id)) {
            // Each once, however many ways lead to it.
            let (mut needed, mut open) = (IndexSet::from([*id]), vec![*id]);
            while let Some(id) = open.pop() {
                open.extend(before(id).filter(|dep| !order.contains(dep) && needed.insert(*dep)));
            }
            needed.sort_by_key(|id| position[id]);
            order.extend(needed);
        }
        order.extend(self.order.iter().copied());
        let changed = !order.iter().eq(&self.order);
        self.order = order.into_iter().collect();
        changed
    }

    fn positions(&self) -> IndexMap<NodeId, usize> {
        self.order.iter().enumerate().map(|(i, n)| (*n, i)).collect()
    }
}
