//! Compares values that were computed with values that are right, as ONNX's own test runner does.

use tcc_ir::{DType, Tensor, Value};

/// How far a float may be off: `|got - want| <= atol + rtol * |want|`, and for sums a little more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    pub rtol: f64,
    pub atol: f64,
    /// Added to `atol`: this many units in the last place of the tensor's largest magnitude, in its element type.
    pub noise: f64,
}

impl Default for Tolerance {
    /// The defaults of ONNX's test runner.
    fn default() -> Self {
        Tolerance { rtol: 1e-3, atol: 1e-7, noise: 0.0 }
    }
}

impl Tolerance {
    /// The same for a result that is the sum of many terms.
    ///
    /// What it came from was added up in some order and with some width, which no specification states. An error of that
    /// kind is not proportional to the result but to the terms, which may cancel; the largest magnitude in the tensor is the
    /// least that the terms can have been in size. Two units in the last place are the rounding of the two results that
    /// are compared and as much again for partial sums: less than any result can say in its own type.
    #[must_use]
    pub fn of_sum(self) -> Self {
        Tolerance { noise: 2.0, ..self }
    }

    /// With the noise that `want` allows in `atol`.
    fn for_tensor(self, dtype: DType, want: &[f64]) -> Self {
        let largest = want.iter().filter(|v| v.is_finite()).fold(0.0, |largest: f64, v| largest.max(v.abs()));
        Tolerance { atol: self.atol + self.noise * epsilon(dtype) * largest, ..self }
    }

    /// NaN equals NaN, and an infinity only itself.
    fn admits(self, got: f64, want: f64) -> bool {
        got == want
            || (got.is_nan() && want.is_nan())
            || (got.is_finite()
                && want.is_finite()
                && (got - want).abs() <= self.atol + self.rtol * want.abs())
    }
}

/// Distance from 1 to the next number of a type; 0 for types so narrow that only equality means anything.
fn epsilon(dtype: DType) -> f64 {
    match dtype {
        DType::F64 | DType::C128 => f64::EPSILON,
        DType::F32 | DType::C64 => f64::from(f32::EPSILON),
        DType::F16 => 1.0 / 1024.0,
        DType::BF16 => 1.0 / 128.0,
        _ => 0.0,
    }
}

/// Compares two values. Everything but floats must be equal.
///
/// # Errors
/// What differs first, and how much of it.
pub fn value(got: &Value, want: &Value, tolerance: Tolerance) -> Result<(), String> {
    match (got, want) {
        (Value::Tensor(got), Value::Tensor(want)) => tensor(got, want, tolerance),
        (Value::Sequence(got), Value::Sequence(want)) => {
            if got.len() != want.len() {
                return Err(format!("a sequence of {}, expected {}", got.len(), want.len()));
            }
            let pairs = got.iter().zip(want).enumerate();
            pairs.map(|(i, (g, w))| value(g, w, tolerance).map_err(|e| format!("element {i}: {e}"))).collect()
        }
        (Value::Optional(None), Value::Optional(None)) => Ok(()),
        (Value::Optional(Some(got)), Value::Optional(Some(want))) => value(got, want, tolerance),
        _ => Err(format!("{}, expected {}", describe(got), describe(want))),
    }
}

fn describe(value: &Value) -> String {
    match value {
        Value::Tensor(tensor) => tensor.tensor_type().to_string(),
        Value::Sequence(elements) => format!("a sequence of {}", elements.len()),
        Value::Optional(None) => "an empty optional".to_string(),
        Value::Optional(Some(element)) => format!("an optional with {}", describe(element)),
    }
}

fn tensor(got: &Tensor, want: &Tensor, tolerance: Tolerance) -> Result<(), String> {
    if got.dtype() != want.dtype() || got.shape() != want.shape() {
        return Err(format!("{}, expected {}", got.tensor_type(), want.tensor_type()));
    }
    match got.dtype() {
        DType::String => differences(got.strings(), want.strings(), |g, w| g == w),
        dtype if dtype.is_complex() => {
            let want = complex(want);
            let parts: Vec<f64> = want.iter().flat_map(|&(re, im)| [re, im]).collect();
            let tolerance = tolerance.for_tensor(dtype, &parts);
            differences(&complex(got), &want, |g, w| tolerance.admits(g.0, w.0) && tolerance.admits(g.1, w.1))
        }
        dtype if dtype.is_float() => {
            let want = want.floats();
            let tolerance = tolerance.for_tensor(dtype, &want);
            differences(&got.floats(), &want, |&g, &w| tolerance.admits(g, w))
        }
        _ => differences(&got.ints(), &want.ints(), |g, w| g == w),
    }
}

