//! Every pass, and the whole pipeline, on random graphs.

use super::run_named;
use crate::testing::{random_case, same};
use crate::{Options, Phase, default_pipeline, registry, run};
use tcc_ir::eval::evaluate;
use tcc_ir::{Graph, Value};

/// Runs `change` on random graphs: what could be evaluated before must give the same after.
fn check(n_cases: u64, same: fn(&Value, &Value) -> bool, change: &dyn Fn(&mut Graph)) {
    let mut evaluated = 0;
    for seed in 0..n_cases {
        let case = random_case(seed, 4 + seed as usize % 24);
        case.graph
            .verify()
            .unwrap_or_else(|e| panic!("seed {seed}: the generator made an invalid graph: {e:?}"));
        // A pass must cope with graphs that can't run too.
        let mut graph = case.graph.clone();
        change(&mut graph);
        let Ok(before) = evaluate(&case.graph, &case.inputs) else { continue };
        evaluated += 1;
        let after = evaluate(&graph, &case.inputs).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        for (i, (a, b)) in before.iter().zip(&after).enumerate() {
            assert!(same(a, b), "seed {seed}, output {i}: {a:?} became {b:?}\n{:#?}", case.graph);
        }
    }
    assert!(evaluated > n_cases / 2, "only {evaluated} of {n_cases} graphs can be evaluated");
}

#[test]
fn each_pass_keeps_the_meaning() {
    for pass in registry::ALL {
        // Fusion computes sums in kernels.
        let alike = if pass.name == "egraph" { same_numbers } else { same };
        check(150, alike, &|graph| {
            run_named(graph, &[pass.name]);
        });
    }
}

#[test]
fn the_pipeline_keeps_the_meaning_and_comes_to_rest() {
    let options = Options { verify_each: true, ..Options::default() };
    let canonical = default_pipeline().until(Phase::Canonical);
    check(400, same, &|graph| {
        run(graph, &canonical, &options, &mut |_, _| {}).expect("the passes succeed");
        let before = graph.clone();
        run(graph, &canonical, &options, &mut |_, _| {}).expect("the passes succeed");
        assert_eq!(*graph, before, "a second run finds nothing more");
    });
}

#[test]
fn the_same_input_gives_the_same_graph() {
    for seed in 0..100 {
        let optimised = || {
            let mut graph = random_case(seed, 20).graph;
            let canonical = default_pipeline().until(Phase::Canonical);
            run(&mut graph, &canonical, &Options::default(), &mut |_, _| {}).unwrap();
            graph
        };
        assert_eq!(optimised(), optimised());
    }
}

/// As [`same`], but a sum may have another zero's sign: kernels add in another order.
fn same_numbers(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Tensor(a), Value::Tensor(b)) if a.dtype().is_float() => {
            let equal = |(a, b): (&f64, &f64)| a == b || (a.is_nan() && b.is_nan());
            (a.dtype(), a.shape()) == (b.dtype(), b.shape()) && a.floats().iter().zip(&b.floats()).all(equal)
        }
        _ => same(a, b),
    }
}

#[test]
fn kernels_keep_the_meaning() {
    let options = Options { verify_each: true, ..Options::default() };
    check(300, same_numbers, &|graph| {
        run(graph, &default_pipeline(), &options, &mut |_, _| {}).expect("the passes succeed");
    });
}
