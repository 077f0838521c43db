//! Reductions, arg reductions, running sums, top-k.

use super::one_op::{apply, apply1, f32s, i64s, ints};
use crate::ops::{ArgKind, ArgReduce, Cumulative, CumulativeKind, NonZero, Reduce, ReduceKind, TopK};
use crate::{DType, Dim, Graph, Loc, Symbol, Type};

const NAN: f64 = f64::NAN;

fn reduce(kind: ReduceKind, axes: &[usize], keepdims: bool) -> Reduce {
    Reduce { kind, axes: axes.to_vec(), keepdims }
}

#[test]
fn nothing_reduces_to_the_identity() {
    let x = f32s(&[2, 0, 3], &[]);
    let expected = [
        (ReduceKind::Sum, 0.0),
        (ReduceKind::Prod, 1.0),
        (ReduceKind::Max, f64::NEG_INFINITY),
        (ReduceKind::Min, f64::INFINITY),
    ];
    for (kind, v) in expected {
        assert_eq!(apply1(reduce(kind, &[1], false), std::slice::from_ref(&x)), f32s(&[2, 3], &[v; 6]));
        // An empty axis that stays leaves an empty result.
        assert_eq!(apply1(reduce(kind, &[0, 2], true), std::slice::from_ref(&x)), f32s(&[1, 0, 1], &[]));
    }
    let x = ints(DType::I8, &[0], &[]);
    assert_eq!(
        apply1(reduce(ReduceKind::Max, &[0], false), std::slice::from_ref(&x)),
        ints(DType::I8, &[], &[-128])
    );
    assert_eq!(apply1(reduce(ReduceKind::Min, &[0], false), &[x]), ints(DType::I8, &[], &[127]));
    let all = reduce(ReduceKind::Min, &[0], false);
    assert_eq!(apply1(all, &[ints(DType::Bool, &[0], &[])]), ints(DType::Bool, &[], &[1]));
}

#[test]
fn axes_come_in_any_order_and_none_keeps_everything() {
    let x = i64s(&[2, 3, 2], &(0..12).collect::<Vec<_>>());
    assert_eq!(
        apply1(reduce(ReduceKind::Sum, &[2, 0], false), std::slice::from_ref(&x)),
        i64s(&[3], &[14, 22, 30])
    );
    assert_eq!(apply1(reduce(ReduceKind::Sum, &[], false), std::slice::from_ref(&x)), x);
    assert!(apply(reduce(ReduceKind::Sum, &[1, 1], false), std::slice::from_ref(&x)).is_err());
    assert!(apply(reduce(ReduceKind::Sum, &[3], false), &[x]).is_err());
}

#[test]
fn nan_wins_and_integers_wrap() {
    let x = f32s(&[2, 2], &[1.0, NAN, 3.0, 2.0]);
    for kind in [ReduceKind::Max, ReduceKind::Min] {
        let y = apply1(reduce(kind, &[1], false), std::slice::from_ref(&x));
        let y = y.tensor().floats();
        assert!(y[0].is_nan() && !y[1].is_nan(), "{y:?}");
    }
    let x = ints(DType::U8, &[3], &[200, 100, 3]);
    assert_eq!(
        apply1(reduce(ReduceKind::Sum, &[0], false), std::slice::from_ref(&x)),
        ints(DType::U8, &[], &[47])
    );
    assert_eq!(apply1(reduce(ReduceKind::Prod, &[0], false), &[x]), ints(DType::U8, &[], &[96]));
    // A sum in f16 rounds once: 2048 + 1 + 1 isn't 2048.
    let x = crate::Tensor::from_floats(DType::F16, vec![3], [2048.0, 1.0, 1.0]);
    assert_eq!(apply1(reduce(ReduceKind::Sum, &[0], false), &[x.into()]).tensor().floats(), [2050.0]);
}

#[test]
fn products_of_sizes_stay_symbolic() {
    let mut g = Graph::new("g");
    let n = Dim::symbol(Symbol::new("n"));
    let sizes = crate::ops::Sizes { dtype: DType::I64, shape: vec![2], elems: vec![n.clone(), Dim::from(3)] };
    let s = g.add1(sizes, &[], &Loc::default()).unwrap();
    let p = g.add1(reduce(ReduceKind::Prod, &[0], true), &[s], &Loc::default()).unwrap();
    assert_eq!(g.elems(p).unwrap(), [n * Dim::from(3)]);
}

