//! Slices of a tensor, picked by index.

use super::broadcast::strides;
use super::indexing::{
    AxisMap, check_addressed, check_axis, check_indices, kept_axes, known_ints, pick_elems, walk_inside,
    wrap_index,
};
use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::Value;
use crate::types::{Dim, TensorType, Type};

crate::attrs! {
    /// Inputs: x of any element type, indices of an integer type and any shape. The output is x with `axis`
    /// replaced by the axes of the indices: `y[.., i.., ..] = x[.., indices[i..], ..]`. Negative indices count
    /// from the end; indices out of range stop the evaluation.
    pub struct Gather { pub axis: usize }
}

impl OpDef for Gather {
    const NAME: &'static str = "gather";

    fn arity(&self) -> Arity {
        Arity::exactly(2)
    }

    fn infer(&self, cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        let (x, indices) = (ins[0].tensor()?, ins[1].tensor()?);
        check_axis(self.axis, x.rank())?;
        check_indices(indices.dtype)?;
        check_addressed(cx, &x.shape[self.axis], &indices.shape);
        let (before, after) = (&x.shape[..self.axis], &x.shape[self.axis + 1..]);
        Ok(vec![Type::tensor(x.dtype, before.iter().chain(&indices.shape).chain(after))])
    }

    fn elems(&self, ins: &[Fact], _out: &TensorType) -> Option<Vec<Dim>> {
        let x = ins[0].ty.as_tensor()?.static_shape()?;
        let maps = self.maps(&x, &known_ints(&ins[1])?).ok()?;
        pick_elems(ins, walk_inside(maps).map(|p| (0, p)))
    }

    fn eval(&self, cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let (_, shape) = cx.out(0)?;
        let x = ins[0].tensor();
        let maps = self.maps(x.shape(), &ins[1].tensor().ints())?;
        Ok(vec![x.gather_linear(shape, walk_inside(maps)).into()])
    }
}

impl Gather {
    /// All indices make one axis here.
    fn maps(&self, x: &[usize], indices: &[i128]) -> Result<Vec<AxisMap>, EvalError> {
        let stride = strides(x)[self.axis];
        let mut maps = kept_axes(x);
        maps[self.axis] = indices
            .iter()
            .map(|i| Ok(Some(wrap_index(*i, x[self.axis])? * stride)))
            .collect::<Result<_, EvalError>>()?;
        Ok(maps)
    }
}
