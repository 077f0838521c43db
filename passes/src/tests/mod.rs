//! Tests of the passes, a file each.

mod bind_dims;
mod canonicalise;
mod cse;
mod dce;
mod fold;
mod pipeline;
mod random;
mod regions;

use crate::{Options, Pipeline, Report, run};
use tcc_ir::Graph;

/// Runs passes by name, verifying after each.
fn run_named(graph: &mut Graph, passes: &[&str]) -> Report {
    let options = Options {
        passes: Some(passes.iter().map(ToString::to_string).collect()),
        verify_each: true,
        ..Options::default()
    };
    run(graph, &Pipeline::new(), &options, &mut |_, _| {}).expect("the passes succeed")
}
