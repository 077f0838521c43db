//! A tensor seen as lanes: the one-dimensional runs along an axis. Shared by operators that work along one axis.

/// The lanes of a shape along one axis: `outer * inner` of them, `len` elements each, `inner` apart.
#[derive(Clone, Copy)]
pub struct Lanes {
    pub outer: usize,
    pub len: usize,
    pub inner: usize,
}

impl Lanes {
    pub fn new(shape: &[usize], axis: usize) -> Lanes {
        Lanes {
            outer: shape[..axis].iter().product(),
            len: shape[axis],
            inner: shape[axis + 1..].iter().product(),
        }
    }

    /// First positions of the lanes, in row-major order of the other axes.
    pub fn starts(self) -> impl Iterator<Item = usize> {
        (0..self.outer).flat_map(move |o| (0..self.inner).map(move |i| o * self.len * self.inner + i))
    }

    /// Positions of the lane that starts at `start`.
    pub fn positions(self, start: usize) -> impl DoubleEndedIterator<Item = usize> {
        (0..self.len).map(move |k| start + k * self.inner)
    }
}
