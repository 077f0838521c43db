//! Gather, GatherElements, GatherNd.

use super::{floats, ints, numbered, run, run_fixed};
use crate::ops::{Gather, GatherElements, GatherNd};
use crate::{DType, Dim, Graph, Loc, Symbol, Tensor, Type};

fn gather_nd(x: &Tensor, indices: &Tensor, batch_dims: usize) -> Result<Tensor, String> {
    run_fixed(GatherNd { batch_dims }, &[x.clone(), indices.clone()], &[1])
}

#[test]
fn gather_replaces_an_axis_by_those_of_the_indices() {
    let x = numbered(&[2, 3]);
    let g = |indices: Tensor, axis| run(Gather { axis }, &[x.clone(), indices]);
    assert_eq!(g(ints(&[], &[1]), 0).unwrap(), ints(&[3], &[3, 4, 5]));
    assert_eq!(g(ints(&[2], &[-1, 0]), 1).unwrap(), ints(&[2, 2], &[2, 0, 5, 3]));
    assert_eq!(g(ints(&[1, 2], &[0, -2]), 0).unwrap().shape(), [1, 2, 3]);
    assert_eq!(g(ints(&[0], &[]), 0).unwrap().shape(), [0, 3]);
    let bytes = Tensor::from_ints(DType::U8, vec![1], [1]);
    assert_eq!(g(bytes, 0).unwrap(), ints(&[1, 3], &[3, 4, 5]));
    assert!(g(floats(DType::F32, &[0.0]), 0).is_err());
    assert!(g(ints(&[], &[0]), 2).is_err());
}

#[test]
fn indices_need_an_axis_with_elements() {
    let mut g = Graph::new("g");
    let n = Dim::symbol(Symbol::new("n"));
    let x = g.add_input("x", Type::tensor(DType::F32, [n, Dim::from(3)]));
    let none = g.add_input("none", Type::tensor(DType::I64, [0i64]));
    let some = g.add_input("some", Type::tensor(DType::I64, [2i64]));
    let pairs = g.add_input("pairs", Type::tensor(DType::I64, [2i64, 2]));
    let mut checks = |op: crate::Op, indices| {
        let y = g.add1(op, &[x, indices], &Loc::default()).unwrap();
        g.producer(y).unwrap().1.checks.clone()
    };
    assert_eq!(checks(Gather { axis: 0 }.into(), none), []);
    assert_eq!(checks(Gather { axis: 1 }.into(), some), []);
    assert_eq!(checks(Gather { axis: 0 }.into(), some).len(), 1);
    assert_eq!(checks(GatherNd { batch_dims: 0 }.into(), pairs).len(), 1);
}

#[test]
fn an_index_out_of_range_is_named() {
    for (index, axis, extent) in [(2i64, 0, 2), (-3, 0, 2), (3, 1, 3), (i64::MIN, 1, 3)] {
        let error = run(Gather { axis }, &[numbered(&[2, 3]), ints(&[1], &[index])]).unwrap_err();
        assert!(
            error.contains(&format!("index {index} is out of range for an axis of extent {extent}")),
            "{error}"
        );
    }
    assert!(run(Gather { axis: 0 }, &[numbered(&[0]), ints(&[1], &[0])]).is_err());
    // Even when the output has no elements.
    assert!(run(Gather { axis: 0 }, &[numbered(&[2, 0]), ints(&[1], &[5])]).is_err());
    assert!(run(GatherElements { axis: 0 }, &[numbered(&[2]), ints(&[1], &[2])]).is_err());
    assert!(gather_nd(&numbered(&[2, 2]), &ints(&[1, 2], &[0, 2]), 0).is_err());
    assert!(gather_nd(&numbered(&[2, 0]), &ints(&[1, 1], &[2]), 0).is_err());
}

#[test]
fn gather_elements_picks_one_by_one() {
    let x = ints(&[3, 2], &[1, 2, 3, 4, 5, 6]);
    let g = |indices: Tensor, axis| run(GatherElements { axis }, &[x.clone(), indices]);
    assert_eq!(g(ints(&[2, 2], &[1, 2, 0, -1]), 0).unwrap(), ints(&[2, 2], &[3, 6, 1, 6]));
    assert_eq!(g(ints(&[1, 3], &[0, 1, -1]), 1).unwrap(), ints(&[1, 3], &[1, 2, 2]));
    assert_eq!(g(ints(&[0, 2], &[]), 0).unwrap().shape(), [0, 2]);
    assert!(g(ints(&[1, 3], &[0, 0, 0]), 0).is_err());
    assert!(g(ints(&[2], &[0, 0]), 0).is_err());
    assert!(run(GatherElements { axis: 0 }, &[ints(&[], &[1]), ints(&[], &[0])]).is_err());
}

#[test]
fn gather_nd_picks_slices_by_tuple() {
    let x = ints(&[2, 2], &[0, 1, 2, 3]);
    assert_eq!(gather_nd(&x, &ints(&[2, 2], &[0, 0, 1, -1]), 0).unwrap(), ints(&[2], &[0, 3]));
    assert_eq!(gather_nd(&x, &ints(&[2, 1], &[1, 0]), 0).unwrap(), ints(&[2, 2], &[2, 3, 0, 1]));
    assert_eq!(gather_nd(&x, &ints(&[2], &[1, 0]), 0).unwrap(), ints(&[], &[2]));
    let cube = numbered(&[2, 2, 2]);
    assert_eq!(gather_nd(&cube, &ints(&[2, 1], &[1, 0]), 1).unwrap(), ints(&[2, 2], &[2, 3, 4, 5]));
    // Tuples of no index address the whole batch.
    assert_eq!(gather_nd(&ints(&[], &[7]), &ints(&[3, 0], &[]), 0).unwrap(), ints(&[3], &[7, 7, 7]));
    assert_eq!(gather_nd(&x, &ints(&[0, 2], &[]), 0).unwrap(), ints(&[0], &[]));
    assert_eq!(gather_nd(&numbered(&[0, 2]), &ints(&[0, 3, 1], &[]), 1).unwrap().shape(), [0, 3]);
}

#[test]
fn gather_nd_rejects_tuples_that_do_not_fit() {
    let x = numbered(&[2, 2]);
    assert!(gather_nd(&x, &ints(&[1, 3], &[0, 0, 0]), 0).is_err());
    assert!(gather_nd(&x, &ints(&[2, 2], &[0, 0, 0, 0]), 1).is_err());
    assert!(gather_nd(&x, &ints(&[], &[0]), 0).is_err());
    assert!(gather_nd(&x, &ints(&[1], &[0]), 1).is_err());
    // The batches differ.
    assert!(gather_nd(&x, &ints(&[3, 1], &[0, 0, 0]), 1).is_err());
    // The length of tuples decides the rank: it can't be symbolic.
    assert!(
        super::run_typed(&GatherNd { batch_dims: 0 }.into(), &[x, ints(&[1], &[0])], &|_, _, _| {
            crate::Dim::symbol(crate::Symbol::new("x1d0"))
        })
        .unwrap_err()
        .contains("constant")
    );
}
