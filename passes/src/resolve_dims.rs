//! Symbols whose value has become known.

use crate::attempt::attempt;
use crate::pass::{Changed, Context, Pass, Regions};
use tcc_ir::graph::SymbolSource;
use tcc_ir::{Diagnostic, Dim, Graph, Symbol};

pub const PASS: Pass = Pass {
    name: "resolve-dims",
    summary: "Replace sizes read at run time by what other passes found out about them.",
    required: false,
    regions: Regions::InnerFirst,
    run,
};

/// A symbol is read from an axis or element of a value. When that value is replaced by one that is known better (a
/// folded constant, the first of two equal nodes), its type or elements say what the symbol is.
fn run(graph: &mut Graph, _: &Context) -> Result<Changed, Diagnostic> {
    let mut changed = Changed::No;
    let mut tried = 0;
    while let Some((symbol, dim)) = graph.symbols().iter().skip(tried).find_map(|(s, source)| {
        let known = known(graph, *source)?;
        (!mentions(&known, s)).then(|| (s.clone(), known))
    }) {
        let resolved = attempt(graph, |graph| {
            graph.substitute_symbols(&|s| (s.name == symbol.name).then(|| dim.clone()));
            true
        });
        match resolved {
            Some(_) => changed = Changed::Yes,
            None => {
                let at = graph.symbols().iter().position(|(s, _)| s.name == symbol.name);
                tried = at.expect("the symbol is there") + 1;
            }
        }
    }
    Ok(changed)
}

fn known(graph: &Graph, source: SymbolSource) -> Option<Dim> {
    match source {
        SymbolSource::Axis { value, axis } => graph.ty(value).as_tensor()?.shape.get(axis).cloned(),
        SymbolSource::Elem { value, index } => graph.value(value).elems.as_ref()?.get(index).cloned(),
        SymbolSource::Input { .. } => None,
    }
}

fn mentions(dim: &Dim, symbol: &Symbol) -> bool {
    let mut found = false;
    dim.visit_symbols(&mut |s| found |= s.name == symbol.name);
    found
}
