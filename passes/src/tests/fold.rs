//! Constant folding, known sizes and symbols that become known.

use super::run_named;
use crate::{FoldLimits, Options, Pipeline, run};
use tcc_ir::eval::evaluate;
use tcc_ir::ops::{Binary, BinaryKind, Broadcast, Gather, Reshape, Sizes, Transpose};
use tcc_ir::{DType, Dim, Graph, Loc, Op, Symbol, Tensor, Type, Value, ValueId};

fn add(g: &mut Graph, op: impl Into<Op>, inputs: &[ValueId]) -> ValueId {
    g.add1(op, inputs, &Loc::default()).unwrap()
}

fn output(g: &Graph) -> &Op {
    &g.producer(g.outputs()[0]).expect("the output is computed").1.op
}

#[test]
fn a_chain_of_constants_becomes_one() {
    let mut g = Graph::new("g");
    let a = g.constant(Tensor::from_i64s(&[1, 2, 3]), &Loc::default());
    let b = add(&mut g, Binary { kind: BinaryKind::Add }, &[a, a]);
    let c = add(&mut g, Binary { kind: BinaryKind::Mul }, &[b, a]);
    g.set_outputs(vec![(c, "y".into())]);
    run_named(&mut g, &["fold", "dce"]);
    assert_eq!(g.n_nodes(), 1);
    assert_eq!(evaluate(&g, &[]).unwrap(), [Value::Tensor(Tensor::from_i64s(&[2, 8, 18]))]);
}

#[test]
fn arithmetic_on_shapes_becomes_sizes() {
    let mut g = Graph::new("g");
    let n = Dim::symbol(Symbol::new("n"));
    let x = g.add_input("x", Type::tensor(DType::F32, [n.clone(), Dim::from(6)]));
    let shape = Sizes { dtype: DType::I64, shape: vec![2], elems: vec![n.clone(), Dim::from(6)] };
    let shape = add(&mut g, shape, &[]);
    let two = g.constant(Tensor::from_i64s(&[2]), &Loc::default());
    let halves = add(&mut g, Binary { kind: BinaryKind::Div }, &[shape, two]);
    let index = g.constant(Tensor::from_i64s(&[1]), &Loc::default());
    let last = add(&mut g, Gather { axis: 0 }, &[halves, index]);
    g.set_outputs(vec![(halves, "halves".into()), (last, "last".into()), (x, "x".into())]);
    run_named(&mut g, &["fold", "dce"]);
    let Op::Sizes(sizes) = output(&g) else { panic!("{:?}", output(&g)) };
    assert_eq!(sizes.elems, [n.floor_div(&Dim::from(2)), Dim::from(3)]);
    assert_eq!(g.constant_of(g.outputs()[1]), Some(&Tensor::from_i64s(&[3])));
}

#[test]
fn an_evaluation_that_fails_is_left_to_the_run() {
    let mut g = Graph::new("g");
    let table = g.constant(Tensor::from_floats(DType::F32, vec![2], [1.0, 2.0]), &Loc::default());
    let index = g.constant(Tensor::from_i64s(&[5]), &Loc::default());
    let y = add(&mut g, Gather { axis: 0 }, &[table, index]);
    g.set_outputs(vec![(y, "y".into())]);
    run_named(&mut g, &["fold", "dce"]);
    assert!(matches!(output(&g), Op::Gather(_)));
    assert!(evaluate(&g, &[]).is_err());
}

