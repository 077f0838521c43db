//! Symbolic sizes: what is proved, what becomes a check, and which elements of size tensors are followed.

use super::{dims, ints};
use crate::ops::{
    Binary, BinaryKind, Bitcast, Broadcast, Cast, Concat, Gather, GatherElements, GatherNd, Iota, Pad,
    PadMode, Reshape, ScatterElements, ScatterNd, Select, Sizes, Slice, Transpose,
};
use crate::{DType, Dim, Graph, Loc, Op, Symbol, Tensor, Type, ValueId};

fn symbol(name: &str) -> Dim {
    Dim::symbol(Symbol::new(name))
}

fn add(g: &mut Graph, op: impl Into<Op>, ins: &[ValueId]) -> ValueId {
    g.add1(op, ins, &Loc::default()).expect("operands fit")
}

fn sizes(g: &mut Graph, shape: &[usize], elems: &[Dim]) -> ValueId {
    add(g, Sizes { dtype: DType::I64, shape: shape.to_vec(), elems: elems.to_vec() }, &[])
}

fn known(g: &Graph, v: ValueId) -> Vec<Dim> {
    g.value(v).elems.clone().unwrap_or_else(|| panic!("elements of {} aren't followed", g.ty(v)))
}

fn n_checks(g: &Graph, v: ValueId) -> usize {
    g.producer(v).expect("made by a node").1.checks.len()
}

#[test]
fn shape_arithmetic_of_a_flattening_resolves() {
    let mut g = Graph::new("g");
    let (n, h) = (symbol("n"), symbol("h"));
    let x = g.add_input("x", Type::tensor(DType::F32, [n.clone(), Dim::from(3), h.clone()]));
    let shape = sizes(&mut g, &[3], &[n.clone(), 3.into(), h.clone()]);
    let zero = g.constant(ints(&[], &[0]), &Loc::default());
    let first = add(&mut g, Gather { axis: 0 }, &[shape, zero]);
    let first = add(&mut g, Reshape { dims: dims(&[1]) }, &[first]);
    let first = add(&mut g, Cast { to: DType::I32, saturate: true }, &[first]);
    let first = add(&mut g, Cast { to: DType::I64, saturate: true }, &[first]);
    let rest =
        add(&mut g, Sizes { dtype: DType::I64, shape: vec![1], elems: vec![h.clone() * 3.into()] }, &[]);
    let target = add(&mut g, Concat { axis: 0 }, &[first, rest]);
    let target = known(&g, target);
    assert_eq!(target, [n, h * 3.into()]);
    let y = add(&mut g, Reshape { dims: target }, &[x]);
    assert_eq!(n_checks(&g, y), 0);
}

