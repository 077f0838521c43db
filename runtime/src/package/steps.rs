//! Checks blocks and steps: references, kinds of values, what may be written, and that blocks nest as a tree.

use super::dtype::DType;
use super::manifest::*;
use super::validate::{Facts, in_range, is_plain};
use crate::error::{Error, Result};

/// How deep blocks may nest: the executor recurses.
const MAX_DEPTH: u32 = 64;

pub(super) fn check_blocks(facts: &Facts) -> Result<()> {
    let blocks = &facts.manifest.blocks;
    if blocks.is_empty() {
        return Err(Error::invalid("blocks", "there is no entry block"));
    }
    let mut depth: Vec<Option<u32>> = vec![None; blocks.len()];
    depth[0] = Some(0);
    let mut todo = vec![0];
    while let Some(at) = todo.pop() {
        let below = depth[at].unwrap_or(0) + 1;
        for (index, step) in blocks[at].steps.iter().enumerate() {
            let place = || format!("block {at}, step {index}");
            check_step(facts, step, &place)?;
            for child in bodies(step) {
                in_range(child.index(), blocks.len(), "block", place)?;
                if depth[child.index()].replace(below).is_some() {
                    return Err(Error::invalid(place(), "its block is the body of another step too"));
                }
                if below > MAX_DEPTH {
                    return Err(Error::invalid(place(), "blocks nest too deep"));
                }
                todo.push(child.index());
            }
        }
        check_task_graphs(facts, at)?;
    }
    match depth.iter().position(|d| d.is_none()) {
        Some(unused) => Err(Error::invalid(format!("block {unused}"), "no step uses it")),
        None => Ok(()),
    }
}

fn check_task_graphs(facts: &Facts, at: usize) -> Result<()> {
    let block = &facts.manifest.blocks[at];
    let mut end = 0;
    for graph in &block.task_graphs {
        let place = || format!("block {at}, task graph at step {}", graph.first);
        let fail = |cause: &str| Err(Error::invalid(place(), cause));
        if graph.first < end {
            return fail("it overlaps the one before");
        }
        end = graph.first.saturating_add(graph.steps);
        let Some(steps) = block.steps.get(graph.first as usize..end as usize) else {
            return fail("it has more steps than the block");
        };
        if !steps.iter().all(|step| facts.bind_time.schedules(step)) {
            return fail("one of its steps isn't a kernel, or isn't known when shapes are bound");
        }
    }
    Ok(())
}

fn bodies(step: &Step) -> impl Iterator<Item = BlockId> {
    let ids = match step {
        Step::If { then_block, else_block, .. } => [Some(*then_block), Some(*else_block)],
        Step::Loop(step) => [Some(step.body), None],
        _ => [None, None],
    };
    ids.into_iter().flatten()
}

fn check_step(facts: &Facts, step: &Step, place: &dyn Fn() -> String) -> Result<()> {
    let at = At { facts, place };
    match step {
        Step::Kernel(step) => {
            in_range(step.kernel.index(), facts.manifest.kernels.len(), "kernel", place)?;
            for &input in &step.inputs {
                at.plain(input)?;
            }
            for &output in &step.outputs {
                at.plain(output)?;
                at.writable(output)?;
            }
            let work = step.work.iter().flat_map(|work| [work.flops, work.bytes]);
            for expr in step.dims.iter().copied().chain([step.tiles]).chain(work) {
                facts.expr(expr, place)?;
            }
            if !step.spans.is_empty() && step.spans.len() != step.inputs.len() + step.outputs.len() {
                return at.fail("it says for some operands only what a tile touches".into());
            }
            for span in step.spans.iter().flatten() {
                [span.tiles, span.step, span.len].into_iter().try_for_each(|expr| facts.expr(expr, place))?;
            }
            facts.bound_expr(step.scratch, place)
        }
        Step::ReadDim { symbol, value, .. } => {
            at.late_symbol(*symbol)?;
            at.plain(*value)?;
            at.integer(*value)
        }
        Step::SetDim { symbol, expr } => {
            at.late_symbol(*symbol)?;
            facts.expr(*expr, place)
        }
        Step::Check(check) => in_range(check.index(), facts.manifest.checks.len(), "check", place),
        Step::Copy { from, to, sets } => at.copy(*from, *to, sets),
        Step::Builtin(step) => {
            for &input in step.inputs.iter().flatten() {
                facts.value(input, place)?;
            }
            for &output in step.outputs.iter().flatten() {
                at.writable(output)?;
            }
            step.sets.iter().try_for_each(|&symbol| at.late_symbol(symbol))
        }
        Step::If { cond, .. } => at.scalar(*cond, DType::Bool),
        Step::Loop(step) => at.loop_step(step),
    }
}

