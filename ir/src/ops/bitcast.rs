//! The same bits under another element type.

use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::{Tensor, Value};
use crate::types::{DType, Dim, TensorType, Type};

crate::attrs! {
    /// Each element's bits read as the type `to`, which has the same width. Not for strings. A bool is the byte 0
    /// or 1; bits that become a bool are true unless all are 0.
    pub struct Bitcast { pub to: DType }
}

impl OpDef for Bitcast {
    const NAME: &'static str = "bitcast";

    fn arity(&self) -> Arity {
        Arity::exactly(1)
    }

    fn infer(&self, _cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        let x = ins[0].tensor()?;
        if x.dtype == DType::String || x.dtype.bits() != self.to.bits() {
            return Err(Mismatch::new(format!("{} and {} differ in width", x.dtype, self.to)));
        }
        Ok(vec![Type::tensor(self.to, &x.shape)])
    }

    fn elems(&self, ins: &[Fact], _out: &TensorType) -> Option<Vec<Dim>> {
        let known = super::indexing::known_ints(&ins[0]).filter(|_| !self.reads_floats(ins))?;
        known.into_iter().map(|v| i64::try_from(self.to.wrap_int(v)).ok().map(Dim::from)).collect()
    }

    fn eval(&self, cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let (_, shape) = cx.out(0)?;
        let x = ins[0].tensor();
        let bytes = match (self.to.is_int() || self.to == DType::Bool, self.to.bits() < 8) {
            // Bring each element's byte to the form that the new type is stored in.
            (true, _) => {
                let mut out = Vec::with_capacity(x.bytes().len());
                x.bytes()
                    .chunks_exact(self.to.size())
                    .for_each(|c| self.to.store_int(self.to.load_int(c), &mut out));
                out.into()
            }
            (false, true) => x.bytes().iter().map(|b| b & ((1 << self.to.bits()) - 1)).collect(),
            (false, false) => bytes::Bytes::copy_from_slice(x.bytes()),
        };
        let cast = Tensor::from_bytes(self.to, shape, bytes);
        Ok(vec![cast.ok_or_else(|| EvalError::new("a bit cast keeps the shape"))?.into()])
    }

    fn is_elementwise(&self) -> bool {
        true
    }
}

impl Bitcast {
    fn reads_floats(&self, ins: &[Fact]) -> bool {
        ins[0].ty.as_tensor().is_none_or(|t| !t.dtype.is_int() && t.dtype != DType::Bool)
    }
}
