//! Tests of equality saturation.

mod extract;
mod fusion;
mod results;
mod rules;
mod siblings;

use crate::testing::{Random, same};
use crate::{FusionLevel, Options, default_pipeline, run};
use tcc_ir::eval::evaluate;
use tcc_ir::ops::KernelOp;
use tcc_ir::{DType, Graph, Op, Tensor, Value};

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

/// Small numbers: sums of some are exact.
fn input(shape: Vec<usize>, random: &mut Random) -> Value {
    let n: usize = shape.iter().product();
    let elems: Vec<f64> = (0..n).map(|_| random.below(16) as f64 / 4.0 - 2.0).collect();
    Tensor::from_floats(DType::F32, shape, elems).into()
}

/// The fused graph, of which it is checked that it computes the same.
fn check(text: &str, inputs: &[Value]) -> Graph {
    let before = tcc_ir::text::parse(text).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let options = Options { fusion: FusionLevel::Horizontal, ..Options::default() };
    let after = fused(text, &options);
    let (want, have) =
        (evaluate(&before, inputs).expect("it runs"), evaluate(&after, inputs).expect("it runs"));
    for (a, b) in want.iter().zip(&have) {
        assert!(same(a, b), "{a:?} became {b:?} in {}", tcc_ir::text::print(&after));
    }
    after
}
