//! The verifier: every broken invariant of a graph, at once.

use super::{Def, Graph, SymbolSource};
use crate::op::{Fact, InferCx};
use crate::ops::{Op, is_varying};
use crate::types::{Dim, Symbol, Type};
use std::collections::BTreeSet;
use std::fmt;

/// A broken invariant and the node or value that it is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    pub place: String,
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

impl Graph {
    /// Checks the graph and its regions.
    pub fn verify(&self) -> Result<(), Vec<Violation>> {
        let mut found = Vec::new();
        self.verify_into(&self.name, &|_| false, &mut found);
        if found.is_empty() { Ok(()) } else { Err(found) }
    }

    /// As [`Graph::verify`], of a graph that may be the body of an operator: symbols that it doesn't define are those of
    /// the graphs around it.
    pub fn verify_alone(&self) -> Result<(), Vec<Violation>> {
        let mut found = Vec::new();
        self.verify_into(&self.name, &|_| !self.prefix.is_empty(), &mut found);
        if found.is_empty() { Ok(()) } else { Err(found) }
    }

    /// `outer` says which symbols the graphs around define.
    fn verify_into(&self, path: &str, outer: &dyn Fn(&Symbol) -> bool, found: &mut Vec<Violation>) {
        let own: BTreeSet<&str> = self.symbols.iter().map(|(symbol, _)| &*symbol.name).collect();
        let known = |symbol: &Symbol| own.contains(&*symbol.name) || outer(symbol);
        let mut defined = vec![false; self.n_values()];
        for v in &self.inputs {
            defined[v.0 as usize] = true;
            for name in unknown(&mut self.ty(*v).clone(), &known, Type::map_dims) {
                let what = format!("the type of %{} has symbol {name}, which nothing defines", v.0);
                found.push(Violation { place: path.to_string(), what });
            }
        }
        for (id, node) in self.nodes() {
            let place = format!("{path}: node {} {}", id.0, node.op.name());
            let mut report = |what: String| found.push(Violation { place: place.clone(), what });
            for v in &node.inputs {
                if !defined.get(v.0 as usize).copied().unwrap_or(false) {
                    report(format!("uses %{} before its definition", v.0));
                }
            }
            for (index, v) in node.outputs.iter().enumerate() {
                if self.value(*v).def != (Def::Output { node: id, index }) {
                    report(format!("%{} doesn't name the node as its definition", v.0));
                }
                defined[v.0 as usize] = true;
            }
            if let Err(what) = self.verify_types(node) {
                report(what);
            }
            if let Op::KernelOp(op) = &node.op
                && let Err(broken) = op.kernel.verify()
            {
                broken.into_iter().for_each(&mut report);
            }
            for name in self.unknown_symbols(node, &known) {
                report(format!("mentions symbol {name}, which nothing defines"));
            }
            node.op.visit_graphs(&mut |g| g.verify_into(&format!("{place}: {}", g.name), &known, found));
        }
        for (symbol, source) in &self.symbols {
            if !self.has_source(*source, &defined) {
                let what = format!("symbol {} is the size of nothing that there is", symbol.name);
                found.push(Violation { place: path.to_string(), what });
            }
        }
        for (i, v) in self.outputs.iter().enumerate() {
            if !defined.get(v.0 as usize).copied().unwrap_or(false) {
                found.push(Violation { place: path.to_string(), what: format!("output {i} isn't defined") });
            }
        }
    }

    /// Names of the symbols in a node's types, elements, checks and attributes, regions aside, that aren't `known`.
    fn unknown_symbols(&self, node: &super::Node, known: &dyn Fn(&Symbol) -> bool) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        let mut has_regions = false;
        node.op.visit_graphs(&mut |_| has_regions = true);
        if !has_regions {
            names.extend(unknown(&mut node.op.clone(), known, Op::map_dims));
        }
        for check in &node.checks {
            names.extend(unknown(&mut [check.a.clone(), check.b.clone()][..], known, map_each));
        }
        for output in &node.outputs {
            let info = self.value(*output);
            names.extend(unknown(&mut info.ty.clone(), known, Type::map_dims));
            if let Some(elems) = &info.elems {
                names.extend(unknown(&mut elems.clone()[..], known, map_each));
            }
        }
        names
    }

    /// Whether a symbol can be read where it says.
    fn has_source(&self, source: SymbolSource, defined: &[bool]) -> bool {
        let tensor = |value: super::ValueId| {
            let is_defined = defined.get(value.0 as usize).copied().unwrap_or(false);
            is_defined.then(|| self.ty(value)).and_then(Type::as_tensor)
        };
        match source {
            SymbolSource::Input { input, axis } => {
                self.inputs.get(input).and_then(|v| tensor(*v)).is_some_and(|ty| axis < ty.rank())
            }
            SymbolSource::Axis { value, axis } => tensor(value).is_some_and(|ty| axis < ty.rank()),
            SymbolSource::Elem { value, .. } => tensor(value).is_some(),
        }
    }

    /// Inference must agree with the recorded types, up to dims that it can't compare.
    fn verify_types(&self, node: &super::Node) -> Result<(), String> {
        let first = node.outputs.first().copied().unwrap_or(super::ValueId(0));
        let facts: Vec<Fact> = node.inputs.iter().map(|v| self.fact(*v)).collect();
        if !node.op.arity().admits(facts.len()) {
            return Err(format!("takes {:?} inputs, has {}", node.op.arity(), facts.len()));
        }
        let types =
            node.op.infer(&mut InferCx::new(&self.prefix, first), &facts).map_err(|m| m.to_string())?;
        if types.len() != node.outputs.len() {
            return Err(format!("has {} outputs, inference gives {}", node.outputs.len(), types.len()));
        }
        for (v, want) in node.outputs.iter().zip(&types) {
            if !compatible(self.ty(*v), want) {
                return Err(format!("%{} is recorded as {}, inference gives {want}", v.0, self.ty(*v)));
            }
        }
        Ok(())
    }
}

/// Names of the symbols in what `map` visits that aren't `known`.
fn unknown<T: ?Sized>(
    of: &mut T,
    known: &dyn Fn(&Symbol) -> bool,
    map: impl Fn(&mut T, &mut dyn FnMut(&Dim) -> Dim),
) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    map(of, &mut |dim| {
        // Elements of sequences may differ in an extent.
        if is_varying(dim) {
            return dim.clone();
        }
        dim.visit_symbols(&mut |symbol| {
            if !known(symbol) {
                names.insert(symbol.name.to_string());
            }
        });
        dim.clone()
    });
    names
}

fn map_each(dims: &mut [Dim], f: &mut dyn FnMut(&Dim) -> Dim) {
    dims.iter_mut().for_each(|dim| *dim = f(dim));
}

/// Same type, with no dim provably different.
pub(crate) fn compatible(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Tensor(a), Type::Tensor(b)) => {
            a.dtype == b.dtype
                && a.rank() == b.rank()
                && a.shape
                    .iter()
                    .zip(&b.shape)
                    .all(|(x, y)| Dim::compare(crate::types::Cmp::Eq, x, y) != Some(false))
        }
        (Type::Sequence(a), Type::Sequence(b)) | (Type::Optional(a), Type::Optional(b)) => compatible(a, b),
        (Type::Unranked(a), Type::Unranked(b)) => a == b,
        _ => false,
    }
}
