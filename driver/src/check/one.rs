//! Runs one case in this process.

use std::path::Path;
use std::sync::Arc;

use tcc_ir::{Graph, Value};
use tcc_runtime::{Context, Pool};

use super::case::{Case, DataSet};
use super::judge::{Finding, judge};
use super::{Outcome, Verdict};
use super::{origin, random};
use crate::compare::Tolerance;
use crate::{Result, compile, execute, port, source};

/// What computes the outputs.
#[derive(Clone, Debug)]
pub enum Engine {
    /// The reference evaluator, on the graph as it was imported.
    Reference,
    /// Compiled code.
    Compiled(compile::Options),
}

/// Runs the case in `folder` and judges it.
pub fn check(folder: &Path, engine: &Engine, tolerance: Tolerance) -> Outcome {
    match Case::open(folder, tolerance) {
        Ok(case) => judge(case.expectation, &find(&case, engine)),
        Err(found) => Outcome::new(Verdict::Error, found.to_string()),
    }
}

fn find(case: &Case, engine: &Engine) -> Finding {
    let model = match source::load(&case.model()) {
        Ok(model) => model,
        Err(found) => return Finding::Refused(found),
    };
    let (inputs, outputs) = (port::graph_inputs(&model.graph), port::graph_outputs(&model.graph));
    let data_sets = case.data_sets(&inputs, &outputs);
    let graph = model.graph;
    let origins = origin::of_outputs(&graph);
    let tolerance = |index: usize| match origins.get(index) {
        Some(origin) if origin.summed => case.tolerance.of_sum(),
        _ => case.tolerance,
    };
    let mut runner = match engine.prepare(origin::with_draws_as_outputs(&graph)) {
        Ok(runner) => runner,
        Err(found) => return Finding::Refused(found),
    };
    let data_sets = match data_sets {
        Ok(data_sets) => data_sets,
        Err(found) => return Finding::BadCase(found),
    };
    let (mut compared, mut note) = (false, String::new());
    for DataSet { inputs, outputs } in data_sets {
        let got = match runner.run(&inputs) {
            Ok(got) => got,
            Err(found) => return Finding::Refused(found),
        };
        if outputs.is_empty() {
            continue;
        }
        compared = true;
        match random::compare(&graph, &origins, &inputs, &got, &outputs, &tolerance) {
            Ok(about) => note = about.unwrap_or_default(),
            Err(what) => return Finding::Ran { compared, mismatch: Some(what), note },
        }
    }
    Finding::Ran { compared, mismatch: None, note }
}

enum Runner {
    Reference(Graph),
    Compiled(Box<Context>),
}

impl Engine {
    fn prepare(&self, graph: Graph) -> Result<Runner> {
        match self {
            Engine::Reference => Ok(Runner::Reference(graph)),
            Engine::Compiled(options) => {
                let package = compile::compile(graph, options, &mut |_, _| {})?.package()?;
                let context = Context::new(Arc::new(package), Arc::new(Pool::new(0)));
                Ok(Runner::Compiled(Box::new(context)))
            }
        }
    }
}

impl Runner {
    fn run(&mut self, inputs: &[Value]) -> Result<Vec<Value>> {
        match self {
            Runner::Reference(graph) => execute::evaluate(graph, inputs),
            Runner::Compiled(context) => {
                execute::set_inputs(context, inputs)?;
                execute::run(context)?;
                execute::outputs(context)
            }
        }
    }
}