#[test]
fn arg_ties_and_nan() {
    let arg = |kind, last| ArgReduce { kind, axis: 1, last, keepdims: false };
    let x = f32s(&[2, 4], &[2.0, 5.0, 5.0, 2.0, 1.0, NAN, NAN, 0.0]);
    let run = |kind, last| apply1(arg(kind, last), std::slice::from_ref(&x));
    assert_eq!(run(ArgKind::Max, false), i64s(&[2], &[1, 1]));
    assert_eq!(run(ArgKind::Max, true), i64s(&[2], &[2, 2]));
    assert_eq!(run(ArgKind::Min, false), i64s(&[2], &[0, 1]));
    assert_eq!(run(ArgKind::Min, true), i64s(&[2], &[3, 2]));
    assert!(apply(arg(ArgKind::Max, false), &[f32s(&[2, 0], &[])]).is_err());
    assert_eq!(apply1(arg(ArgKind::Max, false), &[f32s(&[0, 2], &[])]), i64s(&[0], &[]));
}

#[test]
fn running_sums() {
    let cum = |exclusive, reverse| Cumulative { kind: CumulativeKind::Sum, axis: 0, exclusive, reverse };
    let x = i64s(&[3, 2], &[1, 10, 2, 20, 3, 30]);
    let run = |exclusive, reverse| apply1(cum(exclusive, reverse), std::slice::from_ref(&x));
    assert_eq!(run(false, false), i64s(&[3, 2], &[1, 10, 3, 30, 6, 60]));
    assert_eq!(run(true, false), i64s(&[3, 2], &[0, 0, 1, 10, 3, 30]));
    assert_eq!(run(false, true), i64s(&[3, 2], &[6, 60, 5, 50, 3, 30]));
    assert_eq!(run(true, true), i64s(&[3, 2], &[5, 50, 3, 30, 0, 0]));
    let prod = Cumulative { kind: CumulativeKind::Prod, axis: 0, exclusive: true, reverse: false };
    assert_eq!(apply1(prod, &[f32s(&[3], &[2.0, 3.0, 4.0])]), f32s(&[3], &[1.0, 2.0, 6.0]));
}

#[test]
fn top_k_orders_nan_and_ties() {
    let top = |k: i64, largest| TopK { axis: 1, k: Dim::from(k), largest, sorted: true };
    let x = f32s(&[1, 5], &[1.0, 3.0, NAN, 3.0, -1.0]);
    let out = apply(top(3, true), std::slice::from_ref(&x)).unwrap();
    assert_eq!(out[1], i64s(&[1, 3], &[2, 1, 3]));
    assert!(out[0].tensor().floats()[0].is_nan());
    let out = apply(top(3, false), std::slice::from_ref(&x)).unwrap();
    assert_eq!(out, [f32s(&[1, 3], &[-1.0, 1.0, 3.0]), i64s(&[1, 3], &[4, 0, 1])]);
    assert_eq!(apply(top(0, true), std::slice::from_ref(&x)).unwrap()[1], i64s(&[1, 0], &[]));
    assert!(apply(top(6, true), &[x]).is_err());
    // Along a leading axis the lanes interleave.
    let x = i64s(&[3, 2], &[1, 60, 3, 40, 2, 50]);
    let lead = TopK { axis: 0, k: Dim::from(2), largest: true, sorted: true };
    assert_eq!(apply(lead, &[x]).unwrap(), [i64s(&[2, 2], &[3, 60, 2, 50]), i64s(&[2, 2], &[1, 0, 2, 2])]);
}

#[test]
fn non_zero_lists_columns() {
    let x = f32s(&[2, 2], &[0.0, NAN, -0.0, 4.0]);
    assert_eq!(apply1(NonZero {}, &[x]), i64s(&[2, 2], &[0, 1, 1, 1]));
    assert_eq!(apply1(NonZero {}, &[i64s(&[], &[7])]), i64s(&[0, 1], &[]));
    assert_eq!(apply1(NonZero {}, &[i64s(&[3, 0], &[])]), i64s(&[2, 0], &[]));
    let mut g = Graph::new("g");
    let x = g.add_input("x", Type::tensor(DType::Bool, [5i64]));
    let y = g.add1(NonZero {}, &[x], &Loc::default()).unwrap();
    assert_eq!(g.tensor_type(y).unwrap().shape[1].bounds(), (Some(0), Some(5)));
}
