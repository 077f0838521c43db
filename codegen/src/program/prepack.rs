//! Lays constant operands of matrix products out as their schedules read them.

use crate::lower::{Layout, prepack as prepack_kernel};
use crate::target::Target;
use indexmap::IndexMap;
use tcc_ir::Op;
use tcc_ir::graph::{Graph, KnownSymbols, NodeId, ValueId};
use tcc_ir::ops::{Constant, KernelOp};

/// Changes kernels of the graph, and of its regions, that multiply with constants; the values of the graph stay.
pub fn prepack(graph: &mut Graph, target: &Target) {
    prepack_in(graph, target, &KnownSymbols::default());
}

fn prepack_in(graph: &mut Graph, target: &Target, outside: &KnownSymbols) {
    let at_bind = graph.known_at_bind(outside);
    graph.visit_regions_mut(&mut |region| prepack_in(region, target, &at_bind));
    let mut known: IndexMap<(ValueId, Layout), ValueId> = IndexMap::new();
    let nodes: Vec<NodeId> = graph.nodes().map(|(id, _)| id).collect();
    for id in nodes {
        let node = graph.node(id);
        let Op::KernelOp(op) = &node.op else { continue };
        // Kernels of sizes that only a run decides may not pack, and read their operands as they are.
        if !op.kernel.axes.iter().all(|extent| at_bind.suffice_for(extent)) {
            continue;
        }
        let is_constant = |input: usize| graph.constant_of(node.inputs[input]).is_some();
        let Some(packed) = prepack_kernel(&op.kernel, target, &is_constant) else { continue };
        let (mut inputs, loc) = (node.inputs.clone(), node.loc.clone());
        for (input, layout) in packed.layouts {
            let from = inputs[input];
            inputs[input] = *known.entry((from, layout)).or_insert_with_key(|(from, layout)| {
                let value = layout.apply(graph.constant_of(*from).expect("checked above"));
                let to = graph.insert(id, Constant { value }, &[], &loc).expect("a constant fits")[0];
                if let Some(name) = graph.value(*from).name.clone() {
                    graph.set_name(to, name);
                }
                to
            });
        }
        graph.set_node(id, Op::from(KernelOp { kernel: packed.kernel }), inputs);
    }
    let uses = graph.use_counts();
    graph.retain_nodes(&|_, node| {
        !matches!(node.op, Op::Constant(_)) || node.outputs.iter().any(|v| uses[v.0 as usize] > 0)
    });
}
