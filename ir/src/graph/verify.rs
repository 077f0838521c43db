//! The verifier: every broken invariant of a graph, at once.

use super::{Def, Graph};
use crate::op::{Fact, InferCx};
use crate::types::{Dim, Type};
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
        self.verify_into(&self.name, &mut found);
        if found.is_empty() { Ok(()) } else { Err(found) }
    }

    fn verify_into(&self, path: &str, found: &mut Vec<Violation>) {
        let mut defined = vec![false; self.n_values()];
        self.inputs.iter().for_each(|v| defined[v.0 as usize] = true);
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
            node.op.visit_graphs(&mut |g| g.verify_into(&format!("{place}: {}", g.name), found));
        }
        for (i, v) in self.outputs.iter().enumerate() {
            if !defined.get(v.0 as usize).copied().unwrap_or(false) {
                found.push(Violation { place: path.to_string(), what: format!("output {i} isn't defined") });
            }
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
