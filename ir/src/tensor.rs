//! Concrete values: dense tensors, sequences and optionals. Used for constants and by the reference evaluator.

use crate::types::{DType, TensorType, Type};
use bytes::Bytes;
use std::fmt;
use std::hash::{Hash, Hasher};

/// A dense row-major tensor with its elements in little-endian bytes (sub-byte types: one element a byte).
///
/// Cloning shares the data. Equality and order compare bits, so NaN equals itself and -0.0 differs from 0.0.
#[derive(Clone)]
pub struct Tensor {
    dtype: DType,
    shape: Vec<usize>,
    data: Data,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Data {
    Bytes(Bytes),
    Strings(Vec<String>),
}

/// Number of elements of a shape; None beyond the address range.
pub fn n_elements(shape: &[usize]) -> Option<usize> {
    shape.iter().try_fold(1usize, |n, d| n.checked_mul(*d))
}

impl Tensor {
    /// Wraps existing bytes (a mapped file, say) without copying.
    ///
    /// # Errors
    /// None when the byte count doesn't fit shape and dtype, or the dtype is `String`.
    pub fn from_bytes(dtype: DType, shape: Vec<usize>, bytes: Bytes) -> Option<Tensor> {
        let want = n_elements(&shape)?.checked_mul(dtype.size())?;
        (dtype != DType::String && want == bytes.len()).then_some(Tensor {
            dtype,
            shape,
            data: Data::Bytes(bytes),
        })
    }

    /// Elements rounded to `dtype` (nearest even).
    ///
    /// # Panics
    /// If `dtype` is no float type or the count differs from the shape's.
    pub fn from_floats(dtype: DType, shape: Vec<usize>, elems: impl IntoIterator<Item = f64>) -> Tensor {
        let mut out = Vec::new();
        elems.into_iter().for_each(|v| dtype.store_float(v, &mut out));
        Tensor::from_bytes(dtype, shape, out.into()).expect("as many elements as the shape says")
    }

    /// Elements wrapped to `dtype` (an integer type or bool).
    ///
    /// # Panics
    /// If the count differs from the shape's.
    pub fn from_ints(dtype: DType, shape: Vec<usize>, elems: impl IntoIterator<Item = i128>) -> Tensor {
        let mut out = Vec::new();
        elems.into_iter().for_each(|v| dtype.store_int(v, &mut out));
        Tensor::from_bytes(dtype, shape, out.into()).expect("as many elements as the shape says")
    }

    /// # Panics
    /// If the count differs from the shape's.
    pub fn from_strings(shape: Vec<usize>, elems: Vec<String>) -> Tensor {
        assert_eq!(n_elements(&shape), Some(elems.len()), "as many elements as the shape says");
        Tensor { dtype: DType::String, shape, data: Data::Strings(elems) }
    }

    pub fn from_i64s(elems: &[i64]) -> Tensor {
        Tensor::from_ints(DType::I64, vec![elems.len()], elems.iter().map(|v| *v as i128))
    }

    pub fn scalar_float(dtype: DType, v: f64) -> Tensor {
        Tensor::from_floats(dtype, Vec::new(), [v])
    }

    pub fn scalar_int(dtype: DType, v: i128) -> Tensor {
        Tensor::from_ints(dtype, Vec::new(), [v])
    }

    /// A scalar of any numeric type.
    pub fn scalar(dtype: DType, v: f64) -> Tensor {
        if dtype.is_float() { Tensor::scalar_float(dtype, v) } else { Tensor::scalar_int(dtype, v as i128) }
    }

    pub fn dtype(&self) -> DType {
        self.dtype
    }

    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    pub fn n_elements(&self) -> usize {
        self.shape.iter().product()
    }

    pub fn tensor_type(&self) -> TensorType {
        TensorType::new(self.dtype, self.shape.iter().copied())
    }

    /// The raw elements; empty for strings.
    pub fn bytes(&self) -> &[u8] {
        match &self.data {
            Data::Bytes(b) => b,
            Data::Strings(_) => &[],
        }
    }

    /// The elements of a string tensor; empty for others.
    pub fn strings(&self) -> &[String] {
        match &self.data {
            Data::Strings(s) => s,
            Data::Bytes(_) => &[],
        }
    }

    /// The elements as f64 (exact for every float type); integers and bools are converted.
    pub fn floats(&self) -> Vec<f64> {
        let (dtype, chunks) = (self.dtype, self.bytes().chunks_exact(self.dtype.size().max(1)));
        if dtype.is_float() {
            chunks.map(|c| dtype.load_float(c)).collect()
        } else {
            chunks.map(|c| dtype.load_int(c) as f64).collect()
        }
    }

