//! Choice between two tensors by a third.

use super::binary::broadcast_elems;
use super::broadcast::broadcast_positions;
use super::indexing::{check_same_dtype, select_by_sign};
use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::{Tensor, Value};
use crate::types::{Cmp, DType, Dim, TensorType, Type};

crate::attrs! {
    /// `y = cond ? a : b`, elementwise with multidirectional broadcasting of all three. `cond` is bool; `a` and `b`
    /// have one element type, of any kind.
    pub struct Select {}
}

impl OpDef for Select {
    const NAME: &'static str = "select";

    fn arity(&self) -> Arity {
        Arity::exactly(3)
    }

    fn infer(&self, cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        let (cond, a, b) = (ins[0].tensor()?, ins[1].tensor()?, ins[2].tensor()?);
        if cond.dtype != DType::Bool {
            return Err(Mismatch::new(format!("the condition must be bool, not {}", cond.dtype)));
        }
        check_same_dtype(a.dtype, b.dtype)?;
        Ok(vec![Type::tensor(a.dtype, cx.broadcast_shapes(&[&cond.shape, &a.shape, &b.shape])?)])
    }

    fn elems(&self, ins: &[Fact], out: &TensorType) -> Option<Vec<Dim>> {
        let shape = out.static_shape()?;
        let (a, b) = (broadcast_elems(&ins[1], &shape)?, broadcast_elems(&ins[2], &shape)?);
        let cond = broadcast_elems(&ins[0], &shape)?;
        Some(cond.iter().zip(a.iter().zip(&b)).map(|(c, (a, b))| select_by_sign(Cmp::Ne, c, a, b)).collect())
    }

    fn eval(&self, cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let (_, shape) = cx.out(0)?;
        let (cond, a, b) = (ins[0].tensor(), ins[1].tensor(), ins[2].tensor());
        let at = |t: &Tensor| broadcast_positions(t.shape(), &shape);
        let places = at(cond)
            .into_iter()
            .zip(at(a).into_iter().zip(at(b)))
            .map(|(c, (a, b))| if cond.bytes()[c] != 0 { (0, a) } else { (1, b) });
        Ok(vec![Tensor::pick(&[a, b], shape.clone(), places).into()])
    }

    fn is_elementwise(&self) -> bool {
        true
    }
}
