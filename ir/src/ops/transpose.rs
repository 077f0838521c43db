//! Reordering of axes.

use super::broadcast::strides;
use super::indexing::{AxisMap, check_entries, kept_axis, pick_elems, walk_inside};
use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::Value;
use crate::types::{Dim, TensorType, Type};

crate::attrs! {
    /// Axis `i` of the output is axis `perm[i]` of the input. `perm` is a permutation of all axes. Any element type.
    pub struct Transpose { pub perm: Vec<usize> }
}

impl OpDef for Transpose {
    const NAME: &'static str = "transpose";

    fn arity(&self) -> Arity {
        Arity::exactly(1)
    }

    fn infer(&self, _cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        let x = ins[0].tensor()?;
        check_entries("axes in `perm`", self.perm.len(), x.rank())?;
        let mut sorted = self.perm.clone();
        sorted.sort_unstable();
        if sorted.into_iter().ne(0..x.rank()) {
            return Err(Mismatch::new(format!("{:?} is no permutation of {} axes", self.perm, x.rank())));
        }
        Ok(vec![Type::tensor(x.dtype, self.perm.iter().map(|a| &x.shape[*a]))])
    }

    fn elems(&self, ins: &[Fact], _out: &TensorType) -> Option<Vec<Dim>> {
        let x = ins[0].ty.as_tensor()?.static_shape()?;
        pick_elems(ins, walk_inside(self.maps(&x)).map(|p| (0, p)))
    }

    fn eval(&self, cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let (_, shape) = cx.out(0)?;
        let x = ins[0].tensor();
        Ok(vec![x.gather_linear(shape, walk_inside(self.maps(x.shape()))).into()])
    }
}

impl Transpose {
    fn maps(&self, x: &[usize]) -> Vec<AxisMap> {
        let own = strides(x);
        self.perm.iter().map(|a| kept_axis(x[*a], own[*a])).collect()
    }
}