#[test]
fn movement_keeps_symbolic_elements() {
    let mut g = Graph::new("g");
    let [a, b, c, d] = ["a", "b", "c", "d"].map(symbol);
    let m = sizes(&mut g, &[2, 2], &[a.clone(), b.clone(), c.clone(), d.clone()]);
    let constant =
        |g: &mut Graph, shape: &[usize], elems: &[i64]| g.constant(ints(shape, elems), &Loc::default());
    let seven = constant(&mut g, &[], &[7]);
    let t = add(&mut g, Transpose { perm: vec![1, 0] }, &[m]);
    assert_eq!(known(&g, t), [a.clone(), c.clone(), b.clone(), d.clone()]);
    let op = Slice { starts: dims(&[1, 0]), sizes: dims(&[2, 1]), steps: dims(&[-1, 1]) };
    let y = add(&mut g, op, &[m]);
    assert_eq!(known(&g, y), [c.clone(), a.clone()]);
    let op = Pad { before: dims(&[0, -1]), after: dims(&[0, 1]), mode: PadMode::Constant };
    let y = add(&mut g, op, &[m, seven]);
    assert_eq!(known(&g, y), [b.clone(), 7.into(), d.clone(), 7.into()]);
    let row = sizes(&mut g, &[2], &[a.clone(), b.clone()]);
    let y = add(&mut g, Broadcast { dims: dims(&[2, 2]) }, &[row]);
    assert_eq!(known(&g, y), [a.clone(), b.clone(), a.clone(), b.clone()]);
    let at = constant(&mut g, &[1, 2], &[-1, 0]);
    let y = add(&mut g, GatherElements { axis: 0 }, &[m, at]);
    assert_eq!(known(&g, y), [c.clone(), b.clone()]);
    let y = add(&mut g, GatherNd { batch_dims: 0 }, &[m, at]);
    assert_eq!(known(&g, y), [c.clone()]);
    let update = sizes(&mut g, &[1], &[symbol("u")]);
    let y = add(&mut g, ScatterNd { update: None }, &[m, at, update]);
    assert_eq!(known(&g, y), [a.clone(), b.clone(), symbol("u"), d.clone()]);
    let updates = constant(&mut g, &[1, 2], &[5, 6]);
    let y = add(&mut g, ScatterElements { axis: 0, update: None }, &[m, at, updates]);
    assert_eq!(known(&g, y), [a.clone(), 6.into(), 5.into(), d.clone()]);
    let cond = g.constant(Tensor::from_ints(DType::Bool, vec![2, 1], [1, 0]), &Loc::default());
    let y = add(&mut g, Select {}, &[cond, m, seven]);
    assert_eq!(known(&g, y), [a, b, 7.into(), 7.into()]);
    let y = add(&mut g, Iota { dims: dims(&[3]), axis: 0, dtype: DType::I32 }, &[]);
    assert_eq!(known(&g, y), dims(&[0, 1, 2]));
    let y = add(&mut g, Bitcast { to: DType::U64 }, &[updates]);
    assert_eq!(known(&g, y), dims(&[5, 6]));
}

#[test]
fn elements_of_large_constants_are_followed() {
    let mut g = Graph::new("g");
    let table = g.constant(super::numbered(&[1000, 2]), &Loc::default());
    let at = g.constant(ints(&[], &[-1]), &Loc::default());
    let y = add(&mut g, Gather { axis: 0 }, &[table, at]);
    assert_eq!(known(&g, y), dims(&[1998, 1999]));
}

#[test]
fn casts_follow_sizes_only_where_they_fit() {
    let mut g = Graph::new("g");
    let n = symbol("n");
    let small = Dim::symbol(Symbol::bounded("small", 0, Some(100)));
    let x = sizes(&mut g, &[2], &[small.clone(), n.clone()]);
    let y = add(&mut g, Cast { to: DType::U32, saturate: true }, &[x]);
    assert_eq!(known(&g, y), [small.clone(), n.clone()]);
    let y = add(&mut g, Cast { to: DType::I8, saturate: true }, &[x]);
    assert_eq!(g.value(y).elems, None);
    let one = sizes(&mut g, &[2], &[small.clone(), 300.into()]);
    let y = add(&mut g, Cast { to: DType::I8, saturate: true }, &[one]);
    assert_eq!(known(&g, y), [small, 44.into()]);
    let negative = sizes(&mut g, &[1], &[n.clone() - 1.into()]);
    let y = add(&mut g, Cast { to: DType::U64, saturate: true }, &[negative]);
    assert_eq!(g.value(y).elems, None);
    let y = add(&mut g, Cast { to: DType::Bool, saturate: true }, &[negative]);
    assert_eq!(known(&g, y), [Dim::select(crate::Cmp::Ne, &(n - 1.into()), &0.into(), &1.into(), &0.into())]);
}

