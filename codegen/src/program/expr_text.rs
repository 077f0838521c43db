//! Sizes of a package as text.

use tcc_runtime::package::{Cmp, Expr, ExprId, Manifest};

/// Nesting that is written out: expressions share parts, so their text can grow without bound.
const DEPTH: usize = 8;

/// Characters of a size's name that are written out: names come from models, and may stand many times.
const NAME: usize = 64;

/// An expression over a package's sizes.
pub fn expr_text(manifest: &Manifest, at: ExprId) -> String {
    nested(manifest, at, DEPTH)
}

fn nested(manifest: &Manifest, at: ExprId, depth: usize) -> String {
    let Some(depth) = depth.checked_sub(1) else { return "...".to_string() };
    let sub = |at: ExprId| nested(manifest, at, depth);
    match manifest.exprs[at.index()] {
        Expr::Const(value) => value.to_string(),
        Expr::Symbol(symbol) => short(&manifest.symbols[symbol.index()].name),
        Expr::Add(a, b) => format!("({} + {})", sub(a), sub(b)),
        Expr::Mul(a, b) => format!("{} * {}", sub(a), sub(b)),
        Expr::FloorDiv(a, b) => format!("floordiv({}, {})", sub(a), sub(b)),
        Expr::CeilDiv(a, b) => format!("ceildiv({}, {})", sub(a), sub(b)),
        Expr::Mod(a, b) => format!("mod({}, {})", sub(a), sub(b)),
        Expr::Min(a, b) => format!("min({}, {})", sub(a), sub(b)),
        Expr::Max(a, b) => format!("max({}, {})", sub(a), sub(b)),
        Expr::Select { cmp, a, b, then, otherwise } => {
            format!("select({} {} {}, {}, {})", sub(a), sign(cmp), sub(b), sub(then), sub(otherwise))
        }
    }
}

fn short(name: &str) -> String {
    match name.char_indices().nth(NAME) {
        Some((end, _)) => format!("{}...", &name[..end]),
        None => name.to_owned(),
    }
}

/// A comparison as it is written.
pub fn sign(cmp: Cmp) -> &'static str {
    match cmp {
        Cmp::Eq => "==",
        Cmp::Lt => "<",
        Cmp::Le => "<=",
    }
}
