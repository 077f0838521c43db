//! A tensor with whole slices replaced or updated.

use super::gather_nd::{check_tuples, tuple_positions};
use super::indexing::{known_ints, pick_elems};
use super::scalar::BinaryKind;
use super::scatter::{check_update, scatter, scatter_places};
use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::Value;
use crate::types::{Dim, TensorType, Type};

crate::attrs! {
    /// Inputs: x, indices of an integer type whose last axis, of constant extent k, holds tuples that index the
    /// first k axes of x, updates of x's element type. Updates have the indices' shape without its last axis, then
    /// x's axes behind the first k. The output is x with each addressed slice replaced by its update; or, with
    /// `update` (add, mul, max, min), combined with it. Several updates of one slice: all of them combine; the last
    /// one replaces. Negative indices count from the end; indices out of range stop the evaluation.
    pub struct ScatterNd { pub update: Option<BinaryKind> }
}

impl OpDef for ScatterNd {
    const NAME: &'static str = "scatter_nd";

    fn arity(&self) -> Arity {
        Arity::exactly(3)
    }

    fn infer(&self, cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        let (x, indices, updates) = (ins[0].tensor()?, ins[1].tensor()?, ins[2].tensor()?);
        check_update(self.update, x, updates)?;
        let slices = check_tuples(cx, 0, x, indices)?;
        cx.same_shape(&slices, &updates.shape, "updates don't have the shape of the addressed slices")?;
        Ok(vec![x.clone().into()])
    }

    fn elems(&self, ins: &[Fact], _out: &TensorType) -> Option<Vec<Dim>> {
        let (x, indices) = (ins[0].ty.as_tensor()?, ins[1].ty.as_tensor()?);
        let (x, shape) = (x.static_shape()?, indices.static_shape()?);
        let targets = tuple_positions(0, &x, &shape, &known_ints(&ins[1])?).ok()?;
        self.update.is_none().then(|| pick_elems(ins, scatter_places(&x, &targets)))?
    }

    fn eval(&self, _cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let (x, indices) = (ins[0].tensor(), ins[1].tensor());
        let targets = tuple_positions(0, x.shape(), indices.shape(), &indices.ints())?;
        Ok(vec![scatter(self.update, x, &targets, ins[2].tensor()).into()])
    }
}