#[test]
fn elements_that_may_wrap_are_data() {
    let mut g = Graph::new("g");
    let apply = |g: &mut Graph, kind: BinaryKind, a: ValueId, b: ValueId| {
        let y = add(g, Binary { kind }, &[a, b]);
        g.value(y).elems.clone()
    };
    let constant =
        |g: &mut Graph, dtype, v| g.constant(Tensor::from_ints(dtype, vec![1], [v]), &Loc::default());
    // Constants are wrapped.
    for (dtype, kind, a, b, y) in [
        (DType::U8, BinaryKind::Add, 200, 100, Some(44)),
        (DType::U8, BinaryKind::Shl, 200, 1, Some(144)),
        (DType::U16, BinaryKind::Sub, 1, 2, Some(65535)),
        (DType::I32, BinaryKind::Mul, 123457, 654321, Some(-823870927)),
        (DType::I64, BinaryKind::Mul, 1 << 62, 4, None),
    ] {
        let (a, b) = (constant(&mut g, dtype, a), constant(&mut g, dtype, b));
        assert_eq!(apply(&mut g, kind, a, b), y.map(|y| dims(&[y])), "{dtype}");
    }
    // Sizes are followed as far as they are sizes.
    let n = symbol("n");
    let of = |g: &mut Graph, dtype| add(g, Sizes { dtype, shape: vec![1], elems: vec![n.clone()] }, &[]);
    for dtype in [DType::I32, DType::U32, DType::I64, DType::U64] {
        let (size, five) = (of(&mut g, dtype), constant(&mut g, dtype, 5));
        let less = apply(&mut g, BinaryKind::Sub, size, five);
        assert_eq!(less.is_some(), dtype.is_signed_int(), "{dtype}");
        assert_eq!(apply(&mut g, BinaryKind::Mul, size, size), Some(vec![n.clone() * n.clone()]));
        let huge = constant(&mut g, dtype, 1 << (dtype.bits() - 2));
        assert_eq!(apply(&mut g, BinaryKind::Mul, size, huge), None, "{dtype}");
    }
    // What is read from a tensor needn't be a size.
    for dtype in [DType::I32, DType::U32, DType::I8] {
        let k = g.add_input(dtype.name(), Type::tensor(dtype, [1i64]));
        g.elems(k).unwrap();
        assert_eq!(apply(&mut g, BinaryKind::Mul, k, k), None, "{dtype}");
        let low = constant(&mut g, dtype, 3);
        assert!(apply(&mut g, BinaryKind::Min, k, low).is_some(), "{dtype}");
    }
}

#[test]
fn whole_and_reversed_slices_need_no_check() {
    let mut g = Graph::new("g");
    let n = symbol("n");
    let x = g.add_input("x", Type::tensor(DType::F32, [n.clone()]));
    let mut slice = |start: Dim, size: Dim, step: i64| {
        let op = Slice { starts: vec![start], sizes: vec![size], steps: dims(&[step]) };
        let y = add(&mut g, op, &[x]);
        n_checks(&g, y)
    };
    assert_eq!(slice(0.into(), n.clone(), 1), 0);
    assert_eq!(slice(n.clone() - 1.into(), n.clone(), -1), 0);
    assert_eq!(slice(0.into(), 5.into(), 1), 1);
    assert!(slice(0.into(), n.clone() - 1.into(), 1) >= 1);
}

#[test]
fn sizes_that_can_not_be_are_errors_at_once() {
    let mut g = Graph::new("g");
    let n = symbol("n");
    let x = g.add_input("x", Type::tensor(DType::F32, [n.clone()]));
    let op = Slice { starts: dims(&[0]), sizes: vec![n.clone() + 1.into()], steps: dims(&[1]) };
    let error = g.add1(op, &[x], &Loc::default()).unwrap_err().to_string();
    assert!(error.contains("axis 0"), "{error}");
    let y = add(&mut g, Broadcast { dims: vec![n.clone(), n.clone()] }, &[x]);
    assert_eq!(n_checks(&g, y), 0);
    let wider = g.add_input("w", Type::tensor(DType::F32, [n + 2.into()]));
    let error = g.add1(Broadcast { dims: dims(&[1]) }, &[wider], &Loc::default()).unwrap_err().to_string();
    assert!(error.contains("broadcast"), "{error}");
}
