//! Dead code elimination.

use super::run_named;
use tcc_ir::ops::{Binary, BinaryKind, Reshape, Unary, UnaryKind};
use tcc_ir::{DType, Graph, Loc, Type};

fn neg() -> Unary {
    Unary { kind: UnaryKind::Neg }
}

#[test]
fn chains_that_lead_nowhere_go() {
    let mut g = Graph::new("g");
    let x = g.add_input("x", Type::tensor(DType::F32, [4i64]));
    let mut dead = x;
    for _ in 0..5 {
        dead = g.add1(neg(), &[dead], &Loc::default()).unwrap();
    }
    let a = g.add1(neg(), &[x], &Loc::default()).unwrap();
    let y = g.add1(Binary { kind: BinaryKind::Add }, &[a, x], &Loc::default()).unwrap();
    g.set_outputs(vec![(y, "y".into())]);
    assert!(run_named(&mut g, &["dce"]).applications[0].changed);
    assert_eq!(g.n_nodes(), 2);
    assert!(!run_named(&mut g, &["dce"]).applications[0].changed);
}

#[test]
fn a_value_that_a_needed_symbol_is_read_from_stays_and_others_go() {
    let mut g = Graph::new("g");
    let x = g.add_input("x", Type::tensor(DType::F32, [6i64]));
    let shape = g.add_input("shape", Type::tensor(DType::I64, [2i64]));
    let negated = g.add1(neg(), &[shape], &Loc::default()).unwrap();
    let dims = g.elems(negated).unwrap();
    let y = g.add1(Reshape { dims }, &[x], &Loc::default()).unwrap();
    g.set_outputs(vec![(y, "y".into())]);
    run_named(&mut g, &["dce"]);
    assert_eq!(g.n_nodes(), 2, "the reshape has no operand `negated`, but its sizes are read from it");
    assert_eq!(g.symbols().len(), 2);

    g.set_outputs(vec![(x, "y".into())]);
    run_named(&mut g, &["dce"]);
    assert_eq!((g.n_nodes(), g.symbols().len()), (0, 0));
}

#[test]
fn a_symbol_that_goes_leaves_no_record_behind() {
    let mut g = Graph::new("g");
    let x = g.add_input("x", Type::tensor(DType::I64, [2i64]));
    let y = g.add1(neg(), &[x], &Loc::default()).unwrap();
    g.elems(y).unwrap();
    g.set_outputs(vec![(y, "y".into())]);
    run_named(&mut g, &["dce"]);
    assert!(g.symbols().is_empty());
    assert_eq!(g.value(y).elems, None, "else another pass takes the symbols for sizes that it can use");
}
