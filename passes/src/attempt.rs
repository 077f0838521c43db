//! Edits that make known what wasn't, and so may show that a graph can't run.
//!
//! When a size becomes known, operands further on may provably disagree. That is an error of the run, and only of
//! one that gets there (the branch may never be taken); inference would refuse the graph for it. Such an edit isn't
//! made.

use crate::pass::Changed;
use tcc_ir::{Graph, NodeId, Op};

/// Makes an edit, which says whether it changed anything, unless the graph is invalid afterwards. None: it was, and
/// the graph is as before.
pub fn attempt(graph: &mut Graph, edit: impl FnOnce(&mut Graph) -> bool) -> Option<bool> {
    let mut edited = graph.clone();
    let changed = edit(&mut edited);
    if changed {
        edited.verify_alone().ok()?;
        *graph = edited;
    }
    Some(changed)
}

/// Attempts an edit of each node whose operator is one of those.
pub fn attempt_each(
    graph: &mut Graph,
    of: impl Fn(&Op) -> bool,
    edit: impl Fn(&mut Graph, NodeId) -> bool,
) -> Changed {
    let ids: Vec<NodeId> = graph.nodes().filter(|(_, node)| of(&node.op)).map(|(id, _)| id).collect();
    let attempts = ids.into_iter().map(|id| attempt(graph, |graph| edit(graph, id)) == Some(true));
    attempts.fold(Changed::No, |changed, made| changed | Changed::when(made))
}
