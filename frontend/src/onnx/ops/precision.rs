//! In which type an operator that is several steps of arithmetic computes: what is narrower than f32 is widened
//! first and rounded once at the end.

use tcc_ir::ops::{BinaryKind, UnaryKind};
use tcc_ir::{Cmp, DType, ValueId};

use crate::onnx::node::{NodeCx, Result};

/// The float type to compute in for elements of type `dtype`: f64 for f64 and integers, else f32.
pub(super) fn compute_type(dtype: DType) -> DType {
    if dtype == DType::F64 || dtype.is_int() { DType::F64 } else { DType::F32 }
}

/// `f` of `x` in the type to compute in, as `x`'s own type.
pub(super) fn in_compute_type(
    cx: &mut NodeCx,
    x: ValueId,
    f: impl FnOnce(&mut NodeCx, ValueId) -> Result<ValueId>,
) -> Result<ValueId> {
    let dtype = cx.dtype(x)?;
    let wide = cx.cast(x, compute_type(dtype))?;
    let y = f(cx, wide)?;
    cx.cast(y, dtype)
}

/// Short names for arithmetic on values of one type, which composite operators are written in.
impl NodeCx<'_, '_> {
    pub(super) fn plus(&mut self, a: ValueId, b: ValueId) -> Result<ValueId> {
        self.binary(BinaryKind::Add, a, b)
    }

    pub(super) fn minus(&mut self, a: ValueId, b: ValueId) -> Result<ValueId> {
        self.binary(BinaryKind::Sub, a, b)
    }

    pub(super) fn times(&mut self, a: ValueId, b: ValueId) -> Result<ValueId> {
        self.binary(BinaryKind::Mul, a, b)
    }

    pub(super) fn over(&mut self, a: ValueId, b: ValueId) -> Result<ValueId> {
        self.binary(BinaryKind::Div, a, b)
    }

    /// `x + number`; itself for 0.
    pub(super) fn plus_scalar(&mut self, x: ValueId, number: f64) -> Result<ValueId> {
        if number == 0.0 { Ok(x) } else { self.binary_scalar(BinaryKind::Add, x, number) }
    }

    /// `x * number`; itself for 1.
    pub(super) fn times_scalar(&mut self, x: ValueId, number: f64) -> Result<ValueId> {
        if number == 1.0 { Ok(x) } else { self.binary_scalar(BinaryKind::Mul, x, number) }
    }

    /// `x <cmp> number`.
    pub(super) fn compare_scalar(&mut self, cmp: Cmp, x: ValueId, number: f64) -> Result<ValueId> {
        let number = self.scalar(self.dtype(x)?, number)?;
        self.compare(cmp, x, number)
    }

    /// `x` times itself.
    pub(super) fn square(&mut self, x: ValueId) -> Result<ValueId> {
        self.times(x, x)
    }

    /// `1 / sqrt(x + epsilon)`.
    pub(super) fn inverse_root(&mut self, x: ValueId, epsilon: f64) -> Result<ValueId> {
        let shifted = self.plus_scalar(x, epsilon)?;
        let root = self.unary(UnaryKind::Sqrt, shifted)?;
        self.unary(UnaryKind::Reciprocal, root)
    }
}
