//! Tests of equality saturation.

mod fusion;
mod rules;
mod siblings;

use crate::{Options, default_pipeline, run};
use tcc_ir::ops::KernelOp;
use tcc_ir::{Graph, Op};

/// The graph of a text, compiled to kernels.
fn fused(text: &str, options: &Options) -> Graph {
    let mut graph = tcc_ir::text::parse(text).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let options = Options { verify_each: true, ..options.clone() };
    run(&mut graph, &default_pipeline(), &options, &mut |_, _| {}).expect("the passes succeed");
    graph
}

fn kernels(graph: &Graph) -> Vec<&KernelOp> {
    let kernel = |op| match op {
        &Op::KernelOp(ref kernel) => Some(kernel),
        _ => None,
    };
    graph.nodes().filter_map(|(_, node)| kernel(&node.op)).collect()
}
