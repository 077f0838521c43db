//! Index arithmetic that several operators share: broadcasting and walking over row-major positions.

use crate::tensor::Tensor;

/// Row-major strides of a shape, in elements.
pub fn strides(shape: &[usize]) -> Vec<usize> {
    let mut out = vec![1; shape.len()];
    for i in (1..shape.len()).rev() {
        out[i - 1] = out[i] * shape[i];
    }
    out
}

/// Calls `f` with every index of `shape`, in row-major order. A shape with a 0 in it has none.
pub fn for_each_index(shape: &[usize], mut f: impl FnMut(&[usize])) {
    if shape.contains(&0) {
        return;
    }
    let mut index = vec![0; shape.len()];
    loop {
        f(&index);
        let Some(axis) = (0..shape.len()).rev().find(|a| index[*a] + 1 < shape[*a]) else { return };
        index[axis] += 1;
        index[axis + 1..].fill(0);
    }
}

/// Linear positions in a tensor of shape `from` that correspond to the elements of `to` (multidirectional
/// broadcasting, aligned at the last axes).
pub fn broadcast_positions(from: &[usize], to: &[usize]) -> Vec<usize> {
    let lead = to.len() - from.len();
    let own = strides(from);
    let step: Vec<usize> =
        (0..to.len()).map(|a| if a < lead || from[a - lead] == 1 { 0 } else { own[a - lead] }).collect();
    let mut out = Vec::with_capacity(to.iter().product());
    for_each_index(to, |index| out.push(index.iter().zip(&step).map(|(i, s)| i * s).sum()));
    out
}

/// The tensor broadcast to `shape`.
pub fn broadcast_to(t: &Tensor, shape: &[usize]) -> Tensor {
    if t.shape() == shape {
        t.clone()
    } else {
        t.gather_linear(shape.to_vec(), broadcast_positions(t.shape(), shape))
    }
}
