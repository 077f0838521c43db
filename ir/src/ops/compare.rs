//! Comparison of two tensors of one type.

use super::broadcast::broadcast_to;
use crate::attr::{Attr, AttrValue};
use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::{Tensor, Value};
use crate::types::{Cmp, DType, Dim, TensorType, Type};

crate::attrs! {
    /// `y = a <cmp> b` as bool, elementwise with multidirectional broadcasting. NaN compares unequal to everything.
    pub struct Compare { pub cmp: Cmp }
}

impl AttrValue for Cmp {
    fn to_attr(&self) -> Attr {
        Attr::Word(self.name())
    }
    fn from_attr(attr: &Attr) -> Result<Self, String> {
        let word = attr.as_word();
        Cmp::ALL
            .iter()
            .find(|(_, n)| Some(*n) == word)
            .map(|(c, _)| *c)
            .ok_or_else(|| format!("expected one of {}", Cmp::ALL.map(|(_, n)| n).join(", ")))
    }
}

impl OpDef for Compare {
    const NAME: &'static str = "compare";

    fn arity(&self) -> Arity {
        Arity::exactly(2)
    }

    fn infer(&self, cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        let (a, b) = (ins[0].tensor()?, ins[1].tensor()?);
        if a.dtype != b.dtype {
            return Err(Mismatch::new(format!("operands have element types {} and {}", a.dtype, b.dtype)));
        }
        let ordered = a.dtype.is_float() || a.dtype.is_int();
        if !ordered && !matches!(self.cmp, Cmp::Eq | Cmp::Ne) {
            return Err(Mismatch::new(format!("{} isn't defined on {}", self.cmp.name(), a.dtype)));
        }
        Ok(vec![Type::tensor(DType::Bool, cx.broadcast_shapes(&[&a.shape, &b.shape])?)])
    }

    fn elems(&self, ins: &[Fact], out: &TensorType) -> Option<Vec<Dim>> {
        let shape = out.static_shape()?;
        let a = super::binary::broadcast_elems(&ins[0], &shape)?;
        let b = super::binary::broadcast_elems(&ins[1], &shape)?;
        let (one, zero) = (Dim::from(1), Dim::from(0));
        Some(a.iter().zip(&b).map(|(a, b)| Dim::select(self.cmp, a, b, &one, &zero)).collect())
    }

    fn eval(&self, cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let (dtype, shape) = cx.out(0)?;
        let (a, b) = (broadcast_to(ins[0].tensor(), &shape), broadcast_to(ins[1].tensor(), &shape));
        let bits: Vec<bool> = match a.dtype() {
            DType::String => a.strings().iter().zip(b.strings()).map(|(a, b)| self.cmp.holds(a, b)).collect(),
            d if d.is_float() => {
                a.floats().iter().zip(b.floats()).map(|(a, b)| self.cmp.holds(*a, b)).collect()
            }
            _ => a.ints().iter().zip(b.ints()).map(|(a, b)| self.cmp.holds(*a, b)).collect(),
        };
        Ok(vec![Value::Tensor(Tensor::from_ints(dtype, shape, bits.into_iter().map(i128::from)))])
    }

    fn is_elementwise(&self) -> bool {
        true
    }
}
