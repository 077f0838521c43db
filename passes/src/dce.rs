//! Dead code elimination.

use crate::pass::{Changed, Context, Pass, Regions};
use tcc_ir::{Diagnostic, Graph, NodeId, ValueId};

pub const PASS: Pass = Pass {
    name: "dce",
    summary: "Remove nodes that no output needs.",
    required: false,
    regions: Regions::InnerFirst,
    run,
};

/// A node is needed when an output is, or a needed node uses it: as an operand, or through a symbol whose value is
/// read from it. A symbol that only dead types mention goes with them, so a node isn't kept alive by a symbol of its
/// own output.
fn run(graph: &mut Graph, _: &Context) -> Result<Changed, Diagnostic> {
    let needed = needed_nodes(graph);
    let (nodes, symbols) = (graph.n_nodes(), graph.symbols().len());
    graph.retain_nodes(&|id, _| needed[id.0 as usize]);
    graph.drop_unused_symbols();
    Ok(Changed::when((graph.n_nodes(), graph.symbols().len()) != (nodes, symbols)))
}

fn needed_nodes(graph: &Graph) -> Vec<bool> {
    let n = graph.nodes().map(|(id, _)| id.0 as usize + 1).max().unwrap_or(0);
    let mut needed = vec![false; n];
    let mut todo: Vec<NodeId> = Vec::new();
    let mut need = |value: ValueId, todo: &mut Vec<NodeId>| {
        if let Some((id, _)) = graph.producer(value)
            && !std::mem::replace(&mut needed[id.0 as usize], true)
        {
            todo.push(id);
        }
    };
    graph.outputs().iter().for_each(|v| need(*v, &mut todo));
    while let Some(id) = todo.pop() {
        graph.node(id).inputs.iter().for_each(|v| need(*v, &mut todo));
        graph.symbol_values(id).into_iter().for_each(|v| need(v, &mut todo));
    }
    needed
}
