//! Running sums and products along an axis.

use super::binary::fact_elems;
use super::lanes::Lanes;
use super::reduce::ReduceKind;
use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::{Tensor, Value};
use crate::types::{Dim, TensorType, Type};

crate::attr_enum! {
    /// What is accumulated.
    pub enum CumulativeKind {
        Sum = "sum",
        Prod = "prod",
    }
}

crate::attrs! {
    /// `y[i]` = sum or product of the elements up to i along `axis`: up to and with i, or with `exclusive` those
    /// before i only. With `reverse` from the end on. Floats are accumulated wide, integers wrap.
    pub struct Cumulative { pub kind: CumulativeKind, pub axis: usize, pub exclusive: bool, pub reverse: bool }
}

impl Cumulative {
    fn reduce(&self) -> ReduceKind {
        match self.kind {
            CumulativeKind::Sum => ReduceKind::Sum,
            CumulativeKind::Prod => ReduceKind::Prod,
        }
    }

    fn scan<T: Clone>(&self, shape: &[usize], x: &[T], identity: T, f: impl Fn(T, T) -> T) -> Vec<T> {
        let lanes = Lanes::new(shape, self.axis);
        let mut out = x.to_vec();
        for start in lanes.starts() {
            let forward = lanes.positions(start);
            let order: Vec<usize> = if self.reverse { forward.rev().collect() } else { forward.collect() };
            let mut acc = identity.clone();
            for p in order {
                let next = f(acc.clone(), x[p].clone());
                out[p] = if self.exclusive { acc } else { next.clone() };
                acc = next;
            }
        }
        out
    }
}

impl OpDef for Cumulative {
    const NAME: &'static str = "cumulative";

    fn arity(&self) -> Arity {
        Arity::exactly(1)
    }

    fn infer(&self, _cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        let x = ins[0].tensor()?;
        self.reduce().check(x.dtype)?;
        if self.axis >= x.rank() {
            return Err(Mismatch::new(format!("{x} has no axis {}", self.axis)));
        }
        Ok(vec![ins[0].ty.clone()])
    }

    fn elems(&self, ins: &[Fact], out: &TensorType) -> Option<Vec<Dim>> {
        let (shape, x) = (out.static_shape()?, fact_elems(&ins[0])?);
        Some(match self.kind {
            CumulativeKind::Sum => self.scan(&shape, &x, Dim::from(0), |a, b| a + b),
            CumulativeKind::Prod => self.scan(&shape, &x, Dim::from(1), |a, b| a * b),
        })
    }

    fn eval(&self, cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let (dtype, shape) = cx.out(0)?;
        let (x, kind) = (ins[0].tensor(), self.reduce());
        let f = kind.binary();
        Ok(vec![Value::Tensor(if dtype.is_float() {
            let out = self.scan(&shape, &x.floats(), kind.float_identity(), |a, b| f.float(a, b));
            Tensor::from_floats(dtype, shape, out)
        } else {
            let step = |a, b| dtype.wrap_int(f.int(dtype, a, b));
            let out = self.scan(&shape, &x.ints(), kind.int_identity(dtype), step);
            Tensor::from_ints(dtype, shape, out)
        })])
    }
}
