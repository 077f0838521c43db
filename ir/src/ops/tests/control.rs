//! Branches and loops: types at the borders of regions, and what they compute.

use super::one_op::{f32s, i64s, ints};
use crate::eval::evaluate;
use crate::ops::{Binary, BinaryKind, Concat, Constant, If, Loop, Reduce, ReduceKind, Unary, UnaryKind};
use crate::{Cmp, DType, Dim, Graph, Loc, Symbol, Tensor, Type, Value, ValueId};

fn loc() -> Loc {
    Loc::default()
}

fn f32_type(dims: &[Dim]) -> Type {
    Type::tensor(DType::F32, dims)
}

fn scalar(dtype: DType) -> Type {
    Type::tensor(dtype, Vec::<Dim>::new())
}

fn bool_of(v: bool) -> Value {
    ints(DType::Bool, &[], &[v.into()])
}

fn n() -> Dim {
    Dim::symbol(Symbol::new("n"))
}

/// A branch over x: f32[n].
fn branch(prefix: &str, body: impl Fn(&mut Graph, ValueId) -> ValueId) -> Graph {
    let mut g = Graph::region("branch", prefix);
    let x = g.add_region_input("x", f32_type(&[n()]), &|s| &*s.name == "n");
    let y = body(&mut g, x);
    g.set_outputs(vec![(y, "y".into())]);
    g
}

fn negated(g: &mut Graph, x: ValueId) -> ValueId {
    g.add1(Unary { kind: UnaryKind::Neg }, &[x], &loc()).unwrap()
}

fn doubled(g: &mut Graph, x: ValueId) -> ValueId {
    g.add1(Concat { axis: 0 }, &[x, x], &loc()).unwrap()
}

fn summed(g: &mut Graph, x: ValueId) -> ValueId {
    g.add1(Reduce { kind: ReduceKind::Sum, axes: vec![0], keepdims: false }, &[x], &loc()).unwrap()
}

/// A graph of an `if` on (cond, x: f32[n]).
fn choice(then_branch: Graph, else_branch: Graph) -> (Graph, Type) {
    let mut g = Graph::new("g");
    let c = g.add_input("c", scalar(DType::Bool));
    let x = g.add_input("x", f32_type(&[n()]));
    let y = g.add1(If { then_branch, else_branch }, &[c, x], &loc()).unwrap();
    g.set_outputs(vec![(y, "y".into())]);
    g.verify().unwrap();
    let ty = g.ty(y).clone();
    (g, ty)
}

#[test]
fn equal_extents_of_branches_are_kept() {
    let (g, ty) = choice(branch("t", negated), branch("e", |_, x| x));
    assert_eq!(ty, f32_type(&[n()]));
    let x = f32s(&[2], &[1.0, 2.0]);
    assert_eq!(evaluate(&g, &[bool_of(true), x.clone()]).unwrap(), [f32s(&[2], &[-1.0, -2.0])]);
    assert_eq!(evaluate(&g, &[bool_of(false), x.clone()]).unwrap(), [x]);
}

#[test]
fn different_extents_become_a_symbol() {
    let (g, ty) = choice(branch("t", negated), branch("e", doubled));
    let d = &ty.as_tensor().unwrap().shape[0];
    assert!(d.as_symbol().is_some_and(|s| *s != *n().as_symbol().unwrap()), "{d}");
    let x = f32s(&[0], &[]);
    assert_eq!(evaluate(&g, &[bool_of(false), x.clone()]).unwrap(), [x]);
    let x = f32s(&[1], &[3.0]);
    assert_eq!(evaluate(&g, &[bool_of(false), x]).unwrap(), [f32s(&[2], &[3.0, 3.0])]);
}

#[test]
fn different_ranks_are_unranked_and_different_types_an_error() {
    let (_, ty) = choice(branch("t", negated), branch("e", summed));
    assert_eq!(ty, Type::Unranked(DType::F32));
    let is_nan = |g: &mut Graph, x| g.add1(Unary { kind: UnaryKind::IsNan }, &[x], &loc()).unwrap();
    let mut g = Graph::new("g");
    let c = g.add_input("c", scalar(DType::Bool));
    let x = g.add_input("x", f32_type(&[n()]));
    let op = If { then_branch: branch("t", negated), else_branch: branch("e", is_nan) };
    assert!(g.add1(op, &[c, x], &loc()).is_err());
}

/// A body with the carried value `carry` (type `want`) and one stacked value, made by `step`.
fn body(
    want: Type,
    cond: impl Fn(&mut Graph, ValueId, ValueId) -> ValueId,
    step: impl Fn(&mut Graph, ValueId) -> (ValueId, ValueId),
) -> Graph {
    let mut g = Graph::region("body", "b");
    let i = g.add_input("i", scalar(DType::I64));
    let c = g.add_input("c", scalar(DType::Bool));
    let x = g.add_region_input("x", want, &|s| &*s.name == "n");
    let next = cond(&mut g, i, c);
    let (carried, stacked) = step(&mut g, x);
    g.set_outputs(vec![(next, "c".into()), (carried, "x".into()), (stacked, "s".into())]);
    g
}

fn same_cond(_: &mut Graph, _: ValueId, c: ValueId) -> ValueId {
    c
}

