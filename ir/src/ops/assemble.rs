//! Tensors put together from parts.

use super::lanes::Lanes;
use crate::tensor::Tensor;
use crate::types::DType;

/// The elements of the parts one after the other, under `shape`. Without parts `shape` must have no element.
///
/// # Panics
/// If the element count differs from the shape's.
pub fn end_to_end(dtype: DType, shape: Vec<usize>, parts: &[Tensor]) -> Tensor {
    if dtype == DType::String {
        return Tensor::from_strings(shape, parts.iter().flat_map(|p| p.strings()).cloned().collect());
    }
    let bytes: Vec<u8> = parts.iter().flat_map(|p| p.bytes()).copied().collect();
    Tensor::from_bytes(dtype, shape, bytes.into()).expect("as many elements as the shape says")
}

/// The parts, whose shapes differ along `axis` only, joined along it.
///
/// # Panics
/// If there is no part, or the shapes differ elsewhere.
pub fn join_along(axis: usize, parts: &[Tensor]) -> Tensor {
    let first = parts.first().expect("at least one part");
    let total: usize = parts.iter().map(|p| p.n_elements()).sum();
    let flat = end_to_end(first.dtype(), vec![total], parts);
    let mut shape = first.shape().to_vec();
    shape[axis] = parts.iter().map(|p| p.shape()[axis]).sum();
    let mut positions = Vec::with_capacity(total);
    for o in 0..Lanes::new(&shape, axis).outer {
        let mut base = 0;
        for part in parts {
            let lanes = Lanes::new(part.shape(), axis);
            let block = lanes.len * lanes.inner;
            positions.extend(base + o * block..base + (o + 1) * block);
            base += part.n_elements();
        }
    }
    assert_eq!(positions.len(), shape.iter().product::<usize>(), "parts differ along one axis only");
    flat.gather_linear(shape, positions)
}
