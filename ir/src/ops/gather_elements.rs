//! Elements of a tensor, picked one by one along an axis.

use super::broadcast::strides;
use super::indexing::{
    check_addressed, check_axis, check_indices, kept_axis, known_ints, pick_elems, walk_inside, wrap_index,
};
use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::Value;
use crate::types::{Cmp, Dim, Shape, TensorType, Type};

crate::attrs! {
    /// Inputs: x of any element type, indices of an integer type and x's rank. The output has the shape of the
    /// indices: `y[.., i, ..] = x[.., indices[.., i, ..], ..]`, with i at `axis`. Along the other axes the indices
    /// have at most x's extent. Negative indices count from the end; indices out of range stop the evaluation.
    pub struct GatherElements { pub axis: usize }
}

impl OpDef for GatherElements {
    const NAME: &'static str = "gather_elements";

    fn arity(&self) -> Arity {
        Arity::exactly(2)
    }

    fn infer(&self, cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        let x = ins[0].tensor()?;
        Ok(vec![Type::tensor(x.dtype, check_elementwise_indices(cx, self.axis, x, ins[1].tensor()?)?)])
    }

    fn elems(&self, ins: &[Fact], _out: &TensorType) -> Option<Vec<Dim>> {
        let (x, indices) = (ins[0].ty.as_tensor()?, ins[1].ty.as_tensor()?);
        let (x, shape) = (x.static_shape()?, indices.static_shape()?);
        let positions = element_positions(self.axis, &x, &shape, &known_ints(&ins[1])?).ok()?;
        pick_elems(ins, positions.into_iter().map(|p| (0, p)))
    }

    fn eval(&self, cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let (_, shape) = cx.out(0)?;
        let (x, indices) = (ins[0].tensor(), ins[1].tensor());
        let positions = element_positions(self.axis, x.shape(), indices.shape(), &indices.ints())?;
        Ok(vec![x.gather_linear(shape, positions).into()])
    }
}

/// Checks indices that address elements of `x` along `axis`, one by one; returns their shape.
pub(super) fn check_elementwise_indices(
    cx: &mut InferCx,
    axis: usize,
    x: &TensorType,
    indices: &TensorType,
) -> Result<Shape, Mismatch> {
    check_axis(axis, x.rank())?;
    check_indices(indices.dtype)?;
    if indices.rank() != x.rank() {
        return Err(Mismatch::new(format!("indices of rank {} for {x}", indices.rank())));
    }
    for (a, (i, n)) in indices.shape.iter().zip(&x.shape).enumerate().filter(|(a, _)| *a != axis) {
        cx.require(Cmp::Le, i, n, &format!("there are more indices than elements along axis {a}"))?;
    }
    check_addressed(cx, &x.shape[axis], &indices.shape);
    Ok(indices.shape.clone())
}

/// For each index, the linear position in a tensor of shape `x` that it addresses.
pub(super) fn element_positions(
    axis: usize,
    x: &[usize],
    shape: &[usize],
    indices: &[i128],
) -> Result<Vec<usize>, EvalError> {
    let own = strides(x);
    let maps = (0..x.len()).map(|a| kept_axis(shape[a], if a == axis { 0 } else { own[a] })).collect();
    walk_inside(maps).zip(indices).map(|(p, i)| Ok(p + wrap_index(*i, x[axis])? * own[axis])).collect()
}
