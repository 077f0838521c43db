//! Cutting a graph into regions that are small enough to saturate.

use crate::kernels::describe;
use indexmap::IndexMap;
use tcc_ir::{Graph, Node, NodeId, Op, ValueId};

/// Nodes of a region at most, and at least where there are more to come.
const MAX_NODES: usize = 320;
const MIN_NODES: usize = 160;

/// The nodes that equality saturation looks at, in program order, cut where the fewest values cross. Control flow,
/// the runtime's own routines and whatever isn't a tensor of numbers stay outside of all regions.
pub fn regions(graph: &Graph) -> Vec<Vec<NodeId>> {
    let all: Vec<NodeId> = graph.nodes().filter(|(_, n)| belongs(graph, n)).map(|(id, _)| id).collect();
    let mut rest = all.as_slice();
    let mut found = Vec::new();
    while !rest.is_empty() {
        let at = if rest.len() <= MAX_NODES { rest.len() } else { best_cut(graph, rest) };
        let (region, later) = rest.split_at(at);
        found.push(region.to_vec());
        rest = later;
    }
    found
}

fn belongs(graph: &Graph, node: &Node) -> bool {
    if node.outputs.len() != 1 || node.op.is_random() {
        return false;
    }
    match &node.op {
        // Constants belong to every region that uses them.
        Op::Constant(_) => false,
        Op::Reshape(_) | Op::KernelOp(_) => true,
        _ => describe(graph, node).is_some(),
    }
}

/// Where the fewest values are alive, the later place of equals.
fn best_cut(graph: &Graph, nodes: &[NodeId]) -> usize {
    let mut last_use: IndexMap<ValueId, usize> = IndexMap::new();
    for (i, id) in nodes.iter().enumerate() {
        graph.node(*id).inputs.iter().for_each(|v| {
            last_use.insert(*v, i);
        });
    }
    let outside = graph.outputs();
    let alive_at = |cut: usize| {
        let made = nodes[..cut].iter().map(|id| graph.node(*id).outputs[0]);
        made.filter(|v| outside.contains(v) || last_use.get(v).is_some_and(|i| *i >= cut)).count()
    };
    (MIN_NODES..=MAX_NODES).min_by_key(|cut| (alive_at(*cut), usize::MAX - cut)).unwrap_or(MAX_NODES)
}