#[test]
fn large_results_stay_operators_unless_they_replace_their_operands() {
    let large = || Tensor::from_floats(DType::F32, vec![300, 200], (0..60_000).map(f64::from));
    let build = |g: &mut Graph| {
        let w = g.constant(large(), &Loc::default());
        let t = add(g, Transpose { perm: vec![1, 0] }, &[w]);
        let scalar = g.constant(Tensor::scalar(DType::F32, 1.0), &Loc::default());
        let wide = add(g, Broadcast { dims: vec![Dim::from(300), Dim::from(200)] }, &[scalar]);
        (w, t, wide)
    };
    // A transposed weight takes the place of the weight; a broadcast scalar takes the place of nothing.
    let mut g = Graph::new("g");
    let (_, t, wide) = build(&mut g);
    g.set_outputs(vec![(t, "t".into()), (wide, "wide".into())]);
    run_named(&mut g, &["fold", "dce"]);
    assert!(g.constant_of(g.outputs()[0]).is_some());
    assert!(g.constant_of(g.outputs()[1]).is_none());
    // A weight that is used as it is too would then be stored twice.
    let mut g = Graph::new("g");
    let (w, t, _) = build(&mut g);
    g.set_outputs(vec![(t, "t".into()), (w, "w".into())]);
    run_named(&mut g, &["fold", "dce"]);
    assert!(g.constant_of(g.outputs()[0]).is_none());
    // Without steps nothing is evaluated.
    let mut g = Graph::new("g");
    let (_, t, _) = build(&mut g);
    g.set_outputs(vec![(t, "t".into())]);
    let fold = FoldLimits { steps: 100_000, passes: 0, ..FoldLimits::default() };
    let options = Options { passes: Some(vec!["fold".into()]), fold, ..Options::default() };
    run(&mut g, &Pipeline::new(), &options, &mut |_, _| {}).unwrap();
    assert!(g.constant_of(g.outputs()[0]).is_none());
}

#[test]
fn operators_that_are_free_fold_through_but_not_themselves() {
    let mut g = Graph::new("g");
    let scalar = g.constant(Tensor::scalar(DType::F32, 1.0), &Loc::default());
    let wide = add(&mut g, Broadcast { dims: vec![Dim::from(500)] }, &[scalar]);
    let sum = add(&mut g, Binary { kind: BinaryKind::Add }, &[wide, wide]);
    g.set_outputs(vec![(sum, "sum".into()), (wide, "wide".into())]);
    run_named(&mut g, &["fold", "dce"]);
    let two = Tensor::from_floats(DType::F32, vec![500], [2.0; 500]);
    assert_eq!(g.constant_of(g.outputs()[0]), Some(&two));
    assert!(g.constant_of(g.outputs()[1]).is_none());
}

/// Reshapes `x` of six elements to sizes that are read from a gather out of `table`.
fn reshape_by(table: &[i64]) -> Graph {
    let mut g = Graph::new("g");
    let x = g.add_input("x", Type::tensor(DType::F32, [6i64]));
    let table = g.constant(Tensor::from_i64s(table), &Loc::default());
    // Not small enough to be followed element by element.
    let wide = add(&mut g, Broadcast { dims: vec![Dim::from(40), Dim::from(2)] }, &[table]);
    let index = g.constant(Tensor::scalar_int(DType::I64, 3), &Loc::default());
    let sizes = add(&mut g, Gather { axis: 0 }, &[wide, index]);
    let dims = g.elems(sizes).unwrap();
    let y = add(&mut g, Reshape { dims }, &[x]);
    g.set_outputs(vec![(y, "y".into())]);
    g
}

#[test]
fn symbols_of_folded_values_become_constants() {
    let mut g = reshape_by(&[2, 3]);
    assert_eq!(g.symbols().len(), 2);
    run_named(&mut g, &["fold", "resolve-dims", "dce"]);
    assert_eq!(g.ty(g.outputs()[0]), &Type::tensor(DType::F32, [2i64, 3]));
    assert_eq!((g.symbols().len(), g.n_nodes()), (0, 1));
}

#[test]
fn sizes_that_disagree_fail_at_run_time_and_not_before() {
    let mut g = reshape_by(&[2, 4]);
    run_named(&mut g, &["fold", "resolve-dims", "dce"]);
    let x = Value::Tensor(Tensor::from_floats(DType::F32, vec![6], [0.0; 6]));
    assert!(evaluate(&g, &[x]).is_err());
}
