//! The same elements under another shape.

use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::Value;
use crate::types::{Cmp, Dim, TensorType, Type};

crate::attrs! {
    /// The elements of the input, in row-major order, under the shape `dims`.
    pub struct Reshape { pub dims: Vec<Dim> }
}

impl OpDef for Reshape {
    const NAME: &'static str = "reshape";

    fn arity(&self) -> Arity {
        Arity::exactly(1)
    }

    fn infer(&self, cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        let x = ins[0].tensor()?;
        for d in &self.dims {
            cx.require(Cmp::Ge, d, &Dim::from(0), "a size is negative")?;
        }
        let out = TensorType::new(x.dtype, &self.dims);
        let what = format!("reshape of {x} to {out} changes the element count");
        cx.require(Cmp::Eq, &x.n_elements(), &out.n_elements(), &what)?;
        Ok(vec![out.into()])
    }

    fn elems(&self, ins: &[Fact], _out: &TensorType) -> Option<Vec<Dim>> {
        ins[0].elems.map(<[Dim]>::to_vec)
    }

    fn eval(&self, cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let (_, shape) = cx.out(0)?;
        let x = ins[0].tensor();
        if crate::tensor::n_elements(&shape) != Some(x.n_elements()) {
            return Err(EvalError::new(format!("can't reshape {:?} to {shape:?}", x.shape())));
        }
        Ok(vec![x.reshaped(shape).into()])
    }
}
