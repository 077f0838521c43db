//! Broadcasting of two shapes.

use crate::executor::Outcome;

/// The common shape of two, by numpy's rules.
pub(super) fn broadcast(a: &[i64], b: &[i64]) -> Outcome<Vec<i64>> {
    let rank = a.len().max(b.len());
    let dim = |shape: &[i64], axis: usize| match (axis + shape.len()).checked_sub(rank) {
        Some(at) => shape[at],
        None => 1,
    };
    (0..rank)
        .map(|axis| match (dim(a, axis), dim(b, axis)) {
            (1, size) | (size, 1) => Ok(size),
            (left, right) if left == right => Ok(left),
            _ => Err(format!("shapes {a:?} and {b:?} don't broadcast").into()),
        })
        .collect()
}

/// For each element of `out` in order, the index of the element of `shape` that it takes.
pub(super) fn source_indices(out: &[i64], shape: &[i64]) -> impl Iterator<Item = usize> {
    let skipped = out.len() - shape.len();
    let mut strides = vec![0; out.len()];
    let mut stride = 1;
    for (axis, &size) in shape.iter().enumerate().rev() {
        strides[skipped + axis] = if size == 1 { 0 } else { stride };
        stride *= size as usize;
    }
    let out = out.to_vec();
    (0..out.iter().product::<i64>() as usize).map(move |mut rest| {
        let mut at = 0;
        for (&size, stride) in out.iter().zip(&strides).rev() {
            at += rest % size as usize * stride;
            rest /= size as usize;
        }
        at
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_columns_repeat() {
        let shape = broadcast(&[2, 1], &[3]).unwrap_or_default();
        assert_eq!(shape, [2, 3]);
        assert_eq!(source_indices(&shape, &[2, 1]).collect::<Vec<_>>(), [0, 0, 0, 1, 1, 1]);
        assert_eq!(source_indices(&shape, &[3]).collect::<Vec<_>>(), [0, 1, 2, 0, 1, 2]);
        assert_eq!(source_indices(&shape, &[]).collect::<Vec<_>>(), [0; 6]);
        assert!(broadcast(&[2], &[3]).is_err());
        assert_eq!(broadcast(&[0], &[1]).unwrap_or_default(), [0]);
    }
}
