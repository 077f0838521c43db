//! What the scatter operators share: writing updates to positions of a tensor.

use super::scalar::BinaryKind;
use crate::op::Mismatch;
use crate::tensor::{Tensor, n_elements};
use crate::types::{DType, TensorType};

/// Updates must have x's element type, and a combining function must be one that is defined on it.
pub fn check_update(
    update: Option<BinaryKind>,
    x: &TensorType,
    updates: &TensorType,
) -> Result<(), Mismatch> {
    super::indexing::check_same_dtype(x.dtype, updates.dtype)?;
    let Some(kind) = update else { return Ok(()) };
    let allowed = match kind {
        BinaryKind::Add | BinaryKind::Mul => x.dtype.is_float() || x.dtype.is_int(),
        BinaryKind::Max | BinaryKind::Min => x.dtype.is_float() || x.dtype.is_int() || x.dtype == DType::Bool,
        _ => false,
    };
    if allowed {
        Ok(())
    } else {
        Err(Mismatch::new(format!("updates of {} can't be combined by {}", x.dtype, kind.name())))
    }
}

/// Where each element of the result comes from when updates replace: (0, x's own position) or (2, position in the
/// updates), the numbers of the operands. Later updates win.
pub fn scatter_places(x: &[usize], targets: &[usize]) -> Vec<(usize, usize)> {
    let mut places: Vec<(usize, usize)> = (0..n_elements(x).unwrap_or(0)).map(|p| (0, p)).collect();
    targets.iter().enumerate().for_each(|(i, t)| places[*t] = (2, i));
    places
}

/// `x` with update `i` written to (or combined into) position `targets[i]`. Floats combine wide and round once.
pub fn scatter(update: Option<BinaryKind>, x: &Tensor, targets: &[usize], updates: &Tensor) -> Tensor {
    let (dtype, shape) = (x.dtype(), x.shape().to_vec());
    match update {
        None => Tensor::pick(&[x, x, updates], shape.clone(), scatter_places(&shape, targets)),
        Some(kind) if dtype.is_float() => {
            let mut out = x.floats();
            targets.iter().zip(updates.floats()).for_each(|(t, u)| out[*t] = kind.float(out[*t], u));
            Tensor::from_floats(dtype, shape, out)
        }
        Some(kind) => {
            let mut out = x.ints();
            targets
                .iter()
                .zip(updates.ints())
                .for_each(|(t, u)| out[*t] = dtype.wrap_int(kind.int(dtype, out[*t], u)));
            Tensor::from_ints(dtype, shape, out)
        }
    }
}
