//! Decided branches, and what regions know of the graph around them.

use super::run_named;
use crate::{Options, Phase, default_pipeline, run};
use tcc_ir::eval::evaluate;
use tcc_ir::ops::{Binary, BinaryKind, Gather, If, Loop, Reshape, Unary, UnaryKind};
use tcc_ir::{DType, Dim, Graph, Loc, Op, Symbol, Tensor, Type, Value, ValueId};

fn add(g: &mut Graph, op: impl Into<Op>, inputs: &[ValueId]) -> ValueId {
    g.add1(op, inputs, &Loc::default()).unwrap()
}

fn floats(elems: &[f64]) -> Value {
    Tensor::from_floats(DType::F32, vec![elems.len()], elems.iter().copied()).into()
}

/// `cond ? -x : table[9]`, where the table has two elements; x is [n].
fn guarded(cond: Option<bool>) -> Graph {
    let n = Dim::symbol(Symbol::new("n"));
    let mut g = Graph::new("g");
    let x = g.add_input("x", Type::tensor(DType::F32, [n.clone()]));
    let given = g.add_input("c", Type::tensor(DType::Bool, [1i64]));
    let cond = match cond {
        Some(c) => g.constant(Tensor::from_ints(DType::Bool, vec![1], [c.into()]), &Loc::default()),
        None => given,
    };
    let table = g.constant(Tensor::from_floats(DType::F32, vec![2], [1.0, 2.0]), &Loc::default());
    let index = g.constant(Tensor::from_i64s(&[9]), &Loc::default());
    let captures = [x, table, index];
    let region = |name: &str| {
        let mut region = Graph::region(name, format!("{name}_"));
        for (i, v) in captures.iter().enumerate() {
            // The region names the extents itself.
            let mut ty = g.ty(*v).clone();
            ty.map_dims(&mut |_| Dim::symbol(Symbol::new(format!("{name}_{i}"))));
            region.add_input("captured", ty);
        }
        region
    };
    let (mut then_branch, mut else_branch) = (region("then"), region("else"));
    let first = then_branch.inputs()[0];
    let y = add(&mut then_branch, Unary { kind: UnaryKind::Neg }, &[first]);
    then_branch.set_outputs(vec![(y, "y".into())]);
    let inputs = else_branch.inputs().to_vec();
    let y = add(&mut else_branch, Gather { axis: 0 }, &inputs[1..]);
    else_branch.set_outputs(vec![(y, "y".into())]);
    let y = add(&mut g, If { then_branch, else_branch }, &[[cond].as_slice(), &captures].concat());
    let twice = add(&mut g, Binary { kind: BinaryKind::Add }, &[y, y]);
    g.set_outputs(vec![(twice, "y".into())]);
    g
}

fn optimise(g: &mut Graph) {
    let canonical = default_pipeline().until(Phase::Canonical);
    let options = Options { verify_each: true, ..Options::default() };
    run(g, &canonical, &options, &mut |_, _| {}).unwrap();
}

fn has(g: &Graph, name: &str) -> bool {
    g.nodes().any(|(_, node)| node.op.name() == name)
}

#[test]
fn a_decided_branch_takes_the_place_of_the_if() {
    let mut g = guarded(Some(true));
    optimise(&mut g);
    assert!(!has(&g, "if"));
    assert_eq!(g.n_nodes(), 2);
    assert_eq!(g.ty(g.outputs()[0]), g.ty(g.inputs()[0]), "the size is that of x again");
    let cond = Value::Tensor(Tensor::from_ints(DType::Bool, vec![1], [0]));
    let given = [floats(&[1.0, -0.0]), cond];
    assert_eq!(evaluate(&g, &given).unwrap(), [floats(&[-2.0, 0.0])]);
}

#[test]
fn a_branch_that_fails_is_an_error_of_the_runs_that_take_it() {
    let mut g = guarded(None);
    optimise(&mut g);
    assert!(has(&g, "if"));
    let run = |cond: i128| {
        let cond = Tensor::from_ints(DType::Bool, vec![1], [cond]);
        evaluate(&g, &[floats(&[3.0]), cond.into()])
    };
    assert_eq!(run(1).unwrap(), [floats(&[-6.0])]);
    assert!(run(0).is_err());
}

#[test]
fn constants_move_into_branches_and_are_captured_no_more() {
    let mut g = guarded(None);
    run_named(&mut g, &["specialise-regions", "dce"]);
    let (_, node) = g.nodes().find(|(_, node)| node.op.name() == "if").unwrap();
    assert_eq!(node.inputs.len(), 2, "the condition and x");
    let Op::If(op) = &node.op else { unreachable!() };
    assert!(has(&op.else_branch, "constant"));
    assert!(op.then_branch.symbols().is_empty(), "its sizes are those of the graph around it");
    assert!(!has(&g, "constant"));
}

/// Three times `x = reshape(x + step, sizes)`; the sizes are captured, so are the positions that are stacked and unused.
fn looped() -> Graph {
    let mut g = Graph::new("g");
    let x = g.add_input("x", Type::tensor(DType::F32, [4i64]));
    let trip = g.constant(Tensor::scalar_int(DType::I64, 3), &Loc::default());
    let step = g.constant(Tensor::scalar_float(DType::F32, 0.5), &Loc::default());
    let sizes = g.constant(Tensor::from_i64s(&[4]), &Loc::default());
    let mut body = Graph::region("body", "body_");
    let iteration = body.add_input("i", Type::tensor(DType::I64, Vec::<Dim>::new()));
    let cond = body.add_input("c", Type::tensor(DType::Bool, Vec::<Dim>::new()));
    let state = body.add_input("x", Type::tensor(DType::F32, [Dim::symbol(Symbol::new("body_n"))]));
    let inner_step = body.add_input("step", Type::tensor(DType::F32, Vec::<Dim>::new()));
    let inner_sizes = body.add_input("sizes", Type::tensor(DType::I64, [1i64]));
    let dims = body.elems(inner_sizes).unwrap();
    let sum = add(&mut body, Binary { kind: BinaryKind::Add }, &[state, inner_step]);
    let next = add(&mut body, Reshape { dims }, &[sum]);
    body.set_outputs([cond, next, iteration].map(|v| (v, "o".to_string())).to_vec());
    let op = Loop { body, n_carried: 1, has_trip: true, has_cond: false };
    let outputs = g.add(op, &[trip, x, step, sizes], &Loc::default()).unwrap();
    g.set_outputs(vec![(outputs[0], "y".into())]);
    g
}

#[test]
fn loops_know_what_they_capture_and_stack_nothing_in_vain() {
    let mut g = looped();
    let given = [floats(&[1.0, 2.0, 3.0, 4.0])];
    let before = evaluate(&g, &given).unwrap();
    optimise(&mut g);
    let (_, node) = g.nodes().find(|(_, node)| node.op.name() == "loop").unwrap();
    assert_eq!((node.inputs.len(), node.outputs.len()), (2, 1), "trip count and state");
    let Op::Loop(op) = &node.op else { unreachable!() };
    let read =
        op.body.symbols().iter().filter(|(_, s)| matches!(s, tcc_ir::graph::SymbolSource::Elem { .. }));
    assert_eq!(read.count(), 0, "no size is read from a tensor any more");
    assert_eq!(evaluate(&g, &given).unwrap(), before);
}