/// Real and imaginary parts.
fn complex(tensor: &Tensor) -> Vec<(f64, f64)> {
    let part = if tensor.dtype() == DType::C64 { DType::F32 } else { DType::F64 };
    let pairs = tensor.bytes().chunks_exact(2 * part.size());
    pairs.map(|pair| (part.load_float(pair), part.load_float(&pair[part.size()..]))).collect()
}

fn differences<T: std::fmt::Debug>(
    got: &[T],
    want: &[T],
    equal: impl Fn(&T, &T) -> bool,
) -> Result<(), String> {
    let mut wrong = got.iter().zip(want).enumerate().filter(|(_, (g, w))| !equal(g, w));
    let Some((index, (g, w))) = wrong.next() else { return Ok(()) };
    let n_wrong = 1 + wrong.count();
    Err(format!("element {index} is {g:?}, expected {w:?} ({n_wrong} of {} differ)", got.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(elems: &[f64]) -> Value {
        Value::Tensor(Tensor::from_floats(DType::F32, vec![elems.len()], elems.iter().copied()))
    }

    #[test]
    fn floats_may_be_off_by_the_tolerance() {
        let tolerance = Tolerance { rtol: 1e-3, atol: 0.0, noise: 0.0 };
        let same = |g: f64, w: f64| value(&floats(&[g]), &floats(&[w]), tolerance).is_ok();
        assert!(same(1.0005, 1.0) && same(-1.0005, -1.0));
        assert!(!same(1.002, 1.0) && !same(1e-9, 0.0));
        assert!(same(f64::NAN, f64::NAN) && !same(f64::NAN, 1.0) && !same(1.0, f64::NAN));
        assert!(same(f64::INFINITY, f64::INFINITY) && !same(f64::INFINITY, f64::NEG_INFINITY));
        assert!(!same(1.0, f64::INFINITY) && !same(f64::INFINITY, 1.0));
    }

    #[test]
    fn sums_may_be_off_by_two_units_of_the_largest() {
        let strict = Tolerance { rtol: 0.0, atol: 0.0, noise: 0.0 };
        let half = |dtype, elems: [f64; 2]| Value::Tensor(Tensor::from_floats(dtype, vec![2], elems));
        let near = |dtype, by: f64| value(&half(dtype, [by, 1.0]), &half(dtype, [0.0, 1.0]), strict.of_sum());
        assert!(near(DType::BF16, 2.0 / 128.0).is_ok() && near(DType::BF16, 2.5 / 128.0).is_err());
        assert!(near(DType::F16, 2.0 / 1024.0).is_ok() && near(DType::F16, 2.5 / 1024.0).is_err());
        assert!(near(DType::F32, 2e-7).is_ok() && near(DType::F32, 3e-7).is_err());
        assert!(near(DType::F8E4M3FN, 0.25).is_err());
        assert!(value(&floats(&[1e-9]), &floats(&[0.0]), strict).is_err());
        let infinite = |by: f64| floats(&[by, f64::INFINITY]);
        assert!(value(&infinite(1.0), &infinite(0.0), strict.of_sum()).is_err());
    }

    #[test]
    fn types_shapes_and_counts_must_be_equal() {
        let int = |v: &[i64]| Value::Tensor(Tensor::from_i64s(v));
        let differ = |g: &Value, w: &Value| value(g, w, Tolerance::default()).unwrap_err();
        assert_eq!(differ(&int(&[1]), &floats(&[1.0])), "i64[1], expected f32[1]");
        assert_eq!(differ(&int(&[1, 2]), &int(&[1])), "i64[2], expected i64[1]");
        assert_eq!(
            differ(&int(&[10_000, 2]), &int(&[10_001, 2])),
            "element 0 is 10000, expected 10001 (1 of 2 differ)"
        );
        assert!(value(&Value::Optional(None), &int(&[1]), Tolerance::default()).is_err());
        let sequence = |n: usize| Value::Sequence(vec![int(&[1]); n]);
        assert!(value(&sequence(2), &sequence(2), Tolerance::default()).is_ok());
        assert!(value(&sequence(2), &sequence(1), Tolerance::default()).is_err());
    }
}
