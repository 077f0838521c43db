//! Arithmetic and logic on two tensors of one type.

use super::broadcast::broadcast_to;
use super::scalar::BinaryKind;
use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::{Tensor, Value};
use crate::types::{Cmp, DType, Dim, TensorType, Type};

crate::attrs! {
    /// `y = kind(a, b)`, elementwise with multidirectional broadcasting. Both operands have one element type.
    /// Floats round once; integers wrap.
    pub struct Binary { pub kind: BinaryKind }
}

impl OpDef for Binary {
    const NAME: &'static str = "binary";

    fn arity(&self) -> Arity {
        Arity::exactly(2)
    }

    fn infer(&self, cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        let (a, b) = (ins[0].tensor()?, ins[1].tensor()?);
        if a.dtype != b.dtype {
            return Err(Mismatch::new(format!("operands have element types {} and {}", a.dtype, b.dtype)));
        }
        let allowed = match a.dtype {
            d if d.is_float() => self.kind.takes_floats(),
            DType::Bool => matches!(
                self.kind,
                BinaryKind::And | BinaryKind::Or | BinaryKind::Xor | BinaryKind::Max | BinaryKind::Min
            ),
            d => d.is_int(),
        };
        if !allowed {
            return Err(Mismatch::new(format!("{} isn't defined on {}", self.kind.name(), a.dtype)));
        }
        Ok(vec![Type::tensor(a.dtype, cx.broadcast_shapes(&[&a.shape, &b.shape])?)])
    }

    fn elems(&self, ins: &[Fact], out: &TensorType) -> Option<Vec<Dim>> {
        let shape = out.static_shape()?;
        let a = broadcast_elems(&ins[0], &shape)?;
        let b = broadcast_elems(&ins[1], &shape)?;
        a.iter().zip(&b).map(|(a, b)| self.symbolic(out.dtype, a, b)).collect()
    }

    fn eval(&self, cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let (dtype, shape) = cx.out(0)?;
        let (a, b) = (broadcast_to(ins[0].tensor(), &shape), broadcast_to(ins[1].tensor(), &shape));
        Ok(vec![Value::Tensor(if dtype.is_float() {
            Tensor::from_floats(
                dtype,
                shape,
                a.floats().iter().zip(b.floats()).map(|(a, b)| self.kind.float(*a, b)),
            )
        } else {
            Tensor::from_ints(
                dtype,
                shape,
                a.ints().iter().zip(b.ints()).map(|(a, b)| self.kind.int(dtype, *a, b)),
            )
        })])
    }

    fn is_elementwise(&self) -> bool {
        true
    }
}

impl Binary {
    /// An element, before it is wrapped.
    fn symbolic(&self, dtype: DType, a: &Dim, b: &Dim) -> Option<Dim> {
        let (a, b) = (a.clone(), b.clone());
        match self.kind {
            BinaryKind::Add => Some(a + b),
            BinaryKind::Sub => Some(a - b),
            BinaryKind::Mul => Some(a * b),
            BinaryKind::Max => Some(a.maximum(&b)),
            BinaryKind::Min => Some(a.minimum(&b)),
            // Truncating and flooring agree on non-negative numbers.
            BinaryKind::Div if nonnegative(&a) && positive(&b) => Some(a.floor_div(&b)),
            BinaryKind::Mod if positive(&b) => Some(a.modulo(&b)),
            _ => match (a.as_const(), b.as_const()) {
                (Some(x), Some(y)) => {
                    i64::try_from(self.kind.int(dtype, x.into(), y.into())).ok().map(Dim::from)
                }
                _ => None,
            },
        }
    }
}

fn nonnegative(d: &Dim) -> bool {
    Dim::compare(Cmp::Ge, d, &Dim::from(0)) == Some(true)
}

fn positive(d: &Dim) -> bool {
    Dim::compare(Cmp::Gt, d, &Dim::from(0)) == Some(true)
}

/// The symbolic elements of an operand, broadcast to `shape`; those of a constant are read from it.
pub(super) fn broadcast_elems(fact: &Fact, shape: &[usize]) -> Option<Vec<Dim>> {
    let own = fact.ty.as_tensor()?.static_shape()?;
    let elems = fact_elems(fact)?;
    Some(super::broadcast::broadcast_positions(&own, shape).into_iter().map(|p| elems[p].clone()).collect())
}

/// The symbolic elements of a small integer operand, if they are known.
pub(super) fn fact_elems(fact: &Fact) -> Option<Vec<Dim>> {
    match (fact.elems, fact.constant) {
        (Some(elems), _) => Some(elems.to_vec()),
        (None, Some(c))
            if (c.dtype().is_int() || c.dtype() == DType::Bool)
                && c.n_elements() <= crate::graph::MAX_ELEMS =>
        {
            c.ints().into_iter().map(|v| i64::try_from(v).ok().map(Dim::from)).collect()
        }
        _ => None,
    }
}
