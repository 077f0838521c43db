//! A thread a point: maps, movement, short reductions, scans, and small rows.

use super::THREADS;
use super::group::Group;
use crate::lower::access::product;
use crate::lower::writer::Val;
use tcc_ir::kernel::AxisId;

impl Group<'_> {
    /// The thread's point of `axes`, if there is one, with all stages.
    pub fn point_a_thread(&mut self, axes: &[AxisId], tile: &Val) {
        let e = &mut self.e;
        let kernel = e.kernel;
        let threads = e.w.index(THREADS);
        let first = e.w.bin("arith.muli", tile, &threads);
        let at = e.w.bin("arith.addi", &first, &self.thread);
        let n = e.dim_index(&product(kernel, axes));
        let inside = e.w.cmp("slt", &at, &n);
        e.w.open_if(&inside);
        e.set_axes_from_linear(axes, &at);
        for stage in &kernel.stages {
            let free: Vec<AxisId> = stage.axes.iter().copied().filter(|a| !axes.contains(a)).collect();
            e.over_axes(&free, &[], &mut |e, _| {
                e.point(stage);
                vec![]
            });
        }
        e.w.close_if();
    }
}
