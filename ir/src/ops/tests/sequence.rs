//! Sequences and optionals.

use super::one_op::{apply, apply1, f32s, i64s};
use crate::ops::*;
use crate::{DType, Dim, Graph, Loc, Symbol, Type, Value};

fn rows(lengths: &[usize]) -> Value {
    Value::Sequence(lengths.iter().map(|n| f32s(&[*n, 2], &vec![*n as f64; n * 2])).collect())
}

fn at(i: i128) -> Value {
    i64s(&[], &[i])
}

#[test]
fn positions_count_from_both_ends() {
    let s = rows(&[1, 2, 3]);
    let elem = |v: &Value, i: usize| match v {
        Value::Sequence(e) => e[i].tensor().shape()[0],
        _ => panic!("{v:?}"),
    };
    assert_eq!(apply1(SequenceAt {}, &[s.clone(), at(-1)]).tensor().shape(), [3, 2]);
    for bad in [3, -4] {
        assert!(apply(SequenceAt {}, &[s.clone(), at(bad)]).unwrap_err().contains("position"));
        assert!(apply(SequenceErase {}, &[s.clone(), at(bad)]).is_err());
    }
    let new = f32s(&[9, 2], &[0.0; 18]);
    assert_eq!(elem(&apply1(SequenceInsert {}, &[s.clone(), new.clone()]), 3), 9);
    assert_eq!(elem(&apply1(SequenceInsert {}, &[s.clone(), new.clone(), at(3)]), 3), 9);
    assert_eq!(elem(&apply1(SequenceInsert {}, &[s.clone(), new.clone(), at(-1)]), 2), 9);
    assert!(apply(SequenceInsert {}, &[s.clone(), new, at(4)]).is_err());
    assert_eq!(apply1(SequenceErase {}, std::slice::from_ref(&s)), rows(&[1, 2]));
    assert_eq!(apply1(SequenceErase {}, &[s.clone(), at(0)]), rows(&[2, 3]));
    assert_eq!(apply1(SequenceLength {}, &[s]), i64s(&[], &[3]));
}

#[test]
fn extents_that_vary_get_a_symbol_when_taken_out() {
    let mut g = Graph::new("g");
    let n = Dim::symbol(Symbol::new("n"));
    let x = g.add_input("x", Type::tensor(DType::F32, [n.clone(), Dim::from(2)]));
    let y = g.add_input("y", Type::tensor(DType::F32, [3i64, 2]));
    let i = g.add_input("i", Type::tensor(DType::I64, Vec::<Dim>::new()));
    let s = g.add1(SequenceConstruct {}, &[x, y], &Loc::default()).unwrap();
    let e = g.add1(SequenceAt {}, &[s, i], &Loc::default()).unwrap();
    let f = g.add1(SequenceAt {}, &[s, i], &Loc::default()).unwrap();
    let (e, f) = (g.tensor_type(e).unwrap().clone(), g.tensor_type(f).unwrap().clone());
    assert_eq!(e.shape[1], Dim::from(2));
    assert!(e.shape[0] != n && e.shape[0] != f.shape[0], "{e} {f}");
    let z = g.add_input("z", Type::tensor(DType::F32, [2i64]));
    let mixed = g.add1(SequenceConstruct {}, &[x, z], &Loc::default()).unwrap();
    assert_eq!(g.ty(mixed), &Type::Sequence(Box::new(Type::Unranked(DType::F32))));
}

#[test]
fn joining() {
    let join = |axis, new_axis| ConcatFromSequence { axis, new_axis };
    assert_eq!(apply1(join(0, false), &[rows(&[1, 0, 2])]), f32s(&[3, 2], &[1.0, 1.0, 2.0, 2.0, 2.0, 2.0]));
    assert!(apply(join(1, false), &[rows(&[1, 2])]).is_err());
    assert!(apply(join(0, true), &[rows(&[1, 2])]).is_err());
    let pair = Value::Sequence(vec![i64s(&[2], &[1, 2]), i64s(&[2], &[3, 4])]);
    assert_eq!(apply1(join(1, true), std::slice::from_ref(&pair)), i64s(&[2, 2], &[1, 3, 2, 4]));
    assert_eq!(apply1(join(0, true), std::slice::from_ref(&pair)), i64s(&[2, 2], &[1, 2, 3, 4]));
    assert!(apply(join(2, true), &[pair]).is_err());
}

#[test]
fn splitting() {
    let x = i64s(&[2, 3], &[1, 2, 3, 4, 5, 6]);
    let split = |keepdims| SplitToSequence { axis: 1, keepdims };
    let parts = |v: Vec<Value>| vec![Value::Sequence(v)];
    assert_eq!(
        apply(split(false), std::slice::from_ref(&x)).unwrap(),
        parts(vec![i64s(&[2], &[1, 4]), i64s(&[2], &[2, 5]), i64s(&[2], &[3, 6])])
    );
    let uneven = parts(vec![i64s(&[2, 2], &[1, 2, 4, 5]), i64s(&[2, 1], &[3, 6])]);
    assert_eq!(apply(split(true), &[x.clone(), at(2)]).unwrap(), uneven);
    assert_eq!(apply(split(false), &[x.clone(), i64s(&[2], &[2, 1])]).unwrap(), uneven);
    let empty_part = parts(vec![i64s(&[2, 0], &[]), x.clone()]);
    assert_eq!(apply(split(true), &[x.clone(), i64s(&[2], &[0, 3])]).unwrap(), empty_part);
    assert!(apply(split(true), &[x.clone(), i64s(&[2], &[2, 2])]).is_err());
    assert!(apply(split(true), &[x.clone(), i64s(&[2], &[4, -1])]).is_err());
    assert!(apply(split(true), &[x, at(0)]).is_err());
}

#[test]
fn optionals() {
    let x = f32s(&[1], &[1.0]);
    let some = apply1(OptionalSome {}, std::slice::from_ref(&x));
    assert_eq!(apply1(OptionalGet {}, std::slice::from_ref(&some)), x);
    assert_eq!(apply1(OptionalHas {}, &[some]).tensor().ints(), [1]);
    assert!(apply(OptionalHas {}, &[x]).is_err());
    let mut g = Graph::new("g");
    let ty = Type::tensor(DType::F32, [1i64]);
    let none = g.add1(OptionalNone { ty }, &[], &Loc::default()).unwrap();
    let has = g.add1(OptionalHas {}, &[none], &Loc::default()).unwrap();
    let get = g.add1(OptionalGet {}, &[none], &Loc::default()).unwrap();
    g.set_outputs(vec![(has, "has".into()), (get, "get".into())]);
    assert!(crate::eval::evaluate(&g, &[]).unwrap_err().error.0.contains("absent"));
    let get = g.producer(get).unwrap().0;
    g.set_outputs(vec![(has, "has".into())]);
    g.erase(get);
    assert_eq!(crate::eval::evaluate(&g, &[]).unwrap()[0].tensor().ints(), [0]);
    let empty = apply1(SequenceEmpty { ty: Type::Unranked(DType::F32) }, &[]);
    assert_eq!(empty, Value::Sequence(vec![]));
}