/// The checks that steps are made of, at one place.
struct At<'a> {
    facts: &'a Facts<'a>,
    place: &'a dyn Fn() -> String,
}

impl At<'_> {
    fn fail<T>(&self, cause: String) -> Result<T> {
        Err(Error::invalid((self.place)(), cause))
    }

    fn plain(&self, id: ValueId) -> Result<()> {
        if is_plain(self.facts.value(id, self.place)?) {
            return Ok(());
        }
        self.fail(format!("value {} must be a tensor in plain memory", id.0))
    }

    fn integer(&self, id: ValueId) -> Result<()> {
        let dtype = self.facts.value(id, self.place)?.dtype;
        if (DType::I64 as u8..=DType::Bool as u8).contains(&(dtype as u8)) {
            return Ok(());
        }
        self.fail(format!("value {} must be of integers", id.0))
    }

    fn scalar(&self, id: ValueId, dtype: DType) -> Result<()> {
        self.plain(id)?;
        if self.facts.value(id, self.place)?.dtype == dtype {
            return Ok(());
        }
        self.fail(format!("value {} must be {dtype}", id.0))
    }

    fn writable(&self, id: ValueId) -> Result<()> {
        self.facts.value(id, self.place)?;
        match self.facts.root(id).storage {
            Storage::Input(_) | Storage::Weight { .. } | Storage::Strings(_) => {
                self.fail(format!("value {} is read-only and would be written", id.0))
            }
            _ => Ok(()),
        }
    }

    fn late_symbol(&self, id: SymbolId) -> Result<()> {
        let symbols = &self.facts.manifest.symbols;
        in_range(id.index(), symbols.len(), "symbol", self.place)?;
        if symbols[id.index()].source == SymbolSource::Late {
            return Ok(());
        }
        self.fail(format!("symbol {} belongs to an input and would be set", id.0))
    }

    fn same_kind(&self, a: ValueId, b: ValueId) -> Result<()> {
        let (left, right) = (self.facts.value(a, self.place)?, self.facts.value(b, self.place)?);
        if left.form == right.form && left.dtype == right.dtype {
            return Ok(());
        }
        self.fail(format!("values {} and {} aren't of the same kind", a.0, b.0))
    }

    fn copy(&self, from: ValueId, to: ValueId, sets: &[SymbolId]) -> Result<()> {
        self.same_kind(from, to)?;
        self.writable(to)?;
        sets.iter().try_for_each(|&symbol| self.late_symbol(symbol))
    }

    fn loop_step(&self, step: &LoopStep) -> Result<()> {
        for (scalar, dtype) in [
            (step.trip, DType::I64),
            (step.iter, DType::I64),
            (step.cond_in, DType::Bool),
            (step.cond_out, DType::Bool),
        ] {
            scalar.map_or(Ok(()), |id| self.scalar(id, dtype))?;
        }
        step.iter.map_or(Ok(()), |id| self.writable(id))?;
        if step.trip.is_none() && step.cond_out.is_none() {
            return self.fail("the loop has no end".into());
        }
        for carried in &step.carried {
            self.copy(carried.init, carried.param, &carried.sets)?;
            self.copy(carried.next, carried.param, &carried.sets)?;
        }
        for (at, next) in
            step.carried.iter().map(|carried| self.facts.roots[carried.next.index()]).enumerate()
        {
            let earlier = &step.carried[..at];
            if earlier.iter().any(|carried| self.facts.roots[carried.param.index()] == next) {
                return self
                    .fail("a loop state's next value lives in another state that is replaced first".into());
            }
        }
        for scan in &step.scans {
            self.copy(scan.elem, scan.stacked, &[])?;
            scan.count.map_or(Ok(()), |symbol| self.late_symbol(symbol))?;
        }
        step.zero_if_empty.iter().try_for_each(|&symbol| self.late_symbol(symbol))
    }
}
