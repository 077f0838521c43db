//! Values that don't live in plain memory: string tensors, sequences and optionals.

use crate::package::DType;

/// A tensor that owns its elements.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    pub dtype: DType,
    pub shape: Vec<i64>,
    pub data: Data,
}

/// A tensor's elements in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Elements of plain types, in the machine's byte order.
    Bytes(Vec<u8>),
    Strings(Vec<String>),
}

/// A string tensor, a sequence or an optional.
#[derive(Clone, Debug, PartialEq)]
pub enum Object {
    Tensor(Tensor),
    Sequence(Vec<Tensor>),
    Optional(Option<Box<Object>>),
}

impl Tensor {
    /// A tensor of strings. The shape must have as many elements as there are strings.
    pub fn strings(shape: Vec<i64>, strings: Vec<String>) -> Tensor {
        debug_assert_eq!(element_count(&shape), Some(strings.len()));
        Tensor { dtype: DType::String, shape, data: Data::Strings(strings) }
    }

    /// A tensor of a plain type. The bytes must be those of the shape's elements.
    pub fn plain(dtype: DType, shape: Vec<i64>, bytes: Vec<u8>) -> Tensor {
        debug_assert_eq!(element_count(&shape).map(|n| n * dtype.size()), Some(bytes.len()));
        Tensor { dtype, shape, data: Data::Bytes(bytes) }
    }

    pub fn as_strings(&self) -> Option<&[String]> {
        match &self.data {
            Data::Strings(strings) => Some(strings),
            Data::Bytes(_) => None,
        }
    }

    pub fn as_bytes(&self) -> Option<&[u8]> {
        match &self.data {
            Data::Bytes(bytes) => Some(bytes),
            Data::Strings(_) => None,
        }
    }

    /// Whether shape, type and data agree.
    pub(crate) fn is_consistent(&self) -> bool {
        let Some(count) = element_count(&self.shape) else { return false };
        match &self.data {
            Data::Bytes(bytes) => {
                self.dtype != DType::String && count.checked_mul(self.dtype.size()) == Some(bytes.len())
            }
            Data::Strings(strings) => self.dtype == DType::String && strings.len() == count,
        }
    }
}

/// Elements of a shape; `None` when a dim is negative or there are too many.
pub(crate) fn element_count(shape: &[i64]) -> Option<usize> {
    shape.iter().try_fold(1usize, |count, &dim| count.checked_mul(usize::try_from(dim).ok()?))
}
