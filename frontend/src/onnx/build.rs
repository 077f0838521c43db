//! Shorthands for the IR operators that import functions use most.

use tcc_ir::graph::Check;
use tcc_ir::ops::{
    Binary, BinaryKind, Broadcast, Cast, Compare, Concat, Gather, Iota, Reshape, Select, Sizes, Slice,
    Transpose, Unary, UnaryKind,
};
use tcc_ir::{Cmp, DType, Dim, Tensor, ValueId};

use super::node::{ImportError, NodeCx, Result};

impl NodeCx<'_, '_> {
    pub fn unary(&mut self, kind: UnaryKind, x: ValueId) -> Result<ValueId> {
        self.add(Unary { kind }, &[x])
    }

    pub fn binary(&mut self, kind: BinaryKind, a: ValueId, b: ValueId) -> Result<ValueId> {
        self.add(Binary { kind }, &[a, b])
    }

    /// `kind` applied to `x` and a scalar of its type.
    pub fn binary_scalar(&mut self, kind: BinaryKind, x: ValueId, scalar: f64) -> Result<ValueId> {
        let scalar = self.scalar(self.dtype(x)?, scalar)?;
        self.binary(kind, x, scalar)
    }

    pub fn compare(&mut self, cmp: Cmp, a: ValueId, b: ValueId) -> Result<ValueId> {
        self.add(Compare { cmp }, &[a, b])
    }

    /// A constant of any type of real numbers without dims.
    pub fn scalar(&mut self, dtype: DType, value: f64) -> Result<ValueId> {
        if dtype == DType::String || dtype.is_complex() {
            return Err(ImportError::invalid(format!("numbers are expected, not {dtype}")));
        }
        Ok(self.constant(Tensor::scalar(dtype, value)))
    }

    pub fn reshape(&mut self, x: ValueId, dims: Vec<Dim>) -> Result<ValueId> {
        self.add(Reshape { dims }, &[x])
    }

    /// Sizes as an i64 vector.
    pub fn sizes(&mut self, elems: Vec<Dim>) -> Result<ValueId> {
        self.add(Sizes { dtype: DType::I64, shape: vec![elems.len()], elems }, &[])
    }

    /// The zero of any element type: false, the empty string.
    pub fn zero(&mut self, dtype: DType) -> ValueId {
        let zero = match dtype {
            DType::String => Tensor::from_strings(vec![], vec![String::new()]),
            _ => Tensor::from_bytes(dtype, vec![], vec![0; dtype.size()].into()).expect("one element"),
        };
        self.constant(zero)
    }

    pub fn select(&mut self, cond: ValueId, a: ValueId, b: ValueId) -> Result<ValueId> {
        self.add(Select {}, &[cond, a, b])
    }

    /// `x` as `to`, with the default rules; itself where it is that already.
    pub fn cast(&mut self, x: ValueId, to: DType) -> Result<ValueId> {
        if self.dtype(x)? == to { Ok(x) } else { self.add(Cast { to, saturate: true }, &[x]) }
    }

    pub fn broadcast(&mut self, x: ValueId, dims: Vec<Dim>) -> Result<ValueId> {
        if self.shape(x)? == dims { Ok(x) } else { self.add(Broadcast { dims }, &[x]) }
    }

    pub fn transpose(&mut self, x: ValueId, perm: Vec<usize>) -> Result<ValueId> {
        self.add(Transpose { perm }, &[x])
    }

    /// The extent of an axis.
    pub fn extent(&self, x: ValueId, axis: usize) -> Result<Dim> {
        let dims = self.shape(x)?;
        let rank = dims.len();
        dims.into_iter().nth(axis).ok_or_else(|| {
            ImportError::invalid(format!("an operand has rank {rank}, it needs {} or more", axis + 1))
        })
    }

    /// The elements from `start` on along one axis, `size` of them.
    pub fn slice_axis(&mut self, x: ValueId, axis: usize, start: Dim, size: Dim) -> Result<ValueId> {
        self.extent(x, axis)?;
        let mut sizes = self.shape(x)?;
        let mut starts = vec![Dim::from(0); sizes.len()];
        let steps = vec![Dim::from(1); sizes.len()];
        (starts[axis], sizes[axis]) = (start, size);
        self.add(Slice { starts, sizes, steps }, &[x])
    }

    pub fn concat(&mut self, parts: &[ValueId], axis: usize) -> Result<ValueId> {
        self.add(Concat { axis }, parts)
    }

    pub fn gather(&mut self, x: ValueId, indices: ValueId, axis: usize) -> Result<ValueId> {
        self.add(Gather { axis }, &[x, indices])
    }

    /// The positions 0, 1... as a vector.
    pub fn iota(&mut self, size: Dim, dtype: DType) -> Result<ValueId> {
        self.add(Iota { dims: vec![size], axis: 0, dtype }, &[])
    }

    /// A tensor of one element without dims, whatever its rank.
    pub fn to_scalar(&mut self, x: ValueId, what: &str) -> Result<ValueId> {
        let ty = self.tensor_type(x)?;
        match ty.static_shape() {
            Some(shape) if shape.is_empty() => Ok(x),
            Some(shape) if shape.iter().all(|&dim| dim == 1) => self.reshape(x, vec![]),
            _ => Err(ImportError::invalid(format!("{what} must have one element, not {ty}"))),
        }
    }

    /// The single element of an integer tensor as a size.
    pub fn scalar_dim(&mut self, x: ValueId, what: &str) -> Result<Dim> {
        match &self.elems(x)?[..] {
            [elem] => Ok(elem.clone()),
            elems => Err(ImportError::invalid(format!("{what} must have one element, not {}", elems.len()))),
        }
    }

    /// Requires a relation of sizes: refused where it can't hold, checked before the node that gives `value` runs
    /// where that isn't known.
    pub fn require(&mut self, value: ValueId, cmp: Cmp, a: &Dim, b: &Dim, message: &str) -> Result<()> {
        match (Dim::compare(cmp, a, b), self.region.graph.producer(value)) {
            (Some(true), _) => Ok(()),
            (None, Some((node, _))) => {
                let check = Check { cmp, a: a.clone(), b: b.clone(), message: message.to_owned() };
                self.region.graph.add_checks(node, [check]);
                Ok(())
            }
            (Some(false), _) | (None, None) => {
                Err(ImportError::invalid(format!("{message} ({a} against {b})")))
            }
        }
    }
}
