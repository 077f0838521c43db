//! A regular part of a tensor.

use super::broadcast::strides;
use super::indexing::{AxisMap, check_entries, known_dim, pick_elems, select_by_sign, walk_inside};
use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::Value;
use crate::types::{Cmp, Dim, TensorType, Type};

crate::attrs! {
    /// Part of the input, of any element type: along each axis, element `i` of `sizes` is the input's element
    /// `start + i * step`. One entry an axis, already normalised: starts count from the front, and every element
    /// that is taken lies inside the input. Steps may be negative (or 0: the same element again).
    pub struct Slice { pub starts: Vec<Dim>, pub sizes: Vec<Dim>, pub steps: Vec<Dim> }
}

impl OpDef for Slice {
    const NAME: &'static str = "slice";

    fn arity(&self) -> Arity {
        Arity::exactly(1)
    }

    fn infer(&self, cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        let x = ins[0].tensor()?;
        check_entries("starts", self.starts.len(), x.rank())?;
        check_entries("sizes", self.sizes.len(), x.rank())?;
        check_entries("steps", self.steps.len(), x.rank())?;
        for (axis, extent) in x.shape.iter().enumerate() {
            self.check_inside(cx, axis, extent)?;
        }
        Ok(vec![Type::tensor(x.dtype, &self.sizes)])
    }

    fn elems(&self, ins: &[Fact], _out: &TensorType) -> Option<Vec<Dim>> {
        let x = ins[0].ty.as_tensor()?.static_shape()?;
        let maps = self.maps(&x, &known_dim).ok()?;
        pick_elems(ins, walk_inside(maps).map(|p| (0, p)))
    }

    fn eval(&self, cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let (_, shape) = cx.out(0)?;
        let x = ins[0].tensor();
        let maps = self.maps(x.shape(), &|d| cx.dim(d))?;
        Ok(vec![x.gather_linear(shape, walk_inside(maps)).into()])
    }
}

impl Slice {
    /// The first and the last element taken must lie inside the axis, unless none is taken.
    fn check_inside(&self, cx: &mut InferCx, axis: usize, extent: &Dim) -> Result<(), Mismatch> {
        let (zero, one) = (Dim::from(0), Dim::from(1));
        let (start, size, step) = (&self.starts[axis], &self.sizes[axis], &self.steps[axis]);
        let what = format!("a slice leaves axis {axis} of extent {extent}");
        cx.require(Cmp::Ge, size, &zero, "the size of a slice is negative")?;
        let last = start.clone() + (size.clone() - one.clone()) * step.clone();
        let (first, last) = match Dim::compare(Cmp::Ge, step, &zero) {
            Some(true) => (start.clone(), last),
            Some(false) => (last, start.clone()),
            None => (start.minimum(&last), start.maximum(&last)),
        };
        // Mostly it holds for empty slices too: the plain form is easier to prove and cheaper to check.
        let end = last + one;
        if Dim::compare(Cmp::Ge, &first, &zero) != Some(true) {
            cx.require(Cmp::Ge, &select_by_sign(Cmp::Gt, size, &first, &zero), &zero, &what)?;
        }
        if Dim::compare(Cmp::Le, &end, extent) != Some(true) {
            cx.require(Cmp::Le, &select_by_sign(Cmp::Gt, size, &end, &zero), extent, &what)?;
        }
        Ok(())
    }

    fn maps(
        &self,
        x: &[usize],
        dim: &dyn Fn(&Dim) -> Result<i64, EvalError>,
    ) -> Result<Vec<AxisMap>, EvalError> {
        let own = strides(x);
        (0..x.len())
            .map(|a| {
                let (start, step) = (i128::from(dim(&self.starts[a])?), i128::from(dim(&self.steps[a])?));
                (0..dim(&self.sizes[a])?)
                    .map(|i| {
                        let at = start + i128::from(i) * step;
                        let inside = usize::try_from(at).ok().filter(|at| *at < x[a]);
                        inside.map(|at| Some(at * own[a])).ok_or_else(|| {
                            EvalError::new(format!("a slice takes index {at} of an axis of extent {}", x[a]))
                        })
                    })
                    .collect()
            })
            .collect()
    }
}
