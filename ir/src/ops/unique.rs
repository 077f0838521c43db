//! Distinct elements or slices.

use super::lanes::Lanes;
use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::{Tensor, Value};
use crate::types::{DType, Dim, Type};
use std::cmp::Ordering;

crate::attrs! {
    /// The distinct elements of x (as one list), or with `axis` the distinct slices across that axis. `sorted`: in
    /// ascending order (slices by their elements in row-major order), else in the order of first occurrence. NaNs
    /// count as equal and sort last; -0 equals 0. Outputs: the distinct ones; then, as i64 lists, the first
    /// occurrence of each, the number of the distinct one for each element or slice of x, and how often each occurs.
    pub struct Unique { pub axis: Option<usize>, pub sorted: bool }
}

/// Row-major elements with an order; what `Unique` compares.
enum Elements<'a> {
    Floats(Vec<f64>),
    Ints(Vec<i128>),
    Strings(&'a [String]),
}

impl Elements<'_> {
    fn of(t: &Tensor) -> Elements<'_> {
        match t.dtype() {
            DType::String => Elements::Strings(t.strings()),
            d if d.is_float() => Elements::Floats(t.floats()),
            _ => Elements::Ints(t.ints()),
        }
    }

    fn order(&self, a: usize, b: usize) -> Ordering {
        match self {
            Elements::Strings(v) => v[a].cmp(&v[b]),
            Elements::Ints(v) => v[a].cmp(&v[b]),
            Elements::Floats(v) => {
                v[a].partial_cmp(&v[b]).unwrap_or_else(|| v[a].is_nan().cmp(&v[b].is_nan()))
            }
        }
    }
}

impl OpDef for Unique {
    const NAME: &'static str = "unique";

    fn arity(&self) -> Arity {
        Arity::exactly(1)
    }

    fn n_outputs(&self) -> usize {
        4
    }

    fn infer(&self, cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        let x = ins[0].tensor()?;
        if x.dtype.is_complex() {
            return Err(Mismatch::new(format!("elements of type {} have no order", x.dtype)));
        }
        let (axis, total) = match self.axis {
            None => (0, x.n_elements()),
            Some(axis) => (
                axis,
                x.shape.get(axis).ok_or_else(|| Mismatch::new(format!("{x} has no axis {axis}")))?.clone(),
            ),
        };
        let n = cx.fresh_dim(0, axis, 0, total.upper());
        let mut shape = if self.axis.is_some() { x.shape.clone() } else { vec![n.clone()] };
        shape[axis] = n.clone();
        let list = |d: &Dim| Type::tensor(DType::I64, [d]);
        Ok(vec![Type::tensor(x.dtype, shape), list(&n), list(&total), list(&n)])
    }

    fn eval(&self, _cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let x = ins[0].tensor();
        let flat = x.reshaped(vec![x.n_elements()]);
        let (x, axis) = self.axis.map_or((&flat, 0), |axis| (x, axis));
        let (lanes, elems) = (Lanes::new(x.shape(), axis), Elements::of(x));
        let starts: Vec<usize> = lanes.starts().collect();
        let order = |a: &usize, b: &usize| {
            let pairs = starts.iter().map(|s| elems.order(s + a * lanes.inner, s + b * lanes.inner));
            pairs.fold(Ordering::Equal, Ordering::then)
        };
        // Stable: the first of each run of equals is the first occurrence.
        let mut by_value: Vec<usize> = (0..lanes.len).collect();
        by_value.sort_by(order);
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for i in by_value {
            match groups.last_mut() {
                Some(g) if order(&g[0], &i).is_eq() => g.push(i),
                _ => groups.push(vec![i]),
            }
        }
        if !self.sorted {
            groups.sort_by_key(|g| g[0]);
        }
        let mut inverse = vec![0; lanes.len];
        groups.iter().enumerate().for_each(|(n, g)| g.iter().for_each(|i| inverse[*i] = n));
        let mut shape = x.shape().to_vec();
        shape[axis] = groups.len();
        let positions = (0..lanes.outer).flat_map(|o| {
            groups.iter().flat_map(move |g| {
                let first = (o * lanes.len + g[0]) * lanes.inner;
                first..first + lanes.inner
            })
        });
        let list = |v: Vec<usize>| -> Value {
            Tensor::from_ints(DType::I64, vec![v.len()], v.into_iter().map(|i| i as i128)).into()
        };
        Ok(vec![
            x.gather_linear(shape, positions.collect::<Vec<_>>()).into(),
            list(groups.iter().map(|g| g[0]).collect()),
            list(inverse),
            list(groups.iter().map(Vec::len).collect()),
        ])
    }
}
