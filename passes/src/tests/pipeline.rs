//! The pass manager.

use crate::pass::{Changed, Pass, Regions};
use crate::{Options, Phase, Pipeline, default_pipeline, registry, run};
use tcc_ir::diag::Code;
use tcc_ir::ops::{Binary, BinaryKind, Unary, UnaryKind};
use tcc_ir::{DType, Graph, Loc, Type};

/// `y = -x` beside a dead `x + x`.
fn with_dead_node() -> Graph {
    let mut g = Graph::new("g");
    let x = g.add_input("x", Type::tensor(DType::F32, [4i64]));
    g.add1(Binary { kind: BinaryKind::Add }, &[x, x], &Loc::default()).unwrap();
    let y = g.add1(Unary { kind: UnaryKind::Neg }, &[x], &Loc::default()).unwrap();
    g.set_outputs(vec![(y, "y".into())]);
    g
}

#[test]
fn names_are_unique_and_found() {
    for pass in registry::ALL {
        assert_eq!(registry::ALL.iter().filter(|p| p.name == pass.name).count(), 1, "{}", pass.name);
        assert_eq!(registry::find(pass.name).unwrap().name, pass.name);
    }
    let error = registry::find("no-such").unwrap_err();
    assert_eq!(error.code, Code::UnknownPass);
    assert!(error.to_string().contains("dce"), "the message lists the passes: {error}");
}

#[test]
fn unknown_names_are_errors_wherever_they_stand() {
    let names = || vec!["no-such".to_string()];
    for options in [
        Options { passes: Some(names()), ..Options::default() },
        Options { print_after: names(), ..Options::default() },
    ] {
        let error = run(&mut with_dead_node(), &default_pipeline(), &options, &mut |_, _| {}).unwrap_err();
        assert_eq!(error.code, Code::UnknownPass);
    }
}

#[test]
fn the_report_counts_and_the_limit_skips() {
    let mut g = with_dead_node();
    let canonical = default_pipeline().until(Phase::Canonical);
    let options = Options { opt_bisect_limit: Some(0), ..Options::default() };
    let report = run(&mut g, &canonical, &options, &mut |_, _| {}).unwrap();
    assert_eq!(g.n_nodes(), 2);
    assert!(report.applications.iter().all(|a| !(a.skipped && a.changed)));
    let optional = |name| !registry::find(name).unwrap().required;
    assert!(report.applications.iter().all(|a| a.skipped == optional(a.pass)));

    let options = Options { time_passes: true, ..Options::default() };
    let report = run(&mut g, &canonical, &options, &mut |_, _| {}).unwrap();
    assert_eq!(g.n_nodes(), 1);
    let numbers: Vec<usize> = report.applications.iter().map(|a| a.number).collect();
    assert_eq!(numbers, (0..numbers.len()).collect::<Vec<_>>());
    let dce = report.times().into_iter().find(|(pass, ..)| *pass == "dce").unwrap();
    assert!(dce.1.as_nanos() > 0);
}

#[test]
fn the_observer_sees_the_graph_after_the_named_pass() {
    let mut seen = Vec::new();
    let options = Options { print_after: vec!["dce".into()], ..Options::default() };
    run(&mut with_dead_node(), &default_pipeline(), &options, &mut |pass, graph| {
        seen.push((pass.name, graph.n_nodes()));
    })
    .unwrap();
    assert!(!seen.is_empty());
    assert!(seen.iter().all(|s| *s == ("dce", 1)), "{seen:?}");
}

#[test]
fn a_pass_that_breaks_the_graph_is_named() {
    const BREAK: Pass = Pass {
        name: "break",
        summary: "Erase a node that is used.",
        required: false,
        regions: Regions::InnerFirst,
        run: |graph, _| {
            let id = graph.producer(graph.outputs()[0]).unwrap().0;
            graph.erase(id);
            Ok(Changed::Yes)
        },
    };
    let options = Options { verify_each: true, ..Options::default() };
    let pipeline = Pipeline::new().phase(Phase::Canonical, &[BREAK]);
    let error = run(&mut with_dead_node(), &pipeline, &options, &mut |_, _| {}).unwrap_err();
    assert_eq!(error.code, Code::InvalidIr);
    assert!(error.to_string().contains("after pass `break`"), "{error}");
}

#[test]
fn stopping_early_leaves_later_phases_out() {
    let pass = registry::ALL[0];
    let pipeline = Pipeline::new().phase(Phase::Imported, &[pass]).phase(Phase::Canonical, &[pass, pass]);
    let applied = |pipeline: &Pipeline| {
        let report = run(&mut with_dead_node(), pipeline, &Options::default(), &mut |_, _| {}).unwrap();
        report.applications.len()
    };
    assert_eq!(applied(&pipeline), 3);
    assert_eq!(applied(&pipeline.clone().until(Phase::Imported)), 1);
}
