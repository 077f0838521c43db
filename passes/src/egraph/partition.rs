//! Cutting a graph into regions that are small enough to saturate.

use super::cost::size;
use crate::kernels::describe;
use indexmap::{IndexMap, IndexSet};
use tcc_ir::{Graph, Node, NodeId, Op, ValueId};

/// Nodes of a region at most, and at least where there are more to come.
const MAX_NODES: usize = 320;
const MIN_NODES: usize = 160;

/// Moves what depends on constants only to what needs it: models list all their weights first, dequantized ones with
/// the operators that do it, and a region should have both sides of each product. Gives whether
/// anything has moved.
pub fn place_late(graph: &mut Graph) -> bool {
    let mut late = IndexSet::new();
    for (id, node) in graph.nodes() {
        let fixed = |v: &ValueId| graph.producer(*v).is_some_and(|(from, _)| late.contains(&from));
        let mut is_fixed = match node.op {
            Op::Constant(_) => true,
            // What has no operands may be a size.
            _ => !node.inputs.is_empty() && !node.op.is_random() && node.inputs.iter().all(fixed),
        };
        // Regions read values from outside too.
        node.op.visit_graphs(&mut |_| is_fixed = false);
        late.extend(is_fixed.then_some(id));
    }
    graph.sink(&late)
}

/// The nodes that equality saturation looks at, in program order, cut where the fewest bytes cross. Control flow,
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

/// Where the values that are alive have the fewest bytes, the later place of equals.
fn best_cut(graph: &Graph, nodes: &[NodeId]) -> usize {
    let mut last_use: IndexMap<ValueId, usize> = IndexMap::new();
    for (i, id) in nodes.iter().enumerate() {
        graph.node(*id).inputs.iter().for_each(|v| {
            last_use.insert(*v, i);
        });
    }
    let outside = graph.outputs();
    let bytes = |v: &ValueId| graph.ty(*v).as_tensor().map_or(0.0, |t| size(&t.n_bytes()));
    let alive_at = |cut: usize| -> f64 {
        let made = nodes[..cut].iter().map(|id| graph.node(*id).outputs[0]);
        made.filter(|v| outside.contains(v) || last_use.get(v).is_some_and(|i| *i >= cut))
            .map(|v| bytes(&v))
            .sum()
    };
    let cuts = (MIN_NODES..=MAX_NODES).rev().map(|cut| (alive_at(cut), cut));
    cuts.min_by(|(a, _), (b, _)| a.total_cmp(b)).map_or(MAX_NODES, |(_, cut)| cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_that_are_dequantized_by_blocks_stand_beside_their_product() {
        let text = "graph @f(%x: f32[2, 8]) {
            %w = constant {value = i8[8, 4] splat 3}
            %s = constant {value = f32[2, 1, 4] splat 0.5}
            %0 = broadcast %s {dims = [2, 4, 4]}
            %1 = reshape %0 {dims = [8, 4]}
            %2 = cast %w {to = f32, saturate = true}
            %3 = mul %2, %1
            %r = iota {dims = [2, 8], axis = 1, dtype = f32}
            %4 = add %x, %r
            %5 = contract %4, %3 {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}
            return %5 }";
        let mut graph = tcc_ir::text::parse(text).expect("it is a graph");
        assert!(place_late(&mut graph));
        let names: Vec<&str> = graph.nodes().map(|(_, n)| n.op.name()).collect();
        let late = ["constant", "constant", "broadcast", "reshape", "cast", "binary"];
        assert_eq!(names, [&["iota", "binary"], &late[..], &["contract"]].concat());
    }
}
