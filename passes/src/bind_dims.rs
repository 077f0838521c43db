//! Sizes that the user fixes or bounds: `--dim NAME=V` and `--dim NAME=LO..HI`.

use crate::pass::{Changed, Context, Pass, Regions};
use tcc_ir::diag::Code;
use tcc_ir::graph::SymbolSource;
use tcc_ir::{Diagnostic, Dim, Graph, Symbol};

pub const PASS: Pass = Pass {
    name: "bind-dims",
    summary: "Give symbolic sizes of inputs the value or the bounds that --dim asks for.",
    required: true,
    // The symbols of a model's inputs belong to the outermost graph.
    regions: Regions::None,
    run,
};

/// What a `--dim` option asks for: the named size lies in `lo..=hi`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DimBinding {
    pub name: String,
    pub lo: i64,
    pub hi: i64,
}

impl DimBinding {
    /// Reads `NAME=V` or `NAME=LO..HI`, both bounds included. The name may itself have `=` in it.
    ///
    /// # Errors
    /// A diagnostic that says what is wrong with the text.
    pub fn parse(text: &str) -> Result<DimBinding, Diagnostic> {
        let wrong = |what: &str| {
            Diagnostic::error(Code::DimOption, format!("`--dim {text}`: {what}"))
                .help("write --dim NAME=4 for a fixed size, --dim NAME=1..8 for sizes from 1 to 8")
        };
        let (name, range) = text.rsplit_once('=').ok_or_else(|| wrong("there is no `=`"))?;
        let (lo, hi) = range.split_once("..").unwrap_or((range, range));
        let number = |text: &str| text.trim().parse::<i64>().ok().filter(|v| *v >= 0);
        match (number(lo), number(hi)) {
            _ if name.is_empty() => Err(wrong("there is no name")),
            (Some(lo), Some(hi)) if lo <= hi => Ok(DimBinding { name: name.to_string(), lo, hi }),
            (Some(_), Some(_)) => Err(wrong("the range is empty")),
            _ => Err(wrong("a size is a number, 0 or more")),
        }
    }
}

fn run(graph: &mut Graph, cx: &Context) -> Result<Changed, Diagnostic> {
    for binding in &cx.options.dims {
        bind(graph, binding)?;
    }
    Ok(Changed::when(!cx.options.dims.is_empty()))
}

fn bind(graph: &mut Graph, binding: &DimBinding) -> Result<(), Diagnostic> {
    let named = |(s, source): &&(Symbol, SymbolSource)| {
        *s.name == *binding.name && matches!(source, SymbolSource::Input { .. })
    };
    let Some((symbol, _)) = graph.symbols().iter().find(named).cloned() else {
        return Err(unknown(graph, binding));
    };
    let (lo, hi) = (binding.lo.max(symbol.lo), symbol.hi.map_or(binding.hi, |hi| binding.hi.min(hi)));
    let wrong = |what: String| {
        Diagnostic::error(Code::DimOption, format!("`--dim {}` doesn't fit the model: {what}", show(binding)))
    };
    if lo > hi {
        let known = symbol.hi.map_or("more".to_string(), |hi| hi.to_string());
        return Err(wrong(format!("the model says {} to {known}", symbol.lo)));
    }
    let bounded = Symbol::bounded(symbol.name.clone(), lo, Some(hi));
    graph.refine_symbol(&bounded);
    if lo == hi {
        graph.substitute_symbols(&|s| (s.name == symbol.name).then(|| Dim::from(lo)));
    }
    graph.verify().map_err(|violations| {
        violations.iter().fold(wrong("sizes disagree".into()), |d, violation| d.note(violation.to_string()))
    })
}

fn unknown(graph: &Graph, binding: &DimBinding) -> Diagnostic {
    let names: Vec<&str> = graph
        .symbols()
        .iter()
        .filter(|(_, source)| matches!(source, SymbolSource::Input { .. }))
        .map(|(s, _)| &*s.name)
        .collect();
    let wrong = Diagnostic::error(
        Code::DimOption,
        format!("no input has a size named `{}` (--dim {})", binding.name, show(binding)),
    );
    if names.is_empty() {
        wrong.help("all input sizes of the model are fixed")
    } else {
        wrong.help(format!("the model's sizes are named {}", names.join(", ")))
    }
}

fn show(binding: &DimBinding) -> String {
    let DimBinding { name, lo, hi } = binding;
    if lo == hi { format!("{name}={lo}") } else { format!("{name}={lo}..{hi}") }
}
