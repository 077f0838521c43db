//! A work-group being written: what its threads share, and the stages that they share out.

use super::{SHARED_BYTES, Shared};
use crate::lower::access;
use crate::lower::access::product;
use crate::lower::emitter::{Emitter, Memory};
use crate::lower::space::Space;
use crate::lower::writer::{Ty, Val};
use crate::target::Arch;
use tcc_ir::kernel::{AxisId, Kernel, Scalar, Stage};

/// Up to so many results of a stage are accumulated one after the other by all threads.
const FEW_RESULTS: i64 = 8;
/// From so many steps on, threads share out an accumulation.
const MANY_STEPS: i64 = 64;

pub struct Group<'a> {
    pub e: Emitter<'a>,
    pub threads: i64,
    pub thread: Val,
    shared: Vec<(Shared, i64)>,
    /// Arrays that trees of accumulators go through, with their element types.
    pub slots: Vec<(Ty, Memory)>,
}

impl<'a> Group<'a> {
    pub fn new(e: Emitter<'a>, threads: i64) -> Self {
        let thread = Val::named("%thread", Ty::Index);
        Group { e, threads, thread, shared: Vec::new(), slots: Vec::new() }
    }

    /// The emitter, and what the group is made of.
    ///
    /// # Errors
    /// The group shares more than there is memory for.
    pub fn finish(self) -> Result<(Emitter<'a>, super::Group), String> {
        let bytes: i64 = self.shared.iter().map(|(_, bytes)| bytes).sum();
        if bytes > SHARED_BYTES {
            return Err(format!("its work-groups would share {bytes} bytes, and have {SHARED_BYTES}"));
        }
        let shared = self.shared.into_iter().map(|(shared, _)| shared).collect();
        Ok((self.e, super::Group { threads: self.threads as u32, shared }))
    }

    /// An array that the group shares.
    pub fn shared(&mut self, ty: Ty, n: i64) -> Memory {
        let name = format!("%s{}", self.shared.len());
        self.shared.push((Shared { element: ty.to_string(), n }, n * ty.bytes()));
        Memory { name, ty: Space::Shared.memref(self.e.target.arch, Some(n), ty) }
    }

    /// An array that each thread has.
    pub fn private(&mut self, ty: Ty, n: i64) -> Memory {
        let name = self.e.array(ty, n);
        Memory { name, ty: self.e.array_type(ty, n) }
    }

    /// All threads of the group wait for each other, and see what the others wrote.
    pub fn barrier(&mut self) {
        let barrier = match self.e.target.arch {
            Arch::Spirv => {
                "spirv.ControlBarrier <Workgroup>, <Workgroup>, <AcquireRelease|UniformMemory|WorkgroupMemory>"
            }
            _ => "nvvm.barrier",
        };
        self.e.w.line(barrier);
        // What was loaded may have changed.
        self.e.known.clear();
    }

    /// The points of the outer axes one after the other, each shared out to the threads.
    pub fn points_in_order(&mut self) {
        let outer = self.e.kernel.outer.clone();
        self.loops(&outer, &mut |group| {
            group.stages(&outer);
            group.barrier();
        });
    }

    /// Loops over axes, outermost first, that all threads run in step.
    pub fn loops(&mut self, axes: &[AxisId], body: &mut dyn FnMut(&mut Self)) {
        let Some((axis, rest)) = axes.split_first() else { return body(self) };
        let extent = self.e.kernel.extent(*axis).clone();
        let (zero, one) = (self.e.w.index(0), self.e.w.index(1));
        let n = self.e.dim_index(&extent);
        let open = self.e.w.open_for((&zero, &n, &one), &[]);
        let saved = std::mem::take(&mut self.e.known);
        self.e.enter(*axis, &open.iv.clone());
        self.loops(rest, body);
        self.e.known = saved;
        self.e.w.close_for(open, &[]);
    }

    /// `for i = thread; i < n; i += threads`, with carried values.
    pub fn strided(
        &mut self,
        n: &Val,
        carried: &[Val],
        body: &mut dyn FnMut(&mut Emitter<'a>, &Val, &[Val]) -> Vec<Val>,
    ) -> Vec<Val> {
        let (thread, threads) = (self.thread.clone(), self.threads);
        self.e.for_loop((&thread, n), threads, carried, |e, i, inside| body(e, &i, inside))
    }

    /// All stages at the present point of the outer axes. Axes in `fixed` have a position already.
    pub fn stages(&mut self, fixed: &[AxisId]) {
        let kernel = self.e.kernel;
        for (i, stage) in kernel.stages.iter().enumerate() {
            if i > 0 {
                self.barrier();
            }
            let free: Vec<AxisId> = stage.axes.iter().copied().filter(|a| !fixed.contains(a)).collect();
            if kernel.serial && !has_places_of_its_own(kernel, stage) {
                self.alone(stage, &free);
            } else if self.shares_steps(stage, &free) {
                self.loops(&free, &mut |group| group.tree(stage));
            } else {
                self.point_each(stage, &free);
            }
        }
    }

    /// Whether the threads share out the steps of each accumulation, rather than the results.
    fn shares_steps(&self, stage: &Stage, free: &[AxisId]) -> bool {
        let kernel = self.e.kernel;
        let few = |axes: &[AxisId], n: i64| product(kernel, axes).as_const().is_some_and(|p| p <= n);
        !stage.scan
            && !stage.accs.is_empty()
            && few(free, FEW_RESULTS)
            && (free.is_empty() || !few(&stage.reduce, MANY_STEPS - 1))
    }

    /// Each thread does every so-manieth point of `free`.
    fn point_each(&mut self, stage: &Stage, free: &[AxisId]) {
        let n = product(self.e.kernel, free);
        let n = self.e.dim_index(&n);
        self.strided(&n, &[], &mut |e, i, _| {
            e.set_axes_from_linear(free, i);
            e.point(stage);
            vec![]
        });
    }

    /// The first thread does all points in order.
    fn alone(&mut self, stage: &Stage, free: &[AxisId]) {
        self.first_thread(&mut |e| {
            e.over_axes(free, &[], &mut |e, _| {
                e.point(stage);
                vec![]
            });
        });
    }

    /// What only the first thread does.
    pub fn first_thread(&mut self, body: &mut dyn FnMut(&mut Emitter<'a>)) {
        let zero = self.e.w.index(0);
        let first = self.e.w.cmp("eq", &self.thread, &zero);
        self.e.w.open_if(&first);
        let saved = self.e.known.clone();
        body(&mut self.e);
        self.e.known = saved;
        self.e.w.close_if();
    }
}

/// Whether points of a stage store to places that are all different, and read nothing that another of them stores:
/// the places are the positions on the stage's axes, and what is stored is not read.
fn has_places_of_its_own(kernel: &Kernel, stage: &Stage) -> bool {
    !stage.scan
        && stage.stores.iter().all(|store| {
            let along = |axis: &AxisId| {
                kernel.extent(*axis).is_const(1)
                    || store.index.iter().any(|i| *kernel.expr(*i) == Scalar::Axis(*axis))
            };
            store.update.is_none()
                && stage.axes.iter().all(along)
                && stage.exprs().into_iter().all(|e| !access::reads(kernel, e, store.buffer))
        })
}
