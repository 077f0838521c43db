//! Task graphs: a run of kernels as one parallel region. Each thread does its shares in order, and before each waits
//! for the shares that it depends on, by counters; there is no barrier between kernels.

mod history;
mod schedule;

use std::ops::Range;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::time::Duration;

use super::Executor;
use crate::error::{Error, Result};
use crate::load::Package;
use crate::memory::Memory;
use crate::os;
use crate::pool::poll;
use schedule::{Schedule, Wait, Work, steps_of};

/// The schedules of a package's task graphs, at the shapes bound now.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    /// By block, in the order of its graphs; None for one that is run step by step.
    schedules: Vec<Vec<Option<Schedule>>>,
    lanes: Vec<Lane>,
    /// Lanes that sleep.
    sleepers: AtomicU32,
    /// The first task that failed, so far.
    failed: AtomicU32,
}

/// What other threads see of one. Lanes don't share cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Lane {
    /// The number of the last task that it did, plus one.
    progress: AtomicU32,
    /// The code of its task that failed first.
    fault: AtomicI32,
}

const NONE: u32 = u32::MAX;

impl Tasks {
    pub fn new(lanes: usize) -> Tasks {
        Tasks { lanes: (0..lanes).map(|_| Lane::default()).collect(), ..Tasks::default() }
    }

    /// Shapes changed.
    pub fn forget(&mut self) {
        self.schedules.clear();
    }

    /// Takes the addresses of values as they are now, and makes the schedules if shapes changed.
    pub fn locate(&mut self, package: &Package, memory: &mut Memory) {
        let (manifest, lanes) = (package.manifest(), self.lanes.len());
        if self.schedules.is_empty() {
            self.schedules =
                manifest.blocks.iter().map(|block| vec![None; block.task_graphs.len()]).collect();
        }
        for (at, (schedules, block)) in self.schedules.iter_mut().zip(&manifest.blocks).enumerate() {
            for (schedule, graph) in schedules.iter_mut().zip(&block.task_graphs) {
                let steps = steps_of(manifest, at, graph);
                // One that can't be made is tried again when addresses change.
                *schedule = match schedule.take() {
                    Some(known) => known.locate(package, memory, steps).ok(),
                    None => Schedule::new(package, memory, steps, lanes).ok(),
                };
            }
        }
    }

    /// Whether graph number `graph` of a block has a schedule.
    pub fn is_scheduled(&self, block: usize, graph: usize) -> bool {
        self.schedules.get(block).and_then(|graphs| graphs.get(graph)).is_some_and(Option::is_some)
    }
}

impl Executor<'_> {
    /// Runs a task graph that has a schedule.
    pub(super) fn task_graph(&mut self, block: usize, graph: usize) -> Result<()> {
        let tasks = &self.workspace.tasks;
        let Some(schedule) = &tasks.schedules[block][graph] else { return Ok(()) };
        let run = Run {
            package: self.package,
            schedule,
            tasks,
            scratch: &self.workspace.scratch,
            spin: self.pool.spin(),
        };
        tasks.failed.store(NONE, Ordering::Relaxed);
        tasks.lanes.iter().for_each(Lane::reset);
        match schedule.lanes() {
            0 | 1 => run.alone(0),
            // A pool that is busy gives the numbers of all threads to this one.
            _ => self.pool.run(self.pool.threads() as i64, &|thread, numbers: Range<i64>| {
                if numbers.end - numbers.start > 1 {
                    run.alone(thread);
                } else if !numbers.is_empty() {
                    run.lane(numbers.start as usize, thread);
                }
            }),
        }
        run.outcome()
    }
}

impl Lane {
    fn reset(&self) {
        self.progress.store(0, Ordering::Relaxed);
        self.fault.store(0, Ordering::Relaxed);
    }
}

/// One run of a task graph.
struct Run<'a> {
    package: &'a Package,
    schedule: &'a Schedule,
    tasks: &'a Tasks,
    scratch: &'a [crate::buffer::Buffer],
    spin: Duration,
}

// SAFETY: the schedule's pointers are to memory that is the run's own; shares that would touch the same bytes are
// ordered by waits.
unsafe impl Sync for Run<'_> {}

impl Run<'_> {
    /// All shares, in order, on this thread.
    fn alone(&self, thread: usize) {
        self.schedule.shares.iter().for_each(|share| self.call(share, thread));
    }

    fn lane(&self, lane: usize, thread: usize) {
        let (Some(own), Some(shares)) = (self.tasks.lanes.get(lane), self.schedule.by_lane.get(lane)) else {
            return;
        };
        for &at in shares {
            let share = &self.schedule.shares[at as usize];
            self.schedule.waits[share.waits.clone()].iter().for_each(|wait| self.wait(*wait));
            self.call(share, thread);
            // SeqCst on both sides: either the waiting lane sees the new count before it sleeps, or we see that it sleeps.
            own.progress.store(share.task + 1, Ordering::SeqCst);
            if self.tasks.sleepers.load(Ordering::SeqCst) > 0 {
                os::wake_all(&own.progress);
            }
        }
    }

    fn wait(&self, wait: Wait) {
        let progress = &self.tasks.lanes[wait.lane as usize].progress;
        if poll(self.spin, || progress.load(Ordering::Acquire) > wait.task) {
            return;
        }
        self.tasks.sleepers.fetch_add(1, Ordering::SeqCst);
        loop {
            let now = progress.load(Ordering::SeqCst);
            if now > wait.task {
                break;
            }
            os::wait(progress, now);
        }
        self.tasks.sleepers.fetch_sub(1, Ordering::SeqCst);
    }

    /// Calls the kernel of a share, unless an earlier task failed: then what it would read may be missing.
    fn call(&self, share: &Work, thread: usize) {
        if share.task > self.tasks.failed.load(Ordering::Relaxed) {
            return;
        }
        let task = &self.schedule.tasks[share.task as usize];
        let function = self.package.kernel(task.kernel);
        // SAFETY: the buffers are as large as the step's values, the dims are the step's; the compiler made both for this
        // kernel. Each thread has its own scratch, and shares have their own tiles.
        let fault = unsafe {
            let scratch = self.scratch[thread].as_ptr();
            let (bufs, dims) = (self.schedule.bufs(task), self.schedule.dims(task));
            function(bufs, dims, share.tiles.start, share.tiles.end, scratch)
        };
        if fault != 0 {
            // A lane's tasks come in order: its first fault is that of its first task at fault.
            self.tasks.lanes[share.lane as usize]
                .fault
                .compare_exchange(0, fault, Ordering::Relaxed, Ordering::Relaxed)
                .ok();
            self.tasks.failed.fetch_min(share.task, Ordering::Relaxed);
        }
    }

    /// The error of the first task that failed, whatever came first in time.
    fn outcome(&self) -> Result<()> {
        let failed = self.tasks.failed.load(Ordering::Relaxed);
        let Some(task) = self.schedule.tasks.get(failed as usize) else { return Ok(()) };
        let shares = self.schedule.shares.iter().filter(|share| share.task == failed);
        let codes = shares.map(|share| self.tasks.lanes[share.lane as usize].fault.load(Ordering::Relaxed));
        let kernel = &self.package.manifest().kernels[task.kernel.index()];
        Err(Error::Kernel {
            kernel: kernel.name.clone(),
            source: kernel.source.clone(),
            code: codes.into_iter().find(|code| *code != 0).unwrap_or(0),
        })
    }
}
