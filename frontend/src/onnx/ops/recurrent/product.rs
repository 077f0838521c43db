//! The products of inputs and states with weights: of floats, or of integers that the left operand is quantised
//! to as it comes.

use tcc_ir::ops::{BinaryKind, Contract, Reduce, ReduceKind, UnaryKind};
use tcc_ir::{Cmp, DType, Dim, ValueId};

use crate::onnx::node::{NodeCx, Result};

/// The weights of one direction: [gates * hidden, depth].
#[derive(Clone, Copy)]
pub(super) struct Weights {
    pub values: ValueId,
    /// Of quantised weights: `values` are i32 with the zero points taken off already, and what one of them stands
    /// for (f32, for all or one a row).
    pub scale: Option<ValueId>,
}

impl Weights {
    /// `x` times the transposed weights, along the last axis of `x`.
    pub fn product(self, cx: &mut NodeCx, x: ValueId) -> Result<ValueId> {
        let axis = cx.rank(x)? - 1;
        let contract =
            |out| Contract { lhs_batch: vec![], rhs_batch: vec![], lhs: vec![axis], rhs: vec![1], out };
        let Some(scale) = self.scale else {
            let dtype = cx.dtype(x)?;
            return cx.add(contract(dtype), &[x, self.values]);
        };
        let (x, x_scale) = quantise(cx, x)?;
        let sum = cx.add(contract(DType::I32), &[x, self.values])?;
        let sum = cx.cast(sum, DType::F32)?;
        let scale = cx.binary(BinaryKind::Mul, x_scale, scale)?;
        cx.binary(BinaryKind::Mul, sum, scale)
    }

    /// The weights of some gates alone.
    pub fn rows(self, cx: &mut NodeCx, first: Dim, count: Dim) -> Result<Weights> {
        let scale = match self.scale {
            Some(scale) if cx.rank(scale)? == 1 => {
                Some(cx.slice_axis(scale, 0, first.clone(), count.clone())?)
            }
            scale => scale,
        };
        Ok(Weights { values: cx.slice_axis(self.values, 0, first, count)?, scale })
    }
}

/// f32 values as integers from the zero point (i32), and their scale: 0 and the extremes of the whole tensor fit
/// into 8 unsigned bits.
fn quantise(cx: &mut NodeCx, x: ValueId) -> Result<(ValueId, ValueId)> {
    let axes: Vec<usize> = (0..cx.rank(x)?).collect();
    let mut extreme = |kind: ReduceKind, with_zero: BinaryKind| {
        let extreme = cx.add(Reduce { kind, axes: axes.clone(), keepdims: false }, &[x])?;
        cx.binary_scalar(with_zero, extreme, 0.0)
    };
    let low = extreme(ReduceKind::Min, BinaryKind::Min)?;
    let high = extreme(ReduceKind::Max, BinaryKind::Max)?;
    let range = cx.binary(BinaryKind::Sub, high, low)?;
    let scale = cx.binary_scalar(BinaryKind::Div, range, 255.0)?;
    let (zero, one) = (cx.scalar(DType::F32, 0.0)?, cx.scalar(DType::F32, 1.0)?);
    let is_flat = cx.compare(Cmp::Eq, low, high)?;
    let scale = cx.select(is_flat, one, scale)?;
    let offset = cx.binary(BinaryKind::Div, low, scale)?;
    let offset = cx.binary(BinaryKind::Sub, zero, offset)?;
    let zero_point = to_byte(cx, offset)?;
    let steps = cx.binary(BinaryKind::Div, x, scale)?;
    let steps = cx.unary(UnaryKind::Round, steps)?;
    let shifted = cx.binary(BinaryKind::Add, steps, zero_point)?;
    let quantised = to_byte(cx, shifted)?;
    let quantised = cx.binary(BinaryKind::Sub, quantised, zero_point)?;
    Ok((cx.cast(quantised, DType::I32)?, scale))
}

/// Rounded to 0..=255, still as a float.
fn to_byte(cx: &mut NodeCx, x: ValueId) -> Result<ValueId> {
    let above = cx.binary_scalar(BinaryKind::Max, x, 0.0)?;
    let inside = cx.binary_scalar(BinaryKind::Min, above, 255.0)?;
    cx.unary(UnaryKind::Round, inside)
}
