//! Slices of a tensor, picked by tuples of indices.

use super::broadcast::strides;
use super::indexing::{check_addressed, check_indices, known_ints, pick_elems, wrap_index};
use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::Value;
use crate::types::{Dim, Shape, TensorType, Type};

crate::attrs! {
    /// Inputs: x of any element type, indices of an integer type whose last axis, of constant extent k, holds
    /// tuples. The first `batch_dims` axes of both are the same batch. Each tuple indexes the k axes of x behind
    /// the batch: the output is the indices' shape without its last axis, then x's axes behind those k. Negative
    /// indices count from the end; indices out of range stop the evaluation.
    pub struct GatherNd { pub batch_dims: usize }
}

impl OpDef for GatherNd {
    const NAME: &'static str = "gather_nd";

    fn arity(&self) -> Arity {
        Arity::exactly(2)
    }

    fn infer(&self, cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        let (x, indices) = (ins[0].tensor()?, ins[1].tensor()?);
        Ok(vec![Type::tensor(x.dtype, check_tuples(cx, self.batch_dims, x, indices)?)])
    }

    fn elems(&self, ins: &[Fact], _out: &TensorType) -> Option<Vec<Dim>> {
        let (x, indices) = (ins[0].ty.as_tensor()?, ins[1].ty.as_tensor()?);
        let (x, shape) = (x.static_shape()?, indices.static_shape()?);
        let positions = tuple_positions(self.batch_dims, &x, &shape, &known_ints(&ins[1])?).ok()?;
        pick_elems(ins, positions.into_iter().map(|p| (0, p)))
    }

    fn eval(&self, cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let (_, shape) = cx.out(0)?;
        let (x, indices) = (ins[0].tensor(), ins[1].tensor());
        let positions = tuple_positions(self.batch_dims, x.shape(), indices.shape(), &indices.ints())?;
        Ok(vec![x.gather_linear(shape, positions).into()])
    }
}

/// Checks index tuples into `x`; returns the shape of all the slices that they address.
pub(super) fn check_tuples(
    cx: &mut InferCx,
    batch_dims: usize,
    x: &TensorType,
    indices: &TensorType,
) -> Result<Shape, Mismatch> {
    check_indices(indices.dtype)?;
    let Some((tuple, lead)) = indices.shape.split_last() else {
        return Err(Mismatch::new("indices need an axis that holds tuples"));
    };
    let length = tuple.as_const().and_then(|k| usize::try_from(k).ok());
    let Some(length) = length else {
        return Err(Mismatch::new(format!("the length of index tuples must be a constant, not {tuple}")));
    };
    let used = length.checked_add(batch_dims).filter(|n| *n <= x.rank() && batch_dims <= lead.len());
    let Some(used) = used else {
        return Err(Mismatch::new(format!(
            "{batch_dims} batch axes and tuples of {length} indices don't fit {x} and indices {indices}"
        )));
    };
    for extent in &x.shape[batch_dims..used] {
        check_addressed(cx, extent, lead);
    }
    let mut shape = Vec::with_capacity(lead.len() + x.rank() - used);
    for (axis, d) in lead.iter().enumerate() {
        shape.push(if axis < batch_dims {
            cx.same(d, &x.shape[axis], &format!("batch axis {axis} of x and indices differ"))?
        } else {
            d.clone()
        });
    }
    shape.extend_from_slice(&x.shape[used..]);
    Ok(shape)
}

/// Linear positions in a tensor of shape `x` of all elements of the slices that the tuples address, in order.
pub(super) fn tuple_positions(
    batch_dims: usize,
    x: &[usize],
    shape: &[usize],
    indices: &[i128],
) -> Result<Vec<usize>, EvalError> {
    let (length, lead) = shape.split_last().expect("inference wants an axis of tuples");
    let own = strides(x);
    let slice: usize = x[batch_dims + length..].iter().product();
    let batch_size: usize = x[batch_dims..].iter().product();
    let tuples_per_batch: usize = lead[batch_dims..].iter().product();
    let n_tuples: usize = lead.iter().product();
    let mut out = Vec::with_capacity(n_tuples * slice);
    for n in 0..n_tuples {
        let mut start = n / tuples_per_batch * batch_size;
        for (j, i) in indices[n * length..(n + 1) * length].iter().enumerate() {
            start += wrap_index(*i, x[batch_dims + j])? * own[batch_dims + j];
        }
        out.extend(start..start + slice);
    }
    Ok(out)
}
