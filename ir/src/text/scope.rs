//! Which symbols a graph binds without saying so.

use crate::graph::SymbolSource;
use crate::types::{Symbol, Type};

/// The symbols that stand bare in the types of a graph's inputs, first occurrence first, and aren't the enclosing
/// graphs': they are the extents of those axes.
pub(super) fn natural_symbols<'a>(
    inputs: impl IntoIterator<Item = &'a Type>,
    outer: &dyn Fn(&str) -> bool,
) -> Vec<(Symbol, SymbolSource)> {
    let mut out: Vec<(Symbol, SymbolSource)> = Vec::new();
    for (input, ty) in inputs.into_iter().enumerate() {
        let Some(t) = ty.as_tensor() else { continue };
        for (axis, dim) in t.shape.iter().enumerate() {
            let Some(s) = dim.as_symbol().filter(|s| !outer(&s.name)) else { continue };
            if out.iter().all(|(known, _)| known.name != s.name) {
                out.push((s.clone(), SymbolSource::Input { input, axis }));
            }
        }
    }
    out
}
