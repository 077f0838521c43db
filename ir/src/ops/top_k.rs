//! The largest or smallest elements along an axis.

use super::lanes::Lanes;
use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::{Tensor, Value};
use crate::types::{Cmp, DType, Dim, Type};
use std::cmp::Ordering;

crate::attrs! {
    /// The `k` largest (or smallest) elements along `axis` and their positions (i64). NaN is larger than every
    /// number; of equal elements those at lower positions come first. `sorted` asks for decreasing (increasing)
    /// order; without it the order is free, and this definition gives the sorted one. `k` is at most the axis'
    /// extent.
    pub struct TopK { pub axis: usize, pub k: Dim, pub largest: bool, pub sorted: bool }
}

impl OpDef for TopK {
    const NAME: &'static str = "top_k";

    fn arity(&self) -> Arity {
        Arity::exactly(1)
    }

    fn n_outputs(&self) -> usize {
        2
    }

    fn infer(&self, cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        let x = ins[0].tensor()?;
        if !(x.dtype.is_float() || x.dtype.is_int()) {
            return Err(Mismatch::new(format!("elements of type {} have no order", x.dtype)));
        }
        let Some(extent) = x.shape.get(self.axis) else {
            return Err(Mismatch::new(format!("{x} has no axis {}", self.axis)));
        };
        cx.require(Cmp::Ge, &self.k, &Dim::from(0), "k is negative")?;
        cx.require(Cmp::Le, &self.k, extent, "k is larger than the axis")?;
        let mut shape = x.shape.clone();
        shape[self.axis] = self.k.clone();
        Ok(vec![Type::tensor(x.dtype, &shape), Type::tensor(DType::I64, &shape)])
    }

    fn eval(&self, cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let (_, shape) = cx.out(0)?;
        let x = ins[0].tensor();
        let (lanes, out) = (Lanes::new(x.shape(), self.axis), Lanes::new(&shape, self.axis));
        if out.len > lanes.len {
            return Err(EvalError::new(format!("k = {} on an axis of {}", out.len, lanes.len)));
        }
        let mut from = vec![0; crate::tensor::n_elements(&shape).unwrap_or(0)];
        let mut pick = |order: &dyn Fn(usize, usize) -> Ordering| {
            for (source, target) in lanes.starts().zip(out.starts()) {
                let mut lane: Vec<usize> = lanes.positions(source).collect();
                // The sort is stable: equal elements keep their order.
                lane.sort_by(|a, b| if self.largest { order(*b, *a) } else { order(*a, *b) });
                out.positions(target).zip(lane).for_each(|(to, p)| from[to] = p);
            }
        };
        if x.dtype().is_float() {
            let v = x.floats();
            pick(&|a, b| v[a].partial_cmp(&v[b]).unwrap_or_else(|| v[a].is_nan().cmp(&v[b].is_nan())));
        } else {
            let v = x.ints();
            pick(&|a, b| v[a].cmp(&v[b]));
        }
        let at = from.iter().map(|p| (p / lanes.inner % lanes.len) as i128);
        let indices = Tensor::from_ints(DType::I64, shape.clone(), at);
        Ok(vec![x.gather_linear(shape, from).into(), indices.into()])
    }
}
