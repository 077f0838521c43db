//! Shorthands for the IR operators that import functions use most.

use tcc_ir::ops::{Binary, BinaryKind, Compare, Reshape, Sizes, Unary, UnaryKind};
use tcc_ir::{Cmp, DType, Dim, Tensor, ValueId};

use super::node::{NodeCx, Result};

impl NodeCx<'_, '_> {
    pub fn unary(&mut self, kind: UnaryKind, x: ValueId) -> Result<ValueId> {
        self.add(Unary { kind }, &[x])
    }

    pub fn binary(&mut self, kind: BinaryKind, a: ValueId, b: ValueId) -> Result<ValueId> {
        self.add(Binary { kind }, &[a, b])
    }

    /// `kind` applied to `x` and a scalar of its type.
    pub fn binary_scalar(&mut self, kind: BinaryKind, x: ValueId, scalar: f64) -> Result<ValueId> {
        let scalar = self.scalar(self.dtype(x)?, scalar);
        self.binary(kind, x, scalar)
    }

    pub fn compare(&mut self, cmp: Cmp, a: ValueId, b: ValueId) -> Result<ValueId> {
        self.add(Compare { cmp }, &[a, b])
    }

    /// A constant of any numeric type without dims.
    pub fn scalar(&mut self, dtype: DType, value: f64) -> ValueId {
        self.constant(Tensor::scalar(dtype, value))
    }

    pub fn reshape(&mut self, x: ValueId, dims: Vec<Dim>) -> Result<ValueId> {
        self.add(Reshape { dims }, &[x])
    }

    /// Sizes as an i64 vector.
    pub fn sizes(&mut self, elems: Vec<Dim>) -> Result<ValueId> {
        self.add(Sizes { dtype: DType::I64, shape: vec![elems.len()], elems }, &[])
    }
}
