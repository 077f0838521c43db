//! Prints graphs. Values without a name get numbers in program order, so equal graphs print alike whatever their ids.

mod attr;
mod kernel;

use super::name::{name, quoted};
use super::scope::natural_symbols;
use super::{Options, Printed};
use crate::graph::{Check, Graph, Node, SymbolSource, ValueId};
use crate::kernel::Kernel;
use crate::tensor::Tensor;
use crate::types::{Cmp, Dim, Symbol, Type};
pub(super) use attr::MAX_SPLAT_BYTES;
use indexmap::{IndexMap, IndexSet};
pub(super) use kernel::{INFIX, buffer_kind_name};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

pub(super) fn print(graph: &Graph, options: &Options) -> Printed {
    let mut printer = Printer { options, weights: IndexSet::new(), scopes: Vec::new() };
    let mut text = printer.graph(graph, 0);
    text.push('\n');
    let weights = printer.weights.into_iter().enumerate().map(|(i, t)| (weight_label(i), t)).collect();
    Printed { text, weights }
}

pub(super) fn print_kernel(kernel: &Kernel, options: &Options) -> String {
    let mut printer = Printer { options, weights: IndexSet::new(), scopes: vec![Scope::default()] };
    printer.kernel(kernel, 0) + "\n"
}

fn weight_label(i: usize) -> String {
    format!("w{i}")
}

/// Operators that print under the name of their one attribute: `exp %x` for `unary %x {kind = exp}`.
pub(super) const MNEMONICS: [(&str, &str); 3] = [("unary", "kind"), ("binary", "kind"), ("compare", "cmp")];

struct Printer<'o> {
    options: &'o Options,
    weights: IndexSet<Tensor>,
    /// The graphs around the present place, outermost first.
    scopes: Vec<Scope>,
}

#[derive(Default)]
struct Scope {
    /// Names of the symbols that the graph gives a value.
    bound: IndexSet<Arc<str>>,
    /// Symbols that occurred in it.
    seen: IndexMap<Arc<str>, Symbol>,
}

/// How a graph's values are called.
struct Names(BTreeMap<ValueId, String>);

impl Names {
    fn new(graph: &Graph) -> Names {
        let (mut labels, mut taken, mut next) = (BTreeMap::new(), IndexSet::new(), 0usize);
        for v in graph.inputs().iter().chain(graph.nodes().flat_map(|(_, n)| &n.outputs)) {
            let label = match &graph.value(*v).name {
                Some(n) if taken.insert(n.clone()) => name(n),
                _ => {
                    next += 1;
                    (next - 1).to_string()
                }
            };
            labels.insert(*v, format!("%{label}"));
        }
        Names(labels)
    }

    fn of(&self, v: ValueId) -> String {
        // A value that nothing defines: the text shows the broken graph and doesn't parse.
        self.0.get(&v).cloned().unwrap_or_else(|| format!("%\"undefined {}\"", v.0))
    }

    /// The label, and the name where the label doesn't say it.
    fn at_definition(&self, graph: &Graph, v: ValueId) -> String {
        let label = self.of(v);
        match &graph.value(v).name {
            Some(n) if label != format!("%{}", name(n)) => format!("{label} as {}", name(n)),
            _ => label,
        }
    }
}

