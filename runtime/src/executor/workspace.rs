//! Memory that steps use while they run: argument lists and the scratch of each thread, kept from run to run.

use std::sync::atomic::AtomicI32;

use crate::buffer::Buffer;
use crate::error::Result;
use crate::expr::Exprs;
use crate::load::Package;
use crate::memory::{Growable, Place};
use crate::package::{Manifest, Step, SymbolId, ValueId};
use crate::pool::Pool;

use super::call::{Pending, RawInput};
use super::tasks::Tasks;
use super::transfer::Source;

/// Most list entries taken ahead: more are allocated at the first run, which no ordinary model needs.
const MAX_RESERVED: usize = 1 << 16;

#[derive(Debug)]
pub(crate) struct Workspace {
    /// A kernel's buffers, their addresses alone, and dims.
    pub places: Vec<Place>,
    pub bufs: Vec<*mut u8>,
    pub dims: Vec<i64>,
    /// One a thread.
    pub scratch: Vec<Buffer>,
    /// What each thread's last kernel call returned, when not 0.
    pub faults: Vec<AtomicI32>,
    pub tasks: Tasks,
    /// A built-in routine's arguments, and the shapes of all of them.
    pub inputs: Vec<RawInput>,
    pub shapes: Vec<i64>,
    pub outputs: Vec<(Place, Option<Growable>)>,
    pub pending: Pending,
    /// Sizes to set together, when the state of a loop is replaced.
    pub sizes: Vec<(SymbolId, i64)>,
    pub sources: Vec<Option<Source>>,
    /// Seed of random generators without their own, and how many random tensors were drawn.
    pub seed: u64,
    pub draws: u64,
}

// SAFETY: the pointers are used only during a run, which borrows the context.
unsafe impl Send for Workspace {}
// SAFETY: shared references give no access to what the pointers point to.
unsafe impl Sync for Workspace {}

impl Workspace {
    pub fn new(manifest: &Manifest, pool: &Pool) -> Workspace {
        let threads = pool.threads();
        let steps = || manifest.blocks.iter().flat_map(|block| &block.steps);
        let most = |count: fn(&Step) -> usize| steps().map(count).max().unwrap_or(0);
        let rank = manifest.values.iter().map(|value| value.dims.len()).max().unwrap_or(0);
        let arguments = most(|step| match step {
            Step::Kernel(step) => step.inputs.len() + step.outputs.len(),
            Step::Builtin(step) => step.inputs.len() + step.outputs.len(),
            Step::Loop(step) => step.carried.len(),
            _ => 0,
        });
        Workspace {
            places: Vec::with_capacity(arguments),
            bufs: Vec::with_capacity(arguments),
            dims: Vec::with_capacity(most(|step| match step {
                Step::Kernel(step) => step.dims.len(),
                _ => 0,
            })),
            scratch: (0..threads).map(|_| Buffer::new()).collect(),
            faults: (0..threads).map(|_| AtomicI32::new(0)).collect(),
            tasks: Tasks::new(pool.lanes()),
            inputs: Vec::with_capacity(arguments),
            shapes: Vec::with_capacity(arguments.saturating_mul(rank).min(MAX_RESERVED)),
            outputs: Vec::with_capacity(arguments),
            pending: Vec::new(),
            sizes: Vec::with_capacity(arguments.saturating_mul(rank).min(MAX_RESERVED)),
            sources: Vec::with_capacity(arguments),
            seed: 0,
            draws: 0,
        }
    }

    /// Takes the scratch that the steps need at the shapes bound now.
    pub fn reserve(&mut self, package: &Package, exprs: &mut Exprs) -> Result<()> {
        let manifest = package.manifest();
        for (block_at, block) in manifest.blocks.iter().enumerate() {
            for (at, step) in block.steps.iter().enumerate() {
                match step {
                    // What isn't known yet is taken at the step.
                    Step::Kernel(step) => {
                        let bytes = exprs.get(step.scratch).unwrap_or(0).max(0) as u64;
                        // A task graph may give any kernel to any thread.
                        self.reserve_scratch(bytes, usize::MAX)?;
                    }
                    Step::Builtin(step) => {
                        let mut count = |id: &Option<ValueId>| {
                            let value = &manifest.values[(*id)?.index()];
                            crate::layout::element_count(exprs, value, String::new).ok()
                        };
                        let counts: Vec<Option<u64>> = step.inputs.iter().map(&mut count).collect();
                        let bytes =
                            package.routine(block_at, at).map_or(0, |routine| routine.scratch(&counts));
                        self.reserve_scratch(bytes, 1)?;
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Gives the first `threads` threads this much scratch.
    pub fn reserve_scratch(&mut self, bytes: u64, threads: usize) -> Result<()> {
        self.scratch
            .iter_mut()
            .take(threads)
            .try_for_each(|buffer| buffer.reserve(bytes, "a thread's scratch"))
    }

    pub fn scratch_bytes(&self) -> u64 {
        self.scratch.iter().map(|buffer| buffer.capacity() as u64).sum()
    }
}
