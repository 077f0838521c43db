//! A tensor with single elements replaced or updated.

use super::gather_elements::{check_elementwise_indices, element_positions};
use super::indexing::{known_ints, pick_elems};
use super::scalar::BinaryKind;
use super::scatter::{check_update, scatter, scatter_places};
use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::Value;
use crate::types::{Dim, TensorType, Type};

crate::attrs! {
    /// Inputs: x, indices of an integer type, updates of x's element type and the indices' shape; all of one rank.
    /// The output is x with `x[.., indices[.., i, ..], ..]` replaced by `updates[.., i, ..]`, i at `axis`; or, with
    /// `update` (add, mul, max, min), combined with it. Several updates of one element: all of them combine; the
    /// last one replaces. Negative indices count from the end; indices out of range stop the evaluation.
    pub struct ScatterElements { pub axis: usize, pub update: Option<BinaryKind> }
}

impl OpDef for ScatterElements {
    const NAME: &'static str = "scatter_elements";

    fn arity(&self) -> Arity {
        Arity::exactly(3)
    }

    fn infer(&self, cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        let (x, indices, updates) = (ins[0].tensor()?, ins[1].tensor()?, ins[2].tensor()?);
        check_update(self.update, x, updates)?;
        let shape = check_elementwise_indices(cx, self.axis, x, indices)?;
        cx.same_shape(&shape, &updates.shape, "updates and indices differ in shape")?;
        Ok(vec![x.clone().into()])
    }

    fn elems(&self, ins: &[Fact], _out: &TensorType) -> Option<Vec<Dim>> {
        let (x, indices) = (ins[0].ty.as_tensor()?, ins[1].ty.as_tensor()?);
        let (x, shape) = (x.static_shape()?, indices.static_shape()?);
        let targets = element_positions(self.axis, &x, &shape, &known_ints(&ins[1])?).ok()?;
        self.update.is_none().then(|| pick_elems(ins, scatter_places(&x, &targets)))?
    }

    fn eval(&self, _cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let (x, indices) = (ins[0].tensor(), ins[1].tensor());
        let targets = element_positions(self.axis, x.shape(), indices.shape(), &indices.ints())?;
        Ok(vec![scatter(self.update, x, &targets, ins[2].tensor()).into()])
    }
}
