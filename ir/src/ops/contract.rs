//! Sums of products of two tensors over shared axes: matrix products of any kind.

use super::broadcast::{for_each_index, strides};
use super::wide::Wide;
use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::{Tensor, Value};
use crate::types::{DType, Shape, Type};

crate::attrs! {
    /// Sum of products of `a` and `b` over paired axes. `lhs_batch[i]` is paired with `rhs_batch[i]` and stays;
    /// `lhs[i]` is paired with `rhs[i]` and is summed over. Axes of the result: the batch axes, then what is left of
    /// `a`, then what is left of `b`, each in order. Both operands are floats or both are integers, not necessarily
    /// of one type; the sum is accumulated wide (integers wrap) and rounded once to `out`. Over no elements it is 0.
    pub struct Contract {
        pub lhs_batch: Vec<usize>,
        pub rhs_batch: Vec<usize>,
        pub lhs: Vec<usize>,
        pub rhs: Vec<usize>,
        pub out: DType,
    }
}

impl Contract {
    /// The matrix product of two matrices.
    pub fn matmul(out: DType) -> Contract {
        Contract { lhs_batch: vec![], rhs_batch: vec![], lhs: vec![1], rhs: vec![0], out }
    }

    /// Axes of the left operand that are neither batch nor contracted.
    pub fn lhs_free(&self, rank: usize) -> Vec<usize> {
        (0..rank).filter(|a| !self.lhs_batch.contains(a) && !self.lhs.contains(a)).collect()
    }

    /// Axes of the right operand that are neither batch nor contracted.
    pub fn rhs_free(&self, rank: usize) -> Vec<usize> {
        (0..rank).filter(|a| !self.rhs_batch.contains(a) && !self.rhs.contains(a)).collect()
    }

    fn run<T: Wide>(&self, a: &Tensor, b: &Tensor, shape: Vec<usize>) -> Tensor {
        let extent = |axes: &[usize], t: &Tensor| axes.iter().map(|x| t.shape()[*x]).product::<usize>();
        let (lhs_free, rhs_free) = (self.lhs_free(a.rank()), self.rhs_free(b.rank()));
        let (m, n, k) = (extent(&lhs_free, a), extent(&rhs_free, b), extent(&self.lhs, a));
        let batches = extent(&self.lhs_batch, a);
        // Both become rows of k numbers that lie together.
        let a = permuted::<T>(a, &[&self.lhs_batch, &lhs_free, &self.lhs].map(Vec::as_slice).concat());
        let b = permuted::<T>(b, &[&self.rhs_batch, &rhs_free, &self.rhs].map(Vec::as_slice).concat());
        let mut out = Vec::with_capacity(batches * m * n);
        for batch in 0..batches {
            for row in 0..m {
                let x = &a[(batch * m + row) * k..][..k];
                for col in 0..n {
                    let y = &b[(batch * n + col) * k..][..k];
                    out.push(x.iter().zip(y).fold(T::ZERO, |acc, (x, y)| acc.add_product(*x, *y)));
                }
            }
        }
        T::store(self.out, shape, out)
    }
}

impl OpDef for Contract {
    const NAME: &'static str = "contract";

    fn arity(&self) -> Arity {
        Arity::exactly(2)
    }

    fn infer(&self, cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        let (a, b) = (ins[0].tensor()?, ins[1].tensor()?);
        let floats = a.dtype.is_float() && b.dtype.is_float() && self.out.is_float();
        let ints = a.dtype.is_int() && b.dtype.is_int() && self.out.is_int();
        if !floats && !ints {
            return Err(Mismatch::new(format!("no product of {a} and {b} in {}", self.out)));
        }
        distinct_axes(&[&self.lhs_batch, &self.lhs], a.rank(), "left")?;
        distinct_axes(&[&self.rhs_batch, &self.rhs], b.rank(), "right")?;
        if self.lhs_batch.len() != self.rhs_batch.len() || self.lhs.len() != self.rhs.len() {
            return Err(Mismatch::new("the operands list different numbers of batch or contracted axes"));
        }
        let mut shape: Shape = Vec::new();
        for (l, r) in self.lhs_batch.iter().zip(&self.rhs_batch) {
            shape.push(cx.same(&a.shape[*l], &b.shape[*r], "batch axes differ")?);
        }
        for (l, r) in self.lhs.iter().zip(&self.rhs) {
            cx.same(&a.shape[*l], &b.shape[*r], "contracted axes differ")?;
        }
        shape.extend(self.lhs_free(a.rank()).into_iter().map(|x| a.shape[x].clone()));
        shape.extend(self.rhs_free(b.rank()).into_iter().map(|x| b.shape[x].clone()));
        Ok(vec![Type::tensor(self.out, shape)])
    }

    fn eval(&self, cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let (_, shape) = cx.out(0)?;
        let (a, b) = (ins[0].tensor(), ins[1].tensor());
        let run = if self.out.is_float() { Contract::run::<f64> } else { Contract::run::<i64> };
        Ok(vec![run(self, a, b, shape).into()])
    }
}

fn distinct_axes(lists: &[&[usize]], rank: usize, side: &str) -> Result<(), Mismatch> {
    let all = lists.concat();
    let bad = all.iter().enumerate().any(|(i, a)| *a >= rank || all[..i].contains(a));
    if bad {
        return Err(Mismatch::new(format!(
            "axes {all:?} of the {side} operand aren't distinct axes of rank {rank}"
        )));
    }
    Ok(())
}

/// The elements with the axes in the order `perm`.
fn permuted<T: Wide>(t: &Tensor, perm: &[usize]) -> Vec<T> {
    let elems = T::load(t);
    if perm.iter().enumerate().all(|(i, a)| i == *a) {
        return elems;
    }
    let own = strides(t.shape());
    let steps: Vec<usize> = perm.iter().map(|a| own[*a]).collect();
    let shape: Vec<usize> = perm.iter().map(|a| t.shape()[*a]).collect();
    let mut out = Vec::with_capacity(elems.len());
    for_each_index(&shape, |index| {
        out.push(elems[index.iter().zip(&steps).map(|(i, s)| i * s).sum::<usize>()]);
    });
    out
}
