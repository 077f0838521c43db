//! The static schedule of a task graph at given shapes: which lane does what, and what each share waits for.
//!
//! A lane is a thread's part in the graph. Its shares run in the order of the tasks, and a share waits for earlier
//! tasks only, so that no wait can be in vain. What a share waits for is found from memory: earlier shares that wrote
//! bytes it touches, or that touched bytes it writes (the arena's memory is used again and again).

use std::ops::Range;

use super::history::{Bytes, History, Share};
use crate::error::Result;
use crate::load::Package;
use crate::memory::Memory;
use crate::package::{KernelId, KernelStep, Manifest, Span, Step, TaskGraph, ValueId};
use crate::pool::part;

/// A task with less work than this (operations plus bytes) is done by one lane: sharing costs more.
const SMALL: u64 = 1 << 14;
/// What waiting for another lane is taken to cost, in the same unit.
const HANDOVER: u64 = 1 << 11;

#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    pub tasks: Vec<Task>,
    /// All shares, in the order of the tasks.
    pub shares: Vec<Work>,
    /// Positions in `shares`, by lane.
    pub by_lane: Vec<Vec<u32>>,
    pub waits: Vec<Wait>,
    pub bufs: Vec<*mut u8>,
    pub dims: Vec<i64>,
}

#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub kernel: KernelId,
    bufs: Range<usize>,
    dims: Range<usize>,
}

/// A share: tiles of a task for a lane.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    pub task: u32,
    pub lane: u32,
    pub tiles: Range<i64>,
    /// Places in `Schedule::waits`.
    pub waits: Range<usize>,
}

/// A lane must have done a task, or have none left before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    pub lane: u32,
    pub task: u32,
}

impl Schedule {
    /// A schedule for so many lanes; an error when a size isn't known or a value has no place: then the steps are
    /// run one by one, and the one at fault says why.
    pub fn new(package: &Package, memory: &mut Memory, steps: &[Step], lanes: usize) -> Result<Schedule> {
        let mut builder = Builder::new(package, memory, lanes);
        for step in steps {
            if let Step::Kernel(step) = step {
                builder.task(step)?;
            }
        }
        let schedule = builder.schedule;
        schedule.locate(package, memory, steps)
    }

    /// With the addresses of the steps' values as they are now.
    pub fn locate(mut self, package: &Package, memory: &mut Memory, steps: &[Step]) -> Result<Schedule> {
        self.bufs.clear();
        for step in steps {
            let Step::Kernel(step) = step else { continue };
            for value in step.inputs.iter().chain(&step.outputs) {
                self.bufs.push(memory.place(package, *value)?.start);
            }
        }
        Ok(self)
    }

    pub fn bufs(&self, task: &Task) -> *const *mut u8 {
        self.bufs[task.bufs.clone()].as_ptr()
    }

    pub fn dims(&self, task: &Task) -> *const i64 {
        self.dims[task.dims.clone()].as_ptr()
    }

    /// Lanes that have anything to do: the first ones.
    pub fn lanes(&self) -> usize {
        self.by_lane.iter().rposition(|shares| !shares.is_empty()).map_or(0, |last| last + 1)
    }
}

/// The steps of a graph.
pub(super) fn steps_of<'m>(manifest: &'m Manifest, block: usize, graph: &TaskGraph) -> &'m [Step] {
    &manifest.blocks[block].steps[graph.first as usize..][..graph.steps as usize]
}

struct Builder<'a> {
    package: &'a Package,
    memory: &'a mut Memory,
    schedule: Schedule,
    history: History,
    /// Per lane: when it is free.
    free: Vec<u64>,
    /// Per task and lane: when its share is done.
    done: Vec<Vec<u64>>,
    /// Per lane: the last task of each other lane that it has waited for, plus one.
    known: Vec<Vec<u32>>,
}

/// What a step touches of one operand.
struct Touched {
    all: Bytes,
    span: Option<[u64; 3]>,
    write: bool,
}

impl Touched {
    /// By these tiles.
    fn by(&self, tiles: &Range<i64>) -> Bytes {
        let Some([neighbours, step, len]) = self.span else { return self.all };
        let at = |tile: i64| (tile as u64 / neighbours).checked_mul(step);
        let start = at(tiles.start).and_then(|first| self.all.start.checked_add(first));
        let end = at(tiles.end - 1).and_then(|last| last.checked_add(len)?.checked_add(self.all.start));
        match (start, end) {
            (Some(start), Some(end)) => {
                Bytes { start: start.min(self.all.end), end: end.min(self.all.end), ..self.all }
            }
            _ => self.all,
        }
    }
}

impl<'a> Builder<'a> {
    fn new(package: &'a Package, memory: &'a mut Memory, lanes: usize) -> Self {
        let schedule = Schedule {
            tasks: Vec::new(),
            shares: Vec::new(),
            by_lane: vec![Vec::new(); lanes],
            waits: Vec::new(),
            bufs: Vec::new(),
            dims: Vec::new(),
        };
        Builder {
            package,
            memory,
            schedule,
            history: History::default(),
            free: vec![0; lanes],
            done: Vec::new(),
            known: vec![vec![0; lanes]; lanes],
        }
    }

