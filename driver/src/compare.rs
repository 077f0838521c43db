//! Compares values that were computed with values that are right, as ONNX's own test runner does.

use tcc_ir::{DType, Tensor, Value};

/// How far a float may be off: `|got - want| <= atol + rtol * |want|`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    pub rtol: f64,
    pub atol: f64,
}

impl Default for Tolerance {
    /// The defaults of ONNX's test runner.
    fn default() -> Self {
        Tolerance { rtol: 1e-3, atol: 1e-7 }
    }
}

impl Tolerance {
    /// NaN equals NaN, and an infinity only itself.
    fn admits(self, got: f64, want: f64) -> bool {
        got == want
            || (got.is_nan() && want.is_nan())
            || (got.is_finite()
                && want.is_finite()
                && (got - want).abs() <= self.atol + self.rtol * want.abs())
    }
}

/// Compares all outputs of a model. Everything but floats must be equal.
///
/// # Errors
/// What differs first, and how much of it.
pub fn outputs(got: &[Value], want: &[Value], tolerance: Tolerance) -> Result<(), String> {
    if got.len() != want.len() {
        return Err(format!("{} outputs, expected {}", got.len(), want.len()));
    }
    for (index, (got, want)) in got.iter().zip(want).enumerate() {
        value(got, want, tolerance).map_err(|what| format!("output {index}: {what}"))?;
    }
    Ok(())
}

/// Compares two values.
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
        dtype if dtype.is_complex() => differences(&complex(got), &complex(want), |g, w| {
            tolerance.admits(g.0, w.0) && tolerance.admits(g.1, w.1)
        }),
        dtype if dtype.is_float() => {
            differences(&got.floats(), &want.floats(), |&g, &w| tolerance.admits(g, w))
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
        let tolerance = Tolerance { rtol: 1e-3, atol: 0.0 };
        let same = |g: f64, w: f64| value(&floats(&[g]), &floats(&[w]), tolerance).is_ok();
        assert!(same(1.0005, 1.0) && same(-1.0005, -1.0));
        assert!(!same(1.002, 1.0) && !same(1e-9, 0.0));
        assert!(same(f64::NAN, f64::NAN) && !same(f64::NAN, 1.0) && !same(1.0, f64::NAN));
        assert!(same(f64::INFINITY, f64::INFINITY) && !same(f64::INFINITY, f64::NEG_INFINITY));
        assert!(!same(1.0, f64::INFINITY) && !same(f64::INFINITY, 1.0));
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
        assert!(outputs(&[int(&[1])], &[], Tolerance::default()).is_err());
        assert!(value(&Value::Optional(None), &int(&[1]), Tolerance::default()).is_err());
        let sequence = |n: usize| Value::Sequence(vec![int(&[1]); n]);
        assert!(value(&sequence(2), &sequence(2), Tolerance::default()).is_ok());
        assert!(value(&sequence(2), &sequence(1), Tolerance::default()).is_err());
    }
}
