//! docs/ops.md: the operator table as a page.

use super::{ALL, BinaryKind, UnaryKind};
use crate::types::Cmp;
use std::fmt::Write;

/// The page of all operators.
pub fn markdown() -> String {
    let mut out = String::from(
        "# Operators of the graph IR\n\nGenerated from ir/src/ops. Models are translated to these; the notation is that of [text-form.md](text-form.md).\n",
    );
    for op in ALL {
        let _ = write!(out, "\n## {}\n\n", op.name);
        for line in op.doc.lines() {
            let _ = writeln!(out, "{}", line.strip_prefix(' ').unwrap_or(line));
        }
        let kinds = kinds(op.name);
        if !kinds.is_empty() {
            let _ = write!(out, "\nWritten as the function alone: `{}`.\n", kinds.join("`, `"));
        }
    }
    out
}

/// The words that stand for the operator in text.
fn kinds(op: &str) -> Vec<&'static str> {
    match op {
        "unary" => UnaryKind::ALL.iter().map(|k| k.name()).collect(),
        "binary" => BinaryKind::ALL.iter().map(|k| k.name()).collect(),
        "compare" => Cmp::ALL.iter().map(|(_, name)| *name).collect(),
        _ => Vec::new(),
    }
}
