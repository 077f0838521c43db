//! Common subexpression elimination.

use crate::pass::{Changed, Context, Pass, Regions};
use indexmap::IndexMap;
use tcc_ir::{Diagnostic, Graph, NodeId, Op, ValueId};

pub const PASS: Pass = Pass {
    name: "cse",
    summary: "Compute equal nodes once.",
    required: false,
    regions: Regions::InnerFirst,
    run,
};

/// Nodes are equal when operator, attributes (regions are attributes too) and operands are. Types needn't be looked
/// at: where they differ it is in symbols for the same data-dependent size, and these follow the value.
fn run(graph: &mut Graph, _: &Context) -> Result<Changed, Diagnostic> {
    let ids: Vec<NodeId> = graph.nodes().map(|(id, _)| id).collect();
    let mut seen: IndexMap<(Op, Vec<ValueId>), NodeId> = IndexMap::with_capacity(ids.len());
    let mut changed = Changed::No;
    for id in ids {
        // Operands are those of the first of equal producers by now.
        let node = graph.node(id);
        if is_random(&node.op) {
            continue;
        }
        let first = *seen.entry((node.op.clone(), node.inputs.clone())).or_insert(id);
        // Checks that only the later one has may need values that the first one comes before.
        if first == id || !node.checks.iter().all(|c| graph.node(first).checks.contains(c)) {
            continue;
        }
        let (outputs, loc) = (node.outputs.clone(), node.loc.clone());
        for (old, new) in outputs.into_iter().zip(graph.node(first).outputs.clone()) {
            graph.replace_uses(old, new);
        }
        graph.merge_loc(first, &loc);
        graph.erase(id);
        changed = Changed::Yes;
    }
    Ok(changed)
}

/// Whether the operator, or one in its regions, gives another value each time.
pub fn is_random(op: &Op) -> bool {
    let mut random = op.is_random();
    op.visit_graphs(&mut |region| random |= region.nodes().any(|(_, node)| is_random(&node.op)));
    random
}
