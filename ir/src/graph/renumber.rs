//! One numbering for equal graphs: ids in program order, nothing dead.

use super::{Graph, Node, NodeId, SymbolSource, ValueId};
use crate::ops::Op;
use std::collections::BTreeMap;

impl Graph {
    /// The graph with values and nodes numbered in program order, without what was erased; symbols stand in the
    /// order of what defines them. Regions and kernels are brought to such a form too. Two graphs are the same
    /// up to numbering when their renumbered forms are equal.
    #[must_use]
    pub fn renumbered(&self) -> Graph {
        let live = self.inputs.iter().chain(self.nodes().flat_map(|(_, n)| &n.outputs));
        let ids: BTreeMap<ValueId, ValueId> =
            live.enumerate().map(|(i, v)| (*v, ValueId(i as u32))).collect();
        // A use of a value that isn't defined (a broken graph) keeps an id that no value has.
        let place = |v: &ValueId| ids.get(v).copied().unwrap_or(ValueId(u32::MAX));
        let mut out = Graph {
            name: self.name.clone(),
            prefix: self.prefix.clone(),
            inputs: self.inputs.iter().map(place).collect(),
            outputs: self.outputs.iter().map(place).collect(),
            output_names: self.output_names.clone(),
            ..Graph::default()
        };
        out.values.extend(self.inputs.iter().map(|v| self.value(*v).clone()));
        for (i, (_, node)) in self.nodes().enumerate() {
            for (index, v) in node.outputs.iter().enumerate() {
                let mut info = self.value(*v).clone();
                info.def = super::Def::Output { node: NodeId(i as u32), index };
                out.values.push(info);
            }
            let mut op = node.op.clone();
            op.visit_graphs_mut(&mut |g| *g = g.renumbered());
            if let Op::KernelOp(k) = &mut op {
                k.kernel = k.kernel.canonical();
            }
            out.nodes.push(Some(Node {
                op,
                inputs: node.inputs.iter().map(place).collect(),
                outputs: node.outputs.iter().map(place).collect(),
                ..node.clone()
            }));
            out.order.push(NodeId(i as u32));
        }
        for (symbol, source) in &self.symbols {
            let source = match *source {
                SymbolSource::Input { .. } => *source,
                SymbolSource::Axis { value, axis } => SymbolSource::Axis { value: place(&value), axis },
                SymbolSource::Elem { value, index } => SymbolSource::Elem { value: place(&value), index },
            };
            let value = match source {
                SymbolSource::Axis { value, .. } | SymbolSource::Elem { value, .. } => value,
                SymbolSource::Input { .. } => ValueId(0),
            };
            if value.0 != u32::MAX {
                out.symbols.push((symbol.clone(), source));
            }
        }
        out.symbols.sort_by(|(a, x), (b, y)| (x, a).cmp(&(y, b)));
        out
    }
}
