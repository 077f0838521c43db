//! The text form of graphs: printed and parsed without loss. The grammar is in docs/text-form.md.
//!
//! Large constants print as a reference (`f32[1000, 512] @w0 #hash`); [`print_with`] returns their data beside the
//! text and [`parse_with`] asks for it.
//!
//! Invariant: `parse(print(g))` equals `g` up to [`Graph::renumbered`], and every malformed text is a list of
//! diagnostics with line and column, never a panic.

mod lex;
mod literal;
mod name;
mod parse;
mod print;
mod scope;
#[cfg(test)]
mod tests;
mod weight;

pub(crate) use name::symbol as symbol_name;
pub use weight::{WeightRef, content_hash};

use crate::diag::Diagnostic;
use crate::graph::Graph;
use crate::kernel::Kernel;
use crate::tensor::Tensor;

/// How to print.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Constants with at most this many elements are printed whole.
    pub inline_elements: usize,
    /// Whether nodes show where they came from.
    pub locations: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { inline_elements: 64, locations: true }
    }
}

/// A graph as text, with the tensors that the text only refers to.
#[derive(Clone, PartialEq, Debug)]
pub struct Printed {
    pub text: String,
    /// (label, data) of each reference, each tensor once.
    pub weights: Vec<(String, Tensor)>,
}

/// The text of a graph; large constants as references.
pub fn print(graph: &Graph) -> String {
    print_with(graph, &Options::default()).text
}

/// The text of a graph, and the constants that it refers to.
pub fn print_with(graph: &Graph, options: &Options) -> Printed {
    print::print(graph, options)
}

/// The text of one kernel, as it stands in a graph's.
pub fn print_kernel(kernel: &Kernel) -> String {
    print::print_kernel(kernel, &Options::default())
}

/// Reads a graph whose constants all stand in the text.
///
/// # Errors
/// Everything that is wrong with the text, each with line and column.
pub fn parse(text: &str) -> Result<Graph, Vec<Diagnostic>> {
    parse_with(text, &|_| None)
}

/// Reads a graph; `weights` gives the constants that the text refers to.
///
/// # Errors
/// Everything that is wrong with the text, each with line and column.
pub fn parse_with(
    text: &str,
    weights: &dyn Fn(&WeightRef) -> Option<Tensor>,
) -> Result<Graph, Vec<Diagnostic>> {
    parse::parse(text, weights)
}