    /// The elements of an integer or bool tensor. Floats are truncated toward zero.
    pub fn ints(&self) -> Vec<i128> {
        let (dtype, chunks) = (self.dtype, self.bytes().chunks_exact(self.dtype.size().max(1)));
        if dtype.is_float() {
            chunks.map(|c| dtype.load_float(c) as i128).collect()
        } else {
            chunks.map(|c| dtype.load_int(c)).collect()
        }
    }

    /// The same elements under another shape.
    ///
    /// # Panics
    /// If the element counts differ.
    pub fn reshaped(&self, shape: Vec<usize>) -> Tensor {
        assert_eq!(n_elements(&shape), Some(self.n_elements()), "reshape keeps the element count");
        Tensor { dtype: self.dtype, shape, data: self.data.clone() }
    }

    /// The elements at the given linear positions, in that order, under `shape`. Works for every dtype.
    ///
    /// # Panics
    /// If a position is out of range or the count differs from the shape's.
    pub fn gather_linear(&self, shape: Vec<usize>, positions: impl IntoIterator<Item = usize>) -> Tensor {
        Tensor::pick(&[self], shape, positions.into_iter().map(|p| (0, p)))
    }

    /// Elements of several tensors of one dtype: each place is (tensor, linear position in it).
    ///
    /// # Panics
    /// If there is no tensor, a place is out of range or the count differs from the shape's.
    pub fn pick(
        sources: &[&Tensor],
        shape: Vec<usize>,
        places: impl IntoIterator<Item = (usize, usize)>,
    ) -> Tensor {
        let dtype = sources[0].dtype;
        debug_assert!(sources.iter().all(|s| s.dtype == dtype));
        if dtype == DType::String {
            let elems = places.into_iter().map(|(s, p)| sources[s].strings()[p].clone()).collect();
            return Tensor::from_strings(shape, elems);
        }
        let (size, bytes): (usize, Vec<&[u8]>) = (dtype.size(), sources.iter().map(|s| s.bytes()).collect());
        let mut out = Vec::with_capacity(n_elements(&shape).unwrap_or(0).saturating_mul(size));
        places.into_iter().for_each(|(s, p)| out.extend_from_slice(&bytes[s][p * size..(p + 1) * size]));
        Tensor::from_bytes(dtype, shape, out.into()).expect("as many places as the shape says")
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor({}{:?}", self.dtype, self.shape)?;
        match self.n_elements() {
            n if n > 16 => write!(f, ", {n} elements)"),
            _ if self.dtype == DType::String => write!(f, ", {:?})", self.strings()),
            _ if self.dtype.is_float() => write!(f, ", {:?})", self.floats()),
            _ => write!(f, ", {:?})", self.ints()),
        }
    }
}

impl PartialEq for Tensor {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Tensor {}

impl PartialOrd for Tensor {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Tensor {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.dtype, &self.shape).cmp(&(other.dtype, &other.shape)).then_with(|| {
            match (&self.data, &other.data) {
                // Shared data needs no look at the bytes.
                (Data::Bytes(a), Data::Bytes(b)) if a.as_ptr() == b.as_ptr() && a.len() == b.len() => {
                    std::cmp::Ordering::Equal
                }
                (a, b) => a.cmp(b),
            }
        })
    }
}

impl Hash for Tensor {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.dtype, &self.shape).hash(state);
        match &self.data {
            // Equal tensors hash equal whatever part is hashed: a prefix keeps hashing large weights cheap.
            Data::Bytes(b) => b[..b.len().min(256)].hash(state),
            Data::Strings(s) => s.hash(state),
        }
    }
}

/// What a graph value holds at run time.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Value {
    Tensor(Tensor),
    Sequence(Vec<Value>),
    Optional(Option<Box<Value>>),
}

impl Value {
    pub fn as_tensor(&self) -> Option<&Tensor> {
        match self {
            Value::Tensor(t) => Some(t),
            Value::Sequence(_) | Value::Optional(_) => None,
        }
    }

    /// The tensor inside.
    ///
    /// # Panics
    /// If it is none: inference guarantees it where operators call this.
    pub fn tensor(&self) -> &Tensor {
        self.as_tensor().expect("type inference admits only tensors here")
    }

    /// Whether the value is one of the type `ty`, dims left aside.
    pub fn matches(&self, ty: &Type) -> bool {
        match (self, ty) {
            (Value::Tensor(t), Type::Tensor(want)) => t.dtype() == want.dtype && t.rank() == want.rank(),
            (Value::Tensor(t), Type::Unranked(dtype)) => t.dtype() == *dtype,
            (Value::Sequence(elems), Type::Sequence(e)) => elems.iter().all(|v| v.matches(e)),
            (Value::Optional(v), Type::Optional(e)) => v.as_ref().is_none_or(|v| v.matches(e)),
            _ => false,
        }
    }
}

impl From<Tensor> for Value {
    fn from(t: Tensor) -> Self {
        Value::Tensor(t)
    }
}