impl Printer<'_> {
    /// A graph, without the line break at its end.
    fn graph(&mut self, graph: &Graph, indent: usize) -> String {
        let names = Names::new(graph);
        let defined = |source: &SymbolSource| match source {
            SymbolSource::Input { input, axis } => {
                let ty = graph.inputs().get(*input).and_then(|v| graph.ty(*v).as_tensor());
                ty.is_some_and(|t| *axis < t.rank())
            }
            SymbolSource::Axis { value, .. } | SymbolSource::Elem { value, .. } => {
                names.0.contains_key(value)
            }
        };
        let symbols: Vec<_> = graph.symbols().iter().filter(|(_, s)| defined(s)).cloned().collect();
        let bound = symbols.iter().map(|(s, _)| s.name.clone()).collect();
        self.scopes.push(Scope { bound, ..Scope::default() });

        let pad = "  ".repeat(indent + 1);
        let mut body = String::new();
        for (_, node) in graph.nodes() {
            let line = self.node(graph, node, &names, indent + 1);
            let _ = writeln!(body, "{pad}{line}");
        }
        let _ = writeln!(body, "{pad}return{}", self.returned(graph, &names));

        let inputs: Vec<String> = graph
            .inputs()
            .iter()
            .map(|v| {
                let held = graph.value(*v).elems.as_ref().map(|e| self.holds(e)).unwrap_or_default();
                format!("{}: {}{held}", names.at_definition(graph, *v), self.ty(graph.ty(*v)))
            })
            .collect();
        let outputs: Vec<String> =
            graph.outputs().iter().map(|v| self.returned_type(graph, *v, &names)).collect();
        let mut head =
            format!("graph @{}({}) -> ({})", name(&graph.name), inputs.join(", "), outputs.join(", "));
        if !graph.prefix.is_empty() {
            let _ = write!(head, " prefix {}", quoted(&graph.prefix));
        }
        let facts = self.facts(graph, &symbols, &names);
        if !facts.is_empty() {
            let _ = write!(head, " where {}", facts.join(", "));
        }
        self.scopes.pop();
        format!("{head} {{\n{body}{}}}", "  ".repeat(indent))
    }

    fn returned(&self, graph: &Graph, names: &Names) -> String {
        let items: Vec<String> = graph
            .outputs()
            .iter()
            .zip(graph.output_names())
            .enumerate()
            .map(|(i, (v, output))| {
                let known = graph.value(*v).name.clone().unwrap_or_else(|| default_output_name(i));
                let label = names.of(*v);
                if *output == known { label } else { format!("{label} as {}", name(output)) }
            })
            .collect();
        if items.is_empty() { String::new() } else { format!(" {}", items.join(", ")) }
    }

    fn returned_type(&mut self, graph: &Graph, v: ValueId, names: &Names) -> String {
        if names.0.contains_key(&v) { self.ty(graph.ty(v)) } else { names.of(v) }
    }

    fn node(&mut self, graph: &Graph, node: &Node, names: &Names, indent: usize) -> String {
        let outputs: Vec<String> = node.outputs.iter().map(|v| names.at_definition(graph, *v)).collect();
        let inputs: Vec<String> = node.inputs.iter().map(|v| names.of(*v)).collect();
        let attrs = node.op.to_attrs();
        let mut line = String::new();
        if !outputs.is_empty() {
            let _ = write!(line, "{} = ", outputs.join(", "));
        }
        match mnemonic(node.op.name(), &attrs) {
            Some(word) => line.push_str(word),
            None => line.push_str(node.op.name()),
        }
        if !inputs.is_empty() {
            let _ = write!(line, " {}", inputs.join(", "));
        }
        if mnemonic(node.op.name(), &attrs).is_none() {
            line.push_str(&self.attrs(&attrs, indent));
        }
        let recorded: Vec<Type> = node.outputs.iter().map(|v| graph.ty(*v).clone()).collect();
        let first = node.outputs.first().copied().unwrap_or(ValueId(0));
        let inferred = graph.infer_against(&node.op, &node.inputs, first, &recorded).ok();
        let types: Vec<String> = node
            .outputs
            .iter()
            .enumerate()
            .map(|(i, v)| {
                let expected = inferred.as_ref().and_then(|f| f.elems.as_ref().filter(|_| i == 0));
                let ty = self.ty(graph.ty(*v));
                match &graph.value(*v).elems {
                    elems if elems.as_ref() == expected => ty,
                    Some(elems) => ty + &self.holds(elems),
                    None => ty + " holds ?",
                }
            })
            .collect();
        if !types.is_empty() {
            let _ = write!(line, " : {}", types.join(", "));
        }
        let pad = "  ".repeat(indent + 1);
        for check in &node.checks {
            let _ = write!(line, "\n{pad}check {}", self.check(check));
        }
        if node.checks.is_empty() && inferred.is_none_or(|f| !f.checks.is_empty()) {
            let _ = write!(line, "\n{pad}check ?");
        }
        if self.options.locations && !node.loc.sources().is_empty() {
            let sources: Vec<String> =
                node.loc.sources().iter().map(|s| format!("{} {}", quoted(&s.name), quoted(&s.op))).collect();
            let _ = write!(line, " loc({})", sources.join(", "));
        }
        line
    }

    fn check(&mut self, check: &Check) -> String {
        format!(
            "{} {} {} {}",
            self.dim(&check.a),
            sign(check.cmp),
            self.dim(&check.b),
            quoted(&check.message)
        )
    }

    fn holds(&mut self, elems: &[Dim]) -> String {
        let elems: Vec<String> = elems.iter().map(|d| self.dim(d)).collect();
        format!(" holds [{}]", elems.join(", "))
    }

    /// The `where` entries: ranges of symbols, and sources that the inputs' types don't show.
    fn facts(&mut self, graph: &Graph, symbols: &[(Symbol, SymbolSource)], names: &Names) -> Vec<String> {
        let (own, outer) = self.scopes.split_last().expect("inside a graph");
        let is_outer = |n: &str| outer.iter().any(|s| s.bound.contains(n));
        let natural = natural_symbols(graph.inputs().iter().map(|v| graph.ty(*v)), &is_outer);
        let mut out = Vec::new();
        for (symbol, source) in symbols {
            let shown = natural.iter().any(|(s, src)| s.name == symbol.name && src == source);
            let mut entry = super::name::symbol(&symbol.name);
            if !shown {
                let _ = match source {
                    SymbolSource::Input { input, axis } => {
                        write!(entry, " = dim({}, {axis})", names.of(graph.inputs()[*input]))
                    }
                    SymbolSource::Axis { value, axis } => {
                        write!(entry, " = dim({}, {axis})", names.of(*value))
                    }
                    SymbolSource::Elem { value, index } => {
                        write!(entry, " = elem({}, {index})", names.of(*value))
                    }
                };
            }
            match range(symbol) {
                Some(range) => out.push(format!("{entry} in {range}")),
                None if !shown => out.push(entry),
                None => {}
            }
        }
        let free = own.seen.values().filter(|s| !own.bound.contains(&s.name) && !is_outer(&s.name));
        out.extend(free.map(|s| {
            let range = range(s).map(|r| format!(" in {r}")).unwrap_or_default();
            format!("{} = ?{range}", super::name::symbol(&s.name))
        }));
        out
    }

    fn dim(&mut self, dim: &Dim) -> String {
        let seen = &mut self.scopes.last_mut().expect("inside a graph").seen;
        dim.visit_symbols(&mut |s| {
            if !seen.contains_key(&s.name) {
                seen.insert(s.name.clone(), s.clone());
            }
        });
        dim.to_string()
    }

    fn ty(&mut self, ty: &Type) -> String {
        ty.clone().map_dims(&mut |d| {
            self.dim(d);
            d.clone()
        });
        ty.to_string()
    }
}

/// The name of an output that nothing names.
pub(super) fn default_output_name(i: usize) -> String {
    format!("out{i}")
}

fn mnemonic(op: &str, attrs: &[(&'static str, crate::attr::Attr)]) -> Option<&'static str> {
    match attrs {
        [(field, crate::attr::Attr::Word(word))]
            if MNEMONICS.contains(&(op, field)) && crate::ops::ALL.iter().all(|o| o.name != *word) =>
        {
            Some(word)
        }
        _ => None,
    }
}

fn range(symbol: &Symbol) -> Option<String> {
    match (symbol.lo, symbol.hi) {
        (0, None) => None,
        (lo, None) => Some(format!("{lo}..")),
        (lo, Some(hi)) => Some(format!("{lo}..={hi}")),
    }
}

pub(super) const SIGNS: [(Cmp, &str); 6] =
    [(Cmp::Eq, "=="), (Cmp::Ne, "!="), (Cmp::Lt, "<"), (Cmp::Le, "<="), (Cmp::Gt, ">"), (Cmp::Ge, ">=")];

fn sign(cmp: Cmp) -> &'static str {
    SIGNS[cmp as usize].1
}
