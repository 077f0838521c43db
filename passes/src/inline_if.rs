//! Branches that are decided when the model is compiled.

use crate::attempt::attempt_each;
use crate::pass::{Changed, Context, Pass, Regions};
use tcc_ir::{Diagnostic, Graph, Node, NodeId, Op, Type, ValueId};

pub const PASS: Pass = Pass {
    name: "inline-if",
    summary: "Replace an `if` whose condition is a constant by the branch that is taken.",
    required: false,
    regions: Regions::InnerFirst,
    run,
};

fn run(graph: &mut Graph, _: &Context) -> Result<Changed, Diagnostic> {
    Ok(attempt_each(graph, |op| matches!(op, Op::If(_)), inline))
}

fn inline(graph: &mut Graph, id: NodeId) -> bool {
    let Node { op: Op::If(op), inputs, .. } = graph.node(id).clone() else { return false };
    let Some(taken) = graph.constant_of(inputs[0]).and_then(|c| c.ints().first().copied()) else {
        return false;
    };
    let branch = if taken != 0 { &op.then_branch } else { &op.else_branch };
    let Some(results) = splice_checked(graph, id, branch, &inputs[1..]) else { return false };
    replace(graph, id, &results)
}

/// [`Graph::splice`], with the checks of the node, which are about what enters the region, before the first node of the
/// region. None where there is no such node.
pub fn splice_checked(
    graph: &mut Graph,
    id: NodeId,
    region: &Graph,
    args: &[ValueId],
) -> Option<Vec<ValueId>> {
    let checks = graph.node(id).checks.clone();
    let newest = graph.nodes().map(|(n, _)| n).max();
    let results = graph.splice(id, region, args);
    let first = graph.nodes().map(|(n, _)| n).find(|n| Some(*n) > newest);
    match first {
        Some(first) => graph.add_checks(first, checks),
        None if checks.is_empty() => {}
        None => return None,
    }
    Some(results)
}

/// Uses `results` in place of what a node gives, and removes it, if users take them.
pub fn replace(graph: &mut Graph, id: NodeId, results: &[ValueId]) -> bool {
    for (old, new) in graph.node(id).outputs.clone().into_iter().zip(results) {
        // Users were typed by what the node can give.
        if !as_known(graph.ty(old), graph.ty(*new)) {
            return false;
        }
        graph.replace_uses(old, *new);
    }
    graph.erase(id);
    true
}

/// Whether users that took a value of type `old` take one of type `new`.
fn as_known(old: &Type, new: &Type) -> bool {
    match (old, new) {
        (Type::Tensor(old), Type::Tensor(new)) => old.dtype == new.dtype && old.rank() == new.rank(),
        _ => old == new,
    }
}
