//! Tensors from lists, and one operator applied to values.

use crate::eval::evaluate;
use crate::ops::Op;
use crate::{DType, Dim, Graph, Loc, Symbol, Tensor, Type, Value};

pub fn f32s(shape: &[usize], elems: &[f64]) -> Value {
    Tensor::from_floats(DType::F32, shape.to_vec(), elems.iter().copied()).into()
}

pub fn ints(dtype: DType, shape: &[usize], elems: &[i128]) -> Value {
    Tensor::from_ints(dtype, shape.to_vec(), elems.iter().copied()).into()
}

pub fn i64s(shape: &[usize], elems: &[i128]) -> Value {
    ints(DType::I64, shape, elems)
}

pub fn texts(shape: &[usize], elems: &[&str]) -> Value {
    Tensor::from_strings(shape.to_vec(), elems.iter().map(|s| s.to_string()).collect()).into()
}

/// The type of a value; `extent` says what stands for the extent n of an axis of a tensor. Sequences take the type of
/// their elements joined.
fn type_of(v: &Value, extent: &dyn Fn(usize, usize) -> Dim) -> Type {
    match v {
        Value::Tensor(t) => Type::tensor(t.dtype(), t.shape().iter().enumerate().map(|(a, n)| extent(a, *n))),
        Value::Sequence(elems) => {
            let types = elems.iter().map(|v| type_of(v, &|_, n| Dim::from(n)));
            let joined = types.reduce(|a, b| crate::ops::join_elements(&a, &b).expect("one element type"));
            Type::Sequence(Box::new(joined.expect("not empty")))
        }
        Value::Optional(v) => {
            // A symbol inside would have nothing that it could be read from.
            let inner = |axis, n| match extent(axis, n) {
                known if known.as_const().is_some() => known,
                _ => crate::ops::varying(),
            };
            Type::Optional(Box::new(type_of(v.as_ref().expect("present"), &inner)))
        }
    }
}

/// Infers and evaluates a graph of one operator; the error is inference's or evaluation's. The operator must do the
/// same when nothing is known of the extents.
pub fn apply(op: impl Into<Op>, inputs: &[Value]) -> Result<Vec<Value>, String> {
    let op = op.into();
    let known = apply_typed(&op, inputs, &|_, _, n| Dim::from(n));
    let unknown = apply_typed(&op, inputs, &|i, axis, _| Dim::symbol(Symbol::new(format!("x{i}d{axis}"))));
    match (&known, &unknown) {
        (Ok(a), Ok(b)) => assert_eq!(a, b, "{op:?}"),
        (Err(_), Err(_)) => {}
        _ => panic!("{op:?}: known extents give {known:?}, unknown ones {unknown:?}"),
    }
    known
}

fn apply_typed(
    op: &Op,
    inputs: &[Value],
    extent: &dyn Fn(usize, usize, usize) -> Dim,
) -> Result<Vec<Value>, String> {
    let mut g = Graph::new("g");
    let types = inputs.iter().enumerate().map(|(i, v)| type_of(v, &|axis, n| extent(i, axis, n)));
    let ids: Vec<_> = types.map(|ty| g.add_input("x", ty)).collect();
    let outs = g.add(op.clone(), &ids, &Loc::default()).map_err(|m| m.0)?;
    g.set_outputs(outs.iter().map(|v| (*v, String::new())).collect());
    g.verify().map_err(|v| format!("{v:?}"))?;
    let values = evaluate(&g, inputs).map_err(|f| f.error.0)?;
    for (v, id) in values.iter().zip(&outs) {
        assert!(v.matches(g.ty(*id)), "{v:?} isn't {}", g.ty(*id));
        if let (Value::Tensor(t), Some(ty)) = (v, g.ty(*id).as_tensor()) {
            for (d, n) in ty.shape.iter().zip(t.shape()) {
                assert!(d.as_const().is_none_or(|c| c == *n as i64), "inferred {ty}, got {t:?}");
            }
        }
    }
    Ok(values)
}

/// The only output.
pub fn apply1(op: impl Into<Op>, inputs: &[Value]) -> Value {
    apply(op, inputs).expect("valid operands").remove(0)
}
