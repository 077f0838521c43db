//! The number types that sums of products run in: f64 for every float type, i64 (wrapping) for every integer type.

use crate::tensor::Tensor;
use crate::types::DType;

/// A type to accumulate in.
pub trait Wide: Copy {
    const ZERO: Self;

    /// `self + a * b`.
    fn add_product(self, a: Self, b: Self) -> Self;

    /// The elements of a tensor.
    fn load(t: &Tensor) -> Vec<Self>;

    /// The elements rounded or wrapped to `dtype`.
    fn store(dtype: DType, shape: Vec<usize>, elems: Vec<Self>) -> Tensor;
}

impl Wide for f64 {
    const ZERO: f64 = 0.0;

    fn add_product(self, a: f64, b: f64) -> f64 {
        self + a * b
    }

    fn load(t: &Tensor) -> Vec<f64> {
        t.floats()
    }

    fn store(dtype: DType, shape: Vec<usize>, elems: Vec<f64>) -> Tensor {
        Tensor::from_floats(dtype, shape, elems)
    }
}

/// Arithmetic modulo 2^64 is exact modulo 2^bits for every integer type, also for u64.
impl Wide for i64 {
    const ZERO: i64 = 0;

    fn add_product(self, a: i64, b: i64) -> i64 {
        self.wrapping_add(a.wrapping_mul(b))
    }

    fn load(t: &Tensor) -> Vec<i64> {
        t.ints().into_iter().map(|v| v as i64).collect()
    }

    fn store(dtype: DType, shape: Vec<usize>, elems: Vec<i64>) -> Tensor {
        Tensor::from_ints(dtype, shape, elems.into_iter().map(i128::from))
    }
}
