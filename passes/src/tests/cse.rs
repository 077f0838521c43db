//! Common subexpressions.

use super::run_named;
use tcc_ir::ops::{Binary, BinaryKind, Constant, Unary, UnaryKind};
use tcc_ir::{DType, Graph, Loc, Tensor, Type};

#[test]
fn equal_chains_become_one_with_both_origins() {
    let mut g = Graph::new("g");
    let x = g.add_input("x", Type::tensor(DType::F16, [4i64]));
    let mut ends = Vec::new();
    for name in ["first", "second"] {
        let loc = Loc::node(name, "Relu");
        let c = g.constant(Tensor::scalar(DType::F16, 2.0), &loc);
        let sum = g.add1(Binary { kind: BinaryKind::Add }, &[x, c], &loc).unwrap();
        ends.push(g.add1(Unary { kind: UnaryKind::Exp }, &[sum], &loc).unwrap());
    }
    g.set_outputs(vec![(ends[0], "a".into()), (ends[1], "b".into())]);
    run_named(&mut g, &["cse"]);
    assert_eq!(g.n_nodes(), 3);
    assert_eq!(g.outputs()[0], g.outputs()[1]);
    assert_eq!(g.output_names(), ["a", "b"]);
    let names: Vec<_> =
        g.nodes().last().unwrap().1.loc.sources().iter().map(|s| s.name.to_string()).collect();
    assert_eq!(names, ["first", "second"]);
}

#[test]
fn zeros_of_different_sign_and_other_types_stay_apart() {
    let mut g = Graph::new("g");
    let outputs = [
        Tensor::scalar(DType::F32, 0.0),
        Tensor::scalar(DType::F32, -0.0),
        Tensor::scalar(DType::F64, 0.0),
        Tensor::from_floats(DType::F32, vec![1], [0.0]),
    ]
    .map(|value| (g.add1(Constant { value }, &[], &Loc::default()).unwrap(), "y".to_string()));
    g.set_outputs(outputs.to_vec());
    run_named(&mut g, &["cse"]);
    assert_eq!(g.n_nodes(), 4);
}
