//! Position of the largest or smallest element.

use super::lanes::Lanes;
use super::reduce::reduced_shape;
use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::{Tensor, Value};
use crate::types::{Cmp, DType, Dim, Type};
use std::cmp::Ordering;

crate::attr_enum! {
    /// Which element is looked for.
    pub enum ArgKind {
        Max = "max",
        Min = "min",
    }
}

crate::attrs! {
    /// Position along `axis` (i64) of the largest or smallest element; of equals the first, or with `last` the last.
    /// NaN counts as larger than everything for max and smaller for min. The axis must not be empty; it stays, with
    /// extent 1, if `keepdims`.
    pub struct ArgReduce { pub kind: ArgKind, pub axis: usize, pub last: bool, pub keepdims: bool }
}

impl OpDef for ArgReduce {
    const NAME: &'static str = "arg_reduce";

    fn arity(&self) -> Arity {
        Arity::exactly(1)
    }

    fn infer(&self, cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        let x = ins[0].tensor()?;
        if !(x.dtype.is_float() || x.dtype.is_int() || x.dtype == DType::Bool) {
            return Err(Mismatch::new(format!("elements of type {} have no order", x.dtype)));
        }
        let shape = reduced_shape(&x.shape, &[self.axis], self.keepdims)?;
        cx.require(Cmp::Ge, &x.shape[self.axis], &Dim::from(1), "the axis searched is empty")?;
        Ok(vec![Type::tensor(DType::I64, shape)])
    }

    fn eval(&self, cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let (_, shape) = cx.out(0)?;
        let x = ins[0].tensor();
        let lanes = Lanes::new(x.shape(), self.axis);
        let order = |wins: &dyn Fn(usize, usize) -> Ordering| -> Vec<i128> {
            lanes.starts().map(|start| self.best(&mut lanes.positions(start), wins) as i128).collect()
        };
        let found = if x.dtype().is_float() {
            let v = x.floats();
            order(&|a, b| self.float_order(v[a], v[b]))
        } else {
            let v = x.ints();
            order(&|a, b| self.directed(v[a].cmp(&v[b])))
        };
        Ok(vec![Tensor::from_ints(DType::I64, shape, found).into()])
    }
}

impl ArgReduce {
    /// Number of the winner in a lane.
    fn best(&self, lane: &mut dyn Iterator<Item = usize>, order: &dyn Fn(usize, usize) -> Ordering) -> usize {
        let mut best = (0, None);
        for (k, p) in lane.enumerate() {
            let wins = best.1.is_none_or(|b| match order(p, b) {
                Ordering::Greater => true,
                Ordering::Equal => self.last,
                Ordering::Less => false,
            });
            if wins {
                best = (k, Some(p));
            }
        }
        best.0
    }

    fn directed(&self, o: Ordering) -> Ordering {
        match self.kind {
            ArgKind::Max => o,
            ArgKind::Min => o.reverse(),
        }
    }

    /// Greater means that `a` wins; NaN wins whatever is looked for.
    fn float_order(&self, a: f64, b: f64) -> Ordering {
        match a.partial_cmp(&b) {
            Some(o) => self.directed(o),
            None => a.is_nan().cmp(&b.is_nan()),
        }
    }
}
