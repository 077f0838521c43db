//! Repetition of a tensor along axes of extent 1.

use super::broadcast::{broadcast_positions, broadcast_to};
use super::indexing::pick_elems;
use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::Value;
use crate::types::{Cmp, Dim, TensorType, Type};

crate::attrs! {
    /// The input repeated to exactly the shape `dims`. Axes are aligned at the last one; each axis of the input
    /// has extent 1 or that of `dims`, and `dims` has at least as many axes. Any element type.
    pub struct Broadcast { pub dims: Vec<Dim> }
}

impl OpDef for Broadcast {
    const NAME: &'static str = "broadcast";

    fn arity(&self) -> Arity {
        Arity::exactly(1)
    }

    fn infer(&self, cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        let x = ins[0].tensor()?;
        let out = TensorType::new(x.dtype, &self.dims);
        let what = format!("{x} doesn't broadcast to {out}");
        let Some(lead) = out.rank().checked_sub(x.rank()) else {
            return Err(Mismatch::new(format!("{what}: it has more axes")));
        };
        let (zero, one) = (Dim::from(0), Dim::from(1));
        for d in &self.dims {
            cx.require(Cmp::Ge, d, &zero, "a size is negative")?;
        }
        for (from, to) in x.shape.iter().zip(&self.dims[lead..]) {
            if !from.is_const(1) && from != to {
                let widened = Dim::select(Cmp::Eq, from, &one, to, from);
                cx.require(Cmp::Eq, &widened, to, &what)?;
            }
        }
        Ok(vec![out.into()])
    }

    fn elems(&self, ins: &[Fact], out: &TensorType) -> Option<Vec<Dim>> {
        let x = ins[0].ty.as_tensor()?.static_shape()?;
        let positions = broadcast_positions(&x, &out.static_shape()?);
        pick_elems(ins, positions.into_iter().map(|p| (0, p)))
    }

    fn eval(&self, cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let (_, shape) = cx.out(0)?;
        Ok(vec![broadcast_to(ins[0].tensor(), &shape).into()])
    }
}
