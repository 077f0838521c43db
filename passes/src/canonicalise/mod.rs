//! Operators in their simplest form, by small local rules.
//!
//! Every rule is exact: what the graph computes stays the same bit for bit, for NaN, infinities, negative zero,
//! wrapping integers and empty tensors too (which NaN it is may change). So `x + 0` isn't `x` (it turns -0.0 into
//! 0.0) but `x + -0.0` is, `x * 0` isn't 0, and `!(a < b)` isn't `a >= b` on floats. Each rule goes one way, to fewer
//! or cheaper nodes, and has an example in `tests/canonicalise.rs` that is run through the evaluator.

mod arithmetic;
mod movement;

use crate::pass::{Changed, Context, Pass, Regions};
use tcc_ir::{Diagnostic, Graph, Node, NodeId, Op, ValueId};

pub const PASS: Pass = Pass {
    name: "canonicalise",
    summary: "Bring operators into their simplest form with exact local rules.",
    required: false,
    regions: Regions::InnerFirst,
    run,
};

/// A rewrite of one node.
pub struct Rule {
    pub name: &'static str,
    /// What the output of the node can be replaced by.
    pub apply: fn(&Graph, &Node) -> Option<Rewrite>,
}

pub enum Rewrite {
    /// A value that is there.
    Value(ValueId),
    /// The output of a new node.
    Node {
        op: Op,
        inputs: Vec<ValueId>,
        /// Nodes whose work the new one does as well: it takes over their checks and origins.
        through: Vec<NodeId>,
    },
}

impl Rewrite {
    fn node(op: impl Into<Op>, inputs: Vec<ValueId>, through: Vec<NodeId>) -> Option<Rewrite> {
        Some(Rewrite::Node { op: op.into(), inputs, through })
    }
}

/// Every rule, in the order in which they are tried.
pub const RULES: &[&[Rule]] = &[movement::RULES, arithmetic::RULES];

/// Rewrites of one node after another: far more than any chain of rules needs.
const MAX_REWRITES: usize = 32;

fn run(graph: &mut Graph, _: &Context) -> Result<Changed, Diagnostic> {
    Ok(Changed::when(!rewrite(graph).is_empty()))
}

/// Applies rules until none fits; returns the names of those applied, in order.
pub(crate) fn rewrite(graph: &mut Graph) -> Vec<&'static str> {
    let mut fired = Vec::new();
    // Operands are in simplest form before their users, so that one walk is mostly enough; passes repeat anyway.
    let ids: Vec<NodeId> = graph.nodes().map(|(id, _)| id).collect();
    for mut id in ids {
        for _ in 0..MAX_REWRITES {
            match rewrite_node(graph, id) {
                Some((name, next)) => {
                    fired.push(name);
                    match next {
                        Some(new) => id = new,
                        None => break,
                    }
                }
                None => break,
            }
        }
    }
    fired
}

/// The rule that was applied, and the node that took the old one's place if that is a new one.
fn rewrite_node(graph: &mut Graph, id: NodeId) -> Option<(&'static str, Option<NodeId>)> {
    for rule in RULES.iter().copied().flatten() {
        let Some(rewrite) = (rule.apply)(graph, graph.node(id)) else { continue };
        let replaced = match rewrite {
            Rewrite::Value(new) => replace_by_value(graph, id, new).then_some(None),
            Rewrite::Node { op, inputs, through } => {
                replace_by_node(graph, id, op, &inputs, &through).map(Some)
            }
        };
        if let Some(next) = replaced {
            return Some((rule.name, next));
        }
    }
    None
}

/// A node with run-time checks stays, because of the checks; so does one whose output is described differently.
fn replace_by_value(graph: &mut Graph, id: NodeId, new: ValueId) -> bool {
    let node = graph.node(id);
    let old = node.outputs[0];
    if !node.checks.is_empty() || graph.ty(old) != graph.ty(new) {
        return false;
    }
    graph.replace_uses(old, new);
    graph.erase(id);
    true
}

fn replace_by_node(
    graph: &mut Graph,
    id: NodeId,
    op: Op,
    inputs: &[ValueId],
    through: &[NodeId],
) -> Option<NodeId> {
    let old = graph.node(id).outputs[0];
    let sources = || through.iter().chain([&id]);
    let checks: Vec<_> = sources().flat_map(|n| graph.node(*n).checks.clone()).collect();
    let locs: Vec<_> = sources().map(|n| graph.node(*n).loc.clone()).collect();
    let new = graph.insert(id, op, inputs, &graph.node(id).loc.clone()).ok()?[0];
    let (new_id, _) = graph.producer(new)?;
    if graph.ty(new) != graph.ty(old) {
        graph.erase(new_id);
        return None;
    }
    graph.add_checks(new_id, checks);
    locs.iter().for_each(|loc| graph.merge_loc(new_id, loc));
    graph.replace_uses(old, new);
    graph.erase(id);
    Some(new_id)
}

/// The node that makes a value, with its only or first output.
fn source(graph: &Graph, value: ValueId) -> Option<(NodeId, &Node)> {
    graph.producer(value).filter(|(_, node)| node.outputs[0] == value)
}