    fn task(&mut self, step: &KernelStep) -> Result<()> {
        let kernel = &self.package.manifest().kernels[step.kernel.index()];
        let name = || format!("{} (kernel {})", kernel.source, kernel.name);
        let tiles = self.memory.exprs.require(step.tiles, name)?;
        let bufs = self.schedule.tasks.last().map_or(0, |task| task.bufs.end);
        let dims = self.schedule.dims.len();
        for &dim in &step.dims {
            self.schedule.dims.push(self.memory.exprs.require(dim, name)?);
        }
        let task = self.schedule.tasks.len() as u32;
        self.schedule.tasks.push(Task {
            kernel: step.kernel,
            bufs: bufs..bufs + step.inputs.len() + step.outputs.len(),
            dims: dims..self.schedule.dims.len(),
        });
        let lanes = self.free.len();
        self.done.push(vec![0; lanes]);
        if tiles <= 0 {
            return Ok(());
        }
        // Every thread has been given the scratch of all steps whose scratch has a size.
        self.memory.exprs.require(step.scratch, name)?;
        let touched = self.touched(step)?;
        let cost = self.cost(step);
        if lanes == 1 || kernel.serial || cost < SMALL {
            let lane = self.best_lane(&touched, &(0..tiles));
            self.share(task, lane, 0..tiles, &touched, cost);
        } else {
            for lane in 0..lanes {
                self.share(task, lane, part(tiles, lane, lanes), &touched, cost / lanes as u64);
            }
        }
        // Only now that all shares have found what they wait for: none of them waits for another.
        for work in self.schedule.shares.iter().rev().take_while(|work| work.task == task) {
            for operand in &touched {
                let share = Share { task, lane: work.lane };
                self.history.add(operand.by(&work.tiles), share, operand.write);
            }
        }
        Ok(())
    }

    fn touched(&mut self, step: &KernelStep) -> Result<Vec<Touched>> {
        let mut all = Vec::new();
        let operands = step.inputs.iter().map(|v| (*v, false)).chain(step.outputs.iter().map(|v| (*v, true)));
        for (at, (value, write)) in operands.enumerate() {
            let Some(bytes) = self.bytes(value)? else { continue };
            let span = step.spans.get(at).copied().flatten().and_then(|span| self.span(&span));
            all.push(Touched { all: bytes, span, write });
        }
        Ok(all)
    }

    /// Where a value lies; None if nothing writes it.
    fn bytes(&mut self, value: ValueId) -> Result<Option<Bytes>> {
        let size = self.memory.place(self.package, value)?.bytes as u64;
        let written = self.memory.written(self.package.manifest(), value)?;
        Ok(written.map(|(buffer, start)| Bytes { buffer, start, end: start.saturating_add(size) }))
    }

    fn span(&mut self, span: &Span) -> Option<[u64; 3]> {
        let mut get = |expr| self.memory.exprs.get(expr).ok().and_then(|size| u64::try_from(size).ok());
        let numbers = [get(span.tiles)?, get(span.step)?, get(span.len)?];
        (numbers[0] > 0).then_some(numbers)
    }

    fn cost(&mut self, step: &KernelStep) -> u64 {
        let mut get = |expr| self.memory.exprs.get(expr).unwrap_or(0).max(0) as u64;
        step.work.map_or(0, |work| get(work.flops).saturating_add(get(work.bytes)))
    }

    /// The lane that can do all of a task first.
    fn best_lane(&self, touched: &[Touched], tiles: &Range<i64>) -> usize {
        let mut ready = self.free.clone();
        self.before(touched, tiles, &mut |share| {
            let done = self.done[share.task as usize][share.lane as usize];
            for (lane, at) in ready.iter_mut().enumerate() {
                let handover = if lane == share.lane as usize { 0 } else { HANDOVER };
                *at = (*at).max(done.saturating_add(handover));
            }
        });
        (0..ready.len()).min_by_key(|lane| ready[*lane]).unwrap_or(0)
    }

    fn before(&self, touched: &[Touched], tiles: &Range<i64>, found: &mut impl FnMut(Share)) {
        for operand in touched {
            self.history.before(operand.by(tiles), operand.write, found);
        }
    }

    /// Gives tiles of a task to a lane.
    fn share(&mut self, task: u32, lane: usize, tiles: Range<i64>, touched: &[Touched], cost: u64) {
        if tiles.is_empty() {
            return;
        }
        let lanes = self.free.len();
        let mut needed: Vec<u32> = vec![0; lanes];
        let mut start = self.free[lane];
        let done = &self.done;
        self.before(touched, &tiles, &mut |share| {
            needed[share.lane as usize] = needed[share.lane as usize].max(share.task + 1);
            let handover = if share.lane as usize == lane { 0 } else { HANDOVER };
            start = start.max(done[share.task as usize][share.lane as usize].saturating_add(handover));
        });
        let first = self.schedule.waits.len();
        for (other, needed) in needed.into_iter().enumerate() {
            let known = &mut self.known[lane][other];
            if other != lane && needed > *known {
                *known = needed;
                self.schedule.waits.push(Wait { lane: other as u32, task: needed - 1 });
            }
        }
        self.free[lane] = start.saturating_add(cost);
        self.done[task as usize][lane] = self.free[lane];
        self.schedule.by_lane[lane].push(self.schedule.shares.len() as u32);
        self.schedule.shares.push(Work {
            task,
            lane: lane as u32,
            tiles,
            waits: first..self.schedule.waits.len(),
        });
    }
}
