//! Edits that make known what wasn't, and so may show that a graph can't run.
//!
//! When a size becomes known, operands further on may provably disagree. That is an error of the run, and only of
//! one that gets there (the branch may never be taken); inference would refuse the graph for it. Such an edit isn't
//! made.

use tcc_ir::Graph;

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
