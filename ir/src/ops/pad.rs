//! Elements added around a tensor.

use super::broadcast::strides;
use super::indexing::{
    AxisMap, check_entries, check_same_dtype, known_dim, pick_elems, select_by_sign, walk,
};
use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::{Tensor, Value};
use crate::types::{Cmp, Dim, TensorType, Type};

crate::attr_enum! {
    /// What padding is filled with.
    pub enum PadMode {
        /// The value operand.
        Constant = "constant",
        /// The tensor mirrored at its first and last element, which aren't repeated; again and again when needed.
        Reflect = "reflect",
        /// The nearest element of the tensor.
        Edge = "edge",
        /// The tensor from its other end.
        Wrap = "wrap",
    }
}

crate::attrs! {
    /// Inputs: x of any element type and the fill value, a scalar of x's type (used by `constant` only). Adds
    /// `before[i]` elements in front of axis `i` and `after[i]` behind it. Negative counts crop; cropping comes
    /// first, so that the other modes fill from what is left of the axis, which must then not be empty.
    pub struct Pad { pub before: Vec<Dim>, pub after: Vec<Dim>, pub mode: PadMode }
}

impl OpDef for Pad {
    const NAME: &'static str = "pad";

    fn arity(&self) -> Arity {
        Arity::exactly(2)
    }

    fn infer(&self, cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        let (x, value) = (ins[0].tensor()?, ins[1].tensor()?);
        check_same_dtype(x.dtype, value.dtype)?;
        if value.rank() != 0 {
            return Err(Mismatch::new(format!("the fill value must be a scalar, not {value}")));
        }
        check_entries("counts `before`", self.before.len(), x.rank())?;
        check_entries("counts `after`", self.after.len(), x.rank())?;
        let (zero, one) = (Dim::from(0), Dim::from(1));
        let mut shape = Vec::with_capacity(x.rank());
        for (axis, extent) in x.shape.iter().enumerate() {
            let (before, after) = (&self.before[axis], &self.after[axis]);
            let out = before.clone() + extent.clone() + after.clone();
            cx.require(Cmp::Ge, &out, &zero, &format!("padding crops more than axis {axis} has"))?;
            if self.mode != PadMode::Constant && !(before.is_const(0) && after.is_const(0)) {
                let left = extent.clone() + before.minimum(&zero) + after.minimum(&zero);
                let what = format!("{} padding has nothing to fill axis {axis} from", self.mode.name());
                cx.require(Cmp::Ge, &select_by_sign(Cmp::Gt, &out, &left, &one), &one, &what)?;
            }
            shape.push(out);
        }
        Ok(vec![Type::tensor(x.dtype, shape)])
    }

    fn elems(&self, ins: &[Fact], _out: &TensorType) -> Option<Vec<Dim>> {
        let x = ins[0].ty.as_tensor()?.static_shape()?;
        pick_elems(ins, places(self.maps(&x, &known_dim).ok()?))
    }

    fn eval(&self, cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let (_, shape) = cx.out(0)?;
        let (x, value) = (ins[0].tensor(), ins[1].tensor());
        let maps = self.maps(x.shape(), &|d| cx.dim(d))?;
        Ok(vec![Tensor::pick(&[x, value], shape, places(maps)).into()])
    }
}

/// From the tensor inside, from the fill value (operand 1) outside.
fn places(maps: Vec<AxisMap>) -> impl Iterator<Item = (usize, usize)> {
    walk(maps).map(|p| p.map_or((1, 0), |p| (0, p)))
}

impl Pad {
    fn maps(
        &self,
        x: &[usize],
        dim: &dyn Fn(&Dim) -> Result<i64, EvalError>,
    ) -> Result<Vec<AxisMap>, EvalError> {
        let own = strides(x);
        (0..x.len())
            .map(|a| {
                let (before, after) = (i128::from(dim(&self.before[a])?), i128::from(dim(&self.after[a])?));
                let sources = self.mode.axis_sources(x[a], before, after)?;
                Ok(sources.into_iter().map(|s| s.map(|s| s * own[a])).collect())
            })
            .collect()
    }
}

impl PadMode {
    /// For each index along a padded axis, the index that it comes from; None: the fill value.
    fn axis_sources(self, extent: usize, before: i128, after: i128) -> Result<Vec<Option<usize>>, EvalError> {
        let (first, end) = ((-before).max(0), extent as i128 + after.min(0));
        let left = end - first;
        let out = extent as i128 + before + after;
        if self != PadMode::Constant && left < 1 && out > 0 {
            let what = format!("{} padding of an axis without elements", self.name());
            return Err(EvalError::new(what));
        }
        let source = |i: i128| {
            let at = i - before - first;
            let inside = match self {
                PadMode::Constant => return (0..left).contains(&at).then_some(at + first),
                PadMode::Edge => at.clamp(0, left - 1),
                PadMode::Wrap => at.rem_euclid(left),
                PadMode::Reflect if left == 1 => 0,
                PadMode::Reflect => {
                    let at = at.rem_euclid(2 * (left - 1));
                    at.min(2 * (left - 1) - at)
                }
            };
            Some(inside + first)
        };
        Ok((0..out).map(|i| source(i).map(|s| s as usize)).collect())
    }
}
