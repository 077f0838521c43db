//! What a value can be: element type, symbolic dims, tensor, sequence and optional types.

mod dim;
mod dtype;
mod float8;
#[cfg(test)]
mod tests;

pub use dim::{Atom, Cmp, Dim, DimError, Symbol};
pub use dtype::DType;

use std::fmt;

/// The extents of a tensor, outermost axis first. Its length is the rank.
pub type Shape = Vec<Dim>;

/// Element type and shape of a dense, row-major tensor.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TensorType {
    pub dtype: DType,
    pub shape: Shape,
}

impl TensorType {
    pub fn new(dtype: DType, shape: impl IntoIterator<Item = impl Into<Dim>>) -> Self {
        TensorType { dtype, shape: shape.into_iter().map(Into::into).collect() }
    }

    pub fn scalar(dtype: DType) -> Self {
        TensorType { dtype, shape: Vec::new() }
    }

    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Product of the extents.
    pub fn n_elements(&self) -> Dim {
        Dim::product(self.shape.iter().cloned())
    }

    /// Size in bytes as stored (sub-byte elements take one byte each).
    pub fn n_bytes(&self) -> Dim {
        self.n_elements() * Dim::from(self.dtype.size() as i64)
    }

    /// The extents when all of them are constants.
    pub fn static_shape(&self) -> Option<Vec<usize>> {
        self.shape.iter().map(|d| d.as_const().and_then(|c| usize::try_from(c).ok())).collect()
    }
}

/// The type of a graph value.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Type {
    Tensor(TensorType),
    /// A list of values of one element type (shapes may differ from element to element).
    Sequence(Box<Type>),
    Optional(Box<Type>),
    /// An element of a sequence or optional whose shape is not known, not even its rank.
    Unranked(DType),
}

impl Type {
    pub fn tensor(dtype: DType, shape: impl IntoIterator<Item = impl Into<Dim>>) -> Self {
        Type::Tensor(TensorType::new(dtype, shape))
    }

    pub fn as_tensor(&self) -> Option<&TensorType> {
        match self {
            Type::Tensor(t) => Some(t),
            Type::Sequence(_) | Type::Optional(_) | Type::Unranked(_) => None,
        }
    }

    /// Applies `f` to every dim of the type.
    pub fn map_dims(&mut self, f: &mut dyn FnMut(&Dim) -> Dim) {
        match self {
            Type::Tensor(t) => t.shape.iter_mut().for_each(|d| *d = f(d)),
            Type::Sequence(e) | Type::Optional(e) => e.map_dims(f),
            Type::Unranked(_) => {}
        }
    }
}

impl From<TensorType> for Type {
    fn from(t: TensorType) -> Self {
        Type::Tensor(t)
    }
}

impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.dtype)?;
        let dims: Vec<String> = self.shape.iter().map(Dim::to_string).collect();
        if dims.is_empty() { Ok(()) } else { write!(f, "[{}]", dims.join(", ")) }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Tensor(t) => t.fmt(f),
            Type::Sequence(e) => write!(f, "seq<{e}>"),
            Type::Optional(e) => write!(f, "opt<{e}>"),
            Type::Unranked(d) => write!(f, "{d}[*]"),
        }
    }
}
