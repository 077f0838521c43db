//! What subgraphs capture, and the order of nodes that follows from all that nodes read.

use std::collections::BTreeSet;

use petgraph::algo::{kosaraju_scc, toposort};
use petgraph::graph::DiGraph;

use tcc_ir::diag::{Code, Diagnostic};

use super::model::{Graph, GraphId, Node, Value, ValueId};
use super::problems::Problems;

/// Sets every graph's captures. A subgraph's id is greater than its parent's, so one pass from the end sees
/// each before the graph it is in.
pub(super) fn find_captures(graphs: &mut [Graph], values: &[Value]) {
    for index in (0..graphs.len()).rev() {
        let graph = &graphs[index];
        let read = graph.nodes.iter().flat_map(|node| reads(node, graphs));
        let outside: BTreeSet<ValueId> = read
            .chain(graph.outputs.iter().map(|output| output.value))
            .filter(|&value| values[value.0 as usize].graph != GraphId(index as u32))
            .collect();
        graphs[index].captures = outside.into_iter().collect();
    }
}

/// Brings every graph's nodes into topological order; a graph that is in order stays as it is.
pub(super) fn sort_nodes(graphs: &mut [Graph], values: &[Value], problems: &mut Problems) {
    // The node, in its own graph, that defines each value; none for inputs and constants.
    let mut definer: Vec<Option<usize>> = vec![None; values.len()];
    for graph in graphs.iter() {
        for (index, node) in graph.nodes.iter().enumerate() {
            for value in node.outputs.iter().flatten() {
                definer[value.0 as usize] = Some(index);
            }
        }
    }
    for index in 0..graphs.len() {
        let nodes = &graphs[index].nodes;
        let edges: Vec<(usize, usize)> = (nodes.iter().enumerate())
            .flat_map(|(to, node)| reads(node, graphs).map(move |value| (value, to)))
            .filter(|(value, _)| values[value.0 as usize].graph == GraphId(index as u32))
            .filter_map(|(value, to)| Some((definer[value.0 as usize]?, to)))
            .collect();
        if edges.iter().all(|(from, to)| from < to) {
            continue;
        }
        match sorted(nodes, &edges) {
            Ok(order) => {
                let mut nodes: Vec<_> =
                    std::mem::take(&mut graphs[index].nodes).into_iter().map(Some).collect();
                graphs[index].nodes = order.into_iter().filter_map(|node| nodes[node].take()).collect();
            }
            Err(cycles) => cycles.into_iter().for_each(|problem| problems.push(problem)),
        }
    }
}

/// All that must be there before the node runs.
fn reads<'a>(node: &'a Node, graphs: &'a [Graph]) -> impl Iterator<Item = ValueId> + 'a {
    let captures = node.subgraphs().flat_map(|id| graphs[id.0 as usize].captures.iter().copied());
    node.inputs.iter().flatten().copied().chain(captures)
}

/// A topological order of the nodes, or a problem for each group of nodes that need each other.
fn sorted(nodes: &[Node], edges: &[(usize, usize)]) -> Result<Vec<usize>, Vec<Diagnostic>> {
    let mut graph = DiGraph::<(), (), usize>::with_capacity(nodes.len(), edges.len());
    nodes.iter().for_each(|_| _ = graph.add_node(()));
    graph.extend_with_edges(edges.iter().copied());
    if let Ok(order) = toposort(&graph, None) {
        return Ok(order.into_iter().map(|node| node.index()).collect());
    }
    let components = kosaraju_scc(&graph);
    Err(components
        .into_iter()
        .filter(|component| component.len() > 1 || graph.contains_edge(component[0], component[0]))
        .map(|component| {
            let mut members: Vec<usize> = component.into_iter().map(|node| node.index()).collect();
            members.sort_unstable();
            cycle(nodes, &members)
        })
        .collect())
}

fn cycle(nodes: &[Node], members: &[usize]) -> Diagnostic {
    const NAMED: usize = 8;
    let names: Vec<String> =
        members.iter().take(NAMED).map(|&member| format!("`{}`", nodes[member].label.name)).collect();
    let more = match members.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let message = match members {
        [_] => "the node needs its own output".to_owned(),
        _ => format!("the nodes {}{more} need each other's outputs", names.join(", ")),
    };
    Diagnostic::error(Code::InvalidGraph, message).at(&nodes[members[0]].label)
}
