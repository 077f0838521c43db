//! Runs the steps of a package: kernels on CPU threads or on a device, all others on the calling thread.

mod call;
mod control;
pub(crate) mod device;
mod kernel;
#[cfg(not(feature = "vulkan"))]
mod no_vulkan;
mod tasks;
mod transfer;
#[cfg(feature = "vulkan")]
mod vulkan;
mod workspace;

use std::time::Instant;

use crate::error::{Error, Result};
use crate::expr::holds;
use crate::load::Package;
use crate::memory::Memory;
use crate::package::{Block, BlockId, DType, Manifest, Step, ValueId};
use crate::pool::Pool;
use crate::profile::Profile;

pub(crate) use call::{Call, Input, Outcome};
use device::Session;
pub(crate) use workspace::Workspace;

/// One run in progress.
pub(crate) struct Executor<'a> {
    pub package: &'a Package,
    pub pool: &'a Pool,
    /// Executes kernels in place of the pool.
    pub session: Option<&'a dyn Session>,
    pub memory: &'a mut Memory,
    pub workspace: &'a mut Workspace,
    pub profile: Option<&'a mut Profile>,
}

impl<'a> Executor<'a> {
    pub fn run(&mut self) -> Result<()> {
        let finished = self.block(BlockId(0)).and_then(|()| self.wait());
        if let Some(session) = self.session.filter(|_| finished.is_err()) {
            session.discard();
        }
        finished
    }

    /// Waits for kernels on a device, before the host touches what they use.
    fn wait(&self) -> Result<()> {
        self.session.map_or(Ok(()), |session| session.wait())
    }

    fn manifest(&self) -> &'a Manifest {
        self.package.manifest()
    }

    fn block(&mut self, block: BlockId) -> Result<()> {
        let Block { steps, task_graphs } = &self.manifest().blocks[block.index()];
        // What is measured is each step by itself.
        let as_steps = self.session.is_some() || self.profile.is_some();
        let mut graphs = task_graphs.iter().enumerate().filter(|_| !as_steps);
        let mut graph = graphs.next();
        let mut at = 0;
        while let Some(step) = steps.get(at) {
            if let Some((number, tasks)) = graph.filter(|(_, tasks)| tasks.first as usize == at) {
                graph = graphs.next();
                if self.workspace.tasks.is_scheduled(block.index(), number) {
                    self.task_graph(block.index(), number)?;
                    at += tasks.steps as usize;
                    continue;
                }
            }
            let start = self.profile.is_some().then(Instant::now);
            self.step(block, at, step)?;
            if let Some(start) = start {
                self.record(block, at, step, start);
            }
            at += 1;
        }
        Ok(())
    }

    fn step(&mut self, block: BlockId, at: usize, step: &'a Step) -> Result<()> {
        match step {
            Step::Kernel(_) | Step::SetDim { .. } | Step::Check(_) => {}
            _ => self.wait()?,
        }
        match step {
            Step::Kernel(step) => self.kernel(step),
            Step::ReadDim { symbol, value, index } => {
                let size = self.read_integer(*value, *index)?;
                self.memory.exprs.set(*symbol, size);
                Ok(())
            }
            Step::SetDim { symbol, expr } => {
                let manifest = self.manifest();
                let name = || manifest.symbols[symbol.index()].name.clone();
                let size = self.memory.exprs.require(*expr, name)?;
                self.memory.exprs.set(*symbol, size);
                Ok(())
            }
            Step::Check(id) => {
                let check = &self.manifest().checks[id.index()];
                let a = self.memory.exprs.require(check.a, || check.message.clone())?;
                let b = self.memory.exprs.require(check.b, || check.message.clone())?;
                if holds(check.cmp, a, b) {
                    return Ok(());
                }
                Err(Error::Check { message: format!("{} ({a} and {b})", check.message) })
            }
            Step::Copy { from, to, sets } => self.copy(*from, *to, sets),
            Step::Builtin(step) => self.builtin(block, at, step),
            Step::If { cond, then_block, else_block } => {
                let taken = if self.read_integer(*cond, 0)? != 0 { then_block } else { else_block };
                self.block(*taken)
            }
            Step::Loop(step) => self.run_loop(step),
        }
    }

    /// An element of an integer or bool tensor.
    fn read_integer(&mut self, id: ValueId, index: u64) -> Result<i64> {
        let value = &self.manifest().values[id.index()];
        let place = self.memory.place(self.package, id)?;
        let name = || crate::memory::value_name(value, id);
        let size = value.dtype.size();
        // SAFETY: nothing writes while a scalar is read.
        let bytes = unsafe { place.bytes() };
        let at = usize::try_from(index).ok().and_then(|index| index.checked_mul(size));
        let element = at.and_then(|at| bytes.get(at..)?.get(..size));
        let Some(element) = element else {
            let cause = format!("element {index} is needed, it has {}", bytes.len() / size);
            return Err(Error::Size { place: name(), cause });
        };
        let mut wide = [0; 8];
        wide[..size].copy_from_slice(element);
        let raw = u64::from_le_bytes(wide);
        let unused = 64 - 8 * size as u32;
        let signed =
            matches!(value.dtype, DType::I64 | DType::I32 | DType::I16 | DType::I8 | DType::I4 | DType::I2);
        if signed {
            return Ok(((raw << unused) as i64) >> unused);
        }
        i64::try_from(raw)
            .map_err(|_| Error::Size { place: name(), cause: format!("{raw} is too large for a size") })
    }

    fn record(&mut self, block: BlockId, at: usize, step: &Step, start: Instant) {
        let time = start.elapsed();
        let work = match step {
            Step::Kernel(step) => step.work,
            _ => None,
        };
        let mut amount = |expr| self.memory.exprs.get(expr).unwrap_or(0).max(0) as u64;
        let (flops, bytes) = work.map_or((0, 0), |work| (amount(work.flops), amount(work.bytes)));
        if let Some(profile) = &mut self.profile {
            profile.add(block.index(), at, time, flops, bytes);
        }
    }
}
