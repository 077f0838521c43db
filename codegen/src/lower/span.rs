//! Which part of each operand a tile touches: what lets a task start when the tiles before it are done, rather than all.

use tcc_ir::Dim;
use tcc_ir::kernel::{AxisId, BufferId, BufferKind, ExprId, Kernel, Scalar};

/// The bytes of an operand that a tile touches lie in `[t, t + len)` for `t = tile / tiles * step`.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    pub tiles: Dim,
    pub step: Dim,
    pub len: Dim,
}

/// How tiles are numbered: points of some axes in row-major order, each of `inner` tiles; or stretches of one axis.
pub struct Tiling {
    pub axes: Vec<AxisId>,
    /// Positions of a tile on the axis, where there is exactly one.
    pub stretch: i64,
    pub inner: Dim,
}

impl Tiling {
    /// The spans of a kernel's operands, inputs then outputs. None for those that a tile may touch anywhere.
    pub fn spans(&self, kernel: &Kernel) -> Vec<Option<Span>> {
        debug_assert!(self.stretch == 1 || self.axes.len() == 1, "stretches are of one axis");
        let kinds = [BufferKind::Input, BufferKind::Output];
        kinds.iter().flat_map(|kind| kernel.buffers_of(*kind)).map(|(id, _)| self.span(kernel, id)).collect()
    }

    fn span(&self, kernel: &Kernel, buffer: BufferId) -> Option<Span> {
        let ty = &kernel.buffer(buffer).ty;
        let along = |axis: &AxisId, place: usize| {
            let follows = |index: &[ExprId]| *kernel.expr(index[place]) == Scalar::Axis(*axis);
            *kernel.extent(*axis) == ty.shape[place] && accesses(kernel, buffer).all(follows)
        };
        let outermost = self.axes.iter().take(ty.shape.len());
        let n = outermost.enumerate().take_while(|(place, axis)| along(axis, *place)).count();
        if n == 0 {
            return None;
        }
        let others = Dim::product(self.axes[n..].iter().map(|axis| kernel.extent(*axis).clone()));
        let part = Dim::product(ty.shape[n..].iter().cloned());
        let step = part * Dim::from(self.stretch) * Dim::from(ty.dtype.size() as i64);
        Some(Span { tiles: others * self.inner.clone(), len: step.clone(), step })
    }
}

/// The indices of all loads and stores of a buffer.
fn accesses(kernel: &Kernel, buffer: BufferId) -> impl Iterator<Item = &[ExprId]> {
    let loads = kernel.exprs.iter().filter_map(move |e| match e {
        Scalar::Load { buffer: b, index, .. } if *b == buffer => Some(&index[..]),
        _ => None,
    });
    let stores = kernel.stages.iter().flat_map(|s| &s.stores).filter(move |s| s.buffer == buffer);
    loads.chain(stores.map(|s| &s.index[..]))
}
