//! Integer tensors whose elements are sizes.

use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::{Tensor, Value};
use crate::types::{DType, Dim, TensorType, Type};

crate::attrs! {
    /// An integer tensor of static `shape` whose elements are symbolic sizes: what `Shape` and arithmetic on its
    /// result become.
    pub struct Sizes {
        pub dtype: DType,
        pub shape: Vec<usize>,
        pub elems: Vec<Dim>,
    }
}

impl OpDef for Sizes {
    const NAME: &'static str = "sizes";

    fn arity(&self) -> Arity {
        Arity::exactly(0)
    }

    fn infer(&self, _cx: &mut InferCx, _ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        let n = crate::tensor::n_elements(&self.shape);
        if n != Some(self.elems.len()) || !(self.dtype.is_int() || self.dtype == DType::Bool) {
            return Err(Mismatch::new(format!(
                "{} sizes don't make a {}{:?}",
                self.elems.len(),
                self.dtype,
                self.shape
            )));
        }
        Ok(vec![Type::tensor(self.dtype, self.shape.iter().copied())])
    }

    fn elems(&self, _ins: &[Fact], _out: &TensorType) -> Option<Vec<Dim>> {
        Some(self.elems.clone())
    }

    fn eval(&self, cx: &EvalCx, _ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let elems: Vec<i128> =
            self.elems.iter().map(|d| cx.dim(d).map(i128::from)).collect::<Result<_, _>>()?;
        Ok(vec![Tensor::from_ints(self.dtype, self.shape.clone(), elems).into()])
    }
}
