//! Calls compiled kernels, their tiles split over the threads, or launches them on a device.

use std::ops::Range;
use std::sync::atomic::Ordering;

use super::Executor;
use super::device::{Launch, Session};
use crate::error::{Error, Result};
use crate::package::KernelStep;

/// A step with less work than this (operations plus bytes) stays on the calling thread: waking others costs more.
const SMALL: i64 = 1 << 15;

impl Executor<'_> {
    pub(super) fn kernel(&mut self, step: &KernelStep) -> Result<()> {
        let kernel = &self.manifest().kernels[step.kernel.index()];
        let name = || format!("{} (kernel {})", kernel.source, kernel.name);
        let tiles = self.memory.exprs.require(step.tiles, name)?;
        if tiles <= 0 {
            return Ok(());
        }
        self.workspace.dims.clear();
        for &dim in &step.dims {
            self.workspace.dims.push(self.memory.exprs.require(dim, name)?);
        }
        if let Some(session) = self.session {
            return self.launch(session, step, tiles);
        }
        let scratch = self.memory.exprs.require(step.scratch, name)?.max(0) as u64;
        let threads = if kernel.serial || self.is_small(step) { 1 } else { self.pool.threads() };
        self.workspace.reserve_scratch(scratch, threads)?;
        self.gather_places(step)?;
        self.workspace.bufs.clear();
        self.workspace.bufs.extend(self.workspace.places.iter().map(|place| place.start));

        let function = self.package.kernel(step.kernel);
        let workspace = &*self.workspace;
        let call = |thread: usize, tiles: Range<i64>| {
            // SAFETY: the buffers are as large as the step's values, the dims are the step's; the compiler made both for
            // this kernel. Each thread has its own scratch and its own tiles.
            let fault = unsafe {
                let scratch = workspace.scratch[thread].as_ptr();
                function(workspace.bufs.as_ptr(), workspace.dims.as_ptr(), tiles.start, tiles.end, scratch)
            };
            if fault != 0 {
                workspace.faults[thread].store(fault, Ordering::Relaxed);
            }
        };
        if threads == 1 {
            call(0, 0..tiles)
        } else {
            self.pool.run(tiles, &call)
        }

        // The first thread's fault is that of the lowest tiles, so the answer doesn't depend on timing.
        let faults = self.workspace.faults.iter().map(|fault| fault.swap(0, Ordering::Relaxed));
        match faults.fold(0, |first, fault| if first != 0 { first } else { fault }) {
            0 => Ok(()),
            code => Err(Error::Kernel { kernel: kernel.name.clone(), source: kernel.source.clone(), code }),
        }
    }

    fn launch(&mut self, session: &dyn Session, step: &KernelStep, tiles: i64) -> Result<()> {
        self.gather_places(step)?;
        session.launch(&Launch {
            kernel: step.kernel,
            tiles,
            buffers: &self.workspace.places,
            inputs: step.inputs.len(),
            dims: &self.workspace.dims,
        })?;
        // Launches are executed together; only one at a time has a time of its own.
        if self.profile.is_some() { session.wait() } else { Ok(()) }
    }

    /// Lists the places of the step's values.
    fn gather_places(&mut self, step: &KernelStep) -> Result<()> {
        let values = || step.inputs.iter().chain(&step.outputs).copied();
        if step.outputs.iter().any(|&output| self.memory.is_dynamic(output)) {
            // Outputs may have to grow, which moves what shares their buffer: first make room, then take addresses.
            for value in values() {
                self.memory.place(self.package, value)?;
            }
        }
        self.workspace.places.clear();
        for value in values() {
            self.workspace.places.push(self.memory.place(self.package, value)?);
        }
        Ok(())
    }

    fn is_small(&mut self, step: &KernelStep) -> bool {
        let Some(work) = step.work else { return false };
        let (flops, bytes) = (self.memory.exprs.get(work.flops), self.memory.exprs.get(work.bytes));
        matches!((flops, bytes), (Ok(flops), Ok(bytes)) if flops.saturating_add(bytes) < SMALL)
    }
}
