//! Building, editing, ordering.

use crate::ops::{Binary, BinaryKind, Broadcast};
use crate::{DType, Dim, Graph, Loc, Symbol, Type};

fn add() -> Binary {
    Binary { kind: BinaryKind::Add }
}

#[test]
fn replaced_values_leave_no_use_and_sort_restores_order() {
    let mut g = Graph::new("g");
    let n = Dim::symbol(Symbol::new("n"));
    let x = g.add_input("x", Type::tensor(DType::F32, [n]));
    let a = g.add1(add(), &[x, x], &Loc::default()).unwrap();
    let b = g.add1(add(), &[a, x], &Loc::default()).unwrap();
    g.set_outputs(vec![(b, "y".into())]);
    let c = g.add1(add(), &[x, x], &Loc::default()).unwrap();
    g.replace_uses(a, c);
    assert!(g.verify().is_err(), "c is defined after its use");
    g.sort().unwrap();
    g.verify().unwrap();
    assert_eq!(g.uses(a).count(), 0);
}

#[test]
fn nodes_sink_to_their_first_use_and_keep_their_order() {
    let mut g = Graph::new("g");
    let x = g.add_input("x", Type::tensor(DType::F32, [4i64]));
    let [a, b, unused] = [(); 3]
        .map(|()| g.constant(crate::Tensor::from_floats(DType::F32, vec![4], [1.0; 4]), &Loc::default()));
    let double = g.add1(add(), &[b, b], &Loc::default()).unwrap();
    let first = g.add1(add(), &[x, a], &Loc::default()).unwrap();
    let second = g.add1(add(), &[first, double], &Loc::default()).unwrap();
    g.set_outputs(vec![(second, "y".into())]);
    let of = |g: &Graph, v| g.producer(v).unwrap().0;
    let late = [a, b, unused, double].map(|v| of(&g, v)).into_iter().collect();
    assert!(g.sink(&late));
    assert!(!g.sink(&late), "all are where they belong");
    g.verify().unwrap();
    let order: Vec<_> = g.nodes().map(|(id, _)| id).collect();
    assert_eq!(order, [a, first, b, double, second, unused].map(|v| of(&g, v)));
}

#[test]
fn nodes_that_many_ways_lead_to_sink_once() {
    let mut g = Graph::new("g");
    let mut all = vec![g.constant(crate::Tensor::from_floats(DType::F32, vec![1], [1.0]), &Loc::default())];
    for _ in 0..64 {
        let last = all[all.len() - 1];
        let [a, b] = [(); 2].map(|()| g.add1(add(), &[last, last], &Loc::default()).unwrap());
        all.extend([a, b, g.add1(add(), &[a, b], &Loc::default()).unwrap()]);
    }
    let x = g.add_input("x", Type::tensor(DType::F32, [1i64]));
    let y = g.add1(add(), &[x, all[all.len() - 1]], &Loc::default()).unwrap();
    g.set_outputs(vec![(y, "y".into())]);
    let late = all.iter().map(|v| g.producer(*v).unwrap().0).collect();
    g.sink(&late);
    g.verify().unwrap();
}

#[test]
fn symbols_that_nothing_defines_are_found() {
    let mut g = Graph::new("g");
    let dim = |name: &str| Dim::symbol(Symbol::new(name));
    let x = g.add_input("x", Type::tensor(DType::F32, [dim("n")]));
    let y = g.add1(Broadcast { dims: vec![dim("m"), dim("n")] }, &[x], &Loc::default()).unwrap();
    g.set_outputs(vec![(y, "y".into())]);
    let found = g.verify().unwrap_err();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].what.contains("symbol m, which nothing defines"), "{}", found[0]);
    // Twice a size is no size that an input's extent could tell.
    let mut g = Graph::new("g");
    g.add_input("x", Type::tensor(DType::F32, [dim("n") * Dim::from(2)]));
    assert!(g.verify().unwrap_err()[0].what.contains("the type of %0 has symbol n"));
}

#[test]
fn unprovable_broadcasts_become_checks() {
    let mut g = Graph::new("g");
    let x = g.add_input("x", Type::tensor(DType::F32, [Dim::symbol(Symbol::new("n"))]));
    let y = g.add_input("y", Type::tensor(DType::F32, [Dim::from(4)]));
    let z = g.add1(add(), &[x, y], &Loc::default()).unwrap();
    assert_eq!(g.ty(z), &Type::tensor(DType::F32, [4i64]));
    assert_eq!(g.producer(z).unwrap().1.checks.len(), 1);
    let w = g.add_input("w", Type::tensor(DType::F32, [3i64]));
    assert!(g.add(add(), &[y, w], &Loc::default()).is_err());
}
