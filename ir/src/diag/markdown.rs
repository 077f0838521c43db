//! docs/errors.md: the table of diagnostic codes as a page.

use super::CODES;
use std::fmt::Write;

/// The page of all codes with their explanations.
pub fn markdown() -> String {
    let mut out = String::from(
        "# Error codes\n\nGenerated from ir/src/diag/codes.rs. `tcc explain CODE` shows the same text.\n",
    );
    for code in CODES {
        let _ = write!(out, "\n## {}: {}\n\n{}\n", code.id(), code.title(), code.explanation());
    }
    out
}
