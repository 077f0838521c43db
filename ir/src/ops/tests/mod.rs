//! Operators one at a time: a graph of one node, inferred and evaluated.

mod cast;
mod contract;
mod control;
mod gather;
mod movement;
mod one_op;
mod properties;
mod reduce;
mod scatter;
mod search;
mod sequence;
mod string;
mod symbolic;

use crate::eval::evaluate;
use crate::types::DimError;
use crate::{DType, Dim, Graph, Loc, Op, Symbol, Tensor, Type, Value};

/// Evaluates a graph of one node with one output, once with static and once with symbolic input extents. Both must
/// agree, and with what inference says of the shape. The last axes of `fixed` operands stay static.
pub fn run_fixed(op: impl Into<Op>, ins: &[Tensor], fixed: &[usize]) -> Result<Tensor, String> {
    let op = op.into();
    let statically = run_typed(&op, ins, &|_, _, n| Dim::from(n));
    let symbolically = run_typed(&op, ins, &|operand, axis, n| {
        if fixed.contains(&operand) && axis + 1 == ins[operand].rank() {
            Dim::from(n)
        } else {
            Dim::symbol(Symbol::new(format!("x{operand}d{axis}")))
        }
    });
    match (&statically, &symbolically) {
        (Ok(a), Ok(b)) => assert_eq!(a, b, "{op:?}"),
        (Err(_), Err(_)) => {}
        (a, b) => panic!("{op:?}: static extents give {a:?}, symbolic ones {b:?}"),
    }
    statically
}

pub fn run(op: impl Into<Op>, ins: &[Tensor]) -> Result<Tensor, String> {
    run_fixed(op, ins, &[])
}

fn run_typed(op: &Op, ins: &[Tensor], extent: &dyn Fn(usize, usize, usize) -> Dim) -> Result<Tensor, String> {
    let mut g = Graph::new("one");
    let mut ids = Vec::new();
    for (i, t) in ins.iter().enumerate() {
        let shape: Vec<Dim> = t.shape().iter().enumerate().map(|(a, n)| extent(i, a, *n)).collect();
        ids.push(g.add_input(format!("x{i}"), Type::tensor(t.dtype(), shape)));
    }
    let y = g.add1(op.clone(), &ids, &Loc::default()).map_err(|m| m.to_string())?;
    g.set_outputs(vec![(y, "y".into())]);
    g.verify().expect("inference agrees with itself");
    let values: Vec<Value> = ins.iter().cloned().map(Value::from).collect();
    let out = evaluate(&g, &values).map_err(|f| f.to_string())?[0].tensor().clone();
    let env = |s: &Symbol| {
        let (operand, axis) = s.name[1..].split_once('d')?;
        Some(ins[operand.parse::<usize>().ok()?].shape()[axis.parse::<usize>().ok()?] as i64)
    };
    let ty = g.tensor_type(y).expect("a tensor");
    let inferred: Result<Vec<i64>, DimError> = ty.shape.iter().map(|d| d.eval(&env)).collect();
    let evaluated = out.shape().iter().map(|n| *n as i64).collect();
    assert_eq!((ty.dtype, inferred), (out.dtype(), Ok(evaluated)), "{op:?}");
    Ok(out)
}

/// A tensor of shape `shape` with the elements 0, 1, 2...
pub fn numbered(shape: &[usize]) -> Tensor {
    let n: usize = shape.iter().product();
    Tensor::from_ints(DType::I64, shape.to_vec(), (0..n as i128).collect::<Vec<_>>())
}

/// An i64 tensor.
pub fn ints(shape: &[usize], elems: &[i64]) -> Tensor {
    Tensor::from_ints(DType::I64, shape.to_vec(), elems.iter().map(|v| i128::from(*v)))
}

pub fn floats(dtype: DType, elems: &[f64]) -> Tensor {
    Tensor::from_floats(dtype, vec![elems.len()], elems.iter().copied())
}

pub fn dims(values: &[i64]) -> Vec<Dim> {
    values.iter().map(|v| Dim::from(*v)).collect()
}

/// The element at an index.
pub fn at(t: &Tensor, index: &[usize]) -> i128 {
    let position = index.iter().zip(t.shape()).fold(0, |p, (i, n)| {
        assert!(i < n, "{index:?} in {:?}", t.shape());
        p * n + i
    });
    t.ints()[position]
}