fn add_self(g: &mut Graph, x: ValueId) -> (ValueId, ValueId) {
    (g.add1(Binary { kind: BinaryKind::Add }, &[x, x], &loc()).unwrap(), x)
}

#[test]
fn a_known_trip_count_gives_the_extent() {
    let mut g = Graph::new("g");
    let x = g.add_input("x", f32_type(&[n()]));
    let sizes = crate::ops::Sizes { dtype: DType::I64, shape: vec![], elems: vec![n()] };
    let trip = g.add1(sizes, &[], &loc()).unwrap();
    let always = g.constant(Tensor::scalar_int(DType::Bool, 1), &loc());
    let op = Loop {
        body: body(f32_type(&[n()]), same_cond, add_self),
        n_carried: 1,
        has_trip: true,
        has_cond: true,
    };
    let outs = g.add(op, &[trip, always, x], &loc()).unwrap();
    assert_eq!(g.ty(outs[0]), &f32_type(&[n()]));
    assert_eq!(g.ty(outs[1]), &f32_type(&[n(), n()]));
    g.set_outputs(outs.iter().map(|v| (*v, String::new())).collect());
    g.verify().unwrap();
    let out = evaluate(&g, &[f32s(&[2], &[1.0, -1.0])]).unwrap();
    assert_eq!(out, [f32s(&[2], &[4.0, -4.0]), f32s(&[2, 2], &[1.0, -1.0, 2.0, -2.0])]);
    let out = evaluate(&g, &[f32s(&[0], &[])]).unwrap();
    assert_eq!(out, [f32s(&[0], &[]), f32s(&[0, 0], &[])]);
}

/// True while i < 1: two iterations.
fn twice(g: &mut Graph, i: ValueId, _: ValueId) -> ValueId {
    let one = g.add1(Constant { value: Tensor::scalar_int(DType::I64, 1) }, &[], &loc()).unwrap();
    g.add1(crate::ops::Compare { cmp: Cmp::Lt }, &[i, one], &loc()).unwrap()
}

#[test]
fn conditions_end_loops_only_when_given() {
    let run = |trip: Option<i128>, cond: Option<bool>| {
        let mut g = Graph::new("g");
        let given: Vec<Value> = trip.map(|t| i64s(&[], &[t])).into_iter().chain(cond.map(bool_of)).collect();
        let mut ids: Vec<ValueId> =
            given.iter().map(|v| g.add_input("control", v.tensor().tensor_type().into())).collect();
        ids.push(g.add_input("x", f32_type(&[Dim::from(1)])));
        let body = body(f32_type(&[Dim::from(1)]), twice, add_self);
        let op = Loop { body, n_carried: 1, has_trip: trip.is_some(), has_cond: cond.is_some() };
        let outs = g.add(op, &ids, &loc()).map_err(|m| m.0)?;
        g.set_outputs(outs.iter().map(|v| (*v, String::new())).collect());
        let inputs: Vec<Value> = given.into_iter().chain([f32s(&[1], &[1.0])]).collect();
        let out = evaluate(&g, &inputs).map_err(|f| f.error.0)?;
        Ok::<_, String>((out[0].tensor().floats()[0], out[1].tensor().shape()[0]))
    };
    assert_eq!(run(Some(5), Some(true)), Ok((4.0, 2)));
    assert_eq!(run(Some(5), None), Ok((32.0, 5)));
    assert_eq!(run(None, Some(true)), Ok((4.0, 2)));
    assert_eq!(run(Some(5), Some(false)), Ok((1.0, 0)));
    assert_eq!(run(Some(-3), Some(true)), Ok((1.0, 0)));
    assert!(run(None, None).unwrap_err().contains("never ends"));
}

#[test]
fn carried_extents_that_change_must_be_the_bodys_own() {
    let grow = |g: &mut Graph, x| {
        let longer = g.add1(Concat { axis: 0 }, &[x, x], &loc()).unwrap();
        let total =
            g.add1(Reduce { kind: ReduceKind::Sum, axes: vec![0], keepdims: false }, &[x], &loc()).unwrap();
        (longer, total)
    };
    let build = |want: Dim| {
        let mut g = Graph::new("g");
        let trip = g.add_input("trip", scalar(DType::I64));
        let x = g.add_input("x", f32_type(&[n()]));
        let op = Loop {
            body: body(f32_type(&[want]), same_cond, grow),
            n_carried: 1,
            has_trip: true,
            has_cond: false,
        };
        let outs = g.add(op, &[trip, x], &loc()).map_err(|m| m.0)?;
        g.set_outputs(outs.iter().map(|v| (*v, String::new())).collect());
        Ok::<_, String>(g)
    };
    assert!(build(n()).unwrap_err().contains("carried value 0"));
    let g = build(Dim::symbol(Symbol::new("m"))).unwrap();
    let out = evaluate(&g, &[i64s(&[], &[3]), f32s(&[1], &[1.0])]).unwrap();
    assert_eq!(out, [f32s(&[8], &[1.0; 8]), f32s(&[3], &[1.0, 2.0, 4.0])]);
    let extent = g.tensor_type(g.outputs()[0]).unwrap().shape[0].clone();
    assert!(extent.as_symbol().is_some_and(|s| &*s.name != "m"), "m means nothing outside: {extent}");
}
