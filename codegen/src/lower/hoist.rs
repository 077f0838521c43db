//! What is done in front of the loops that it doesn't depend on: run-time checks, as a loop that may fail isn't
//! vectorised; and reading temporaries, which LLVM can't tell from those that the loop writes, all in one scratch memory.

use super::emitter::Emitter;
use super::writer::{I1, Val};
use tcc_ir::kernel::{AxisId, BufferKind, ExprId, Kernel, Scalar, Stage};

impl Emitter<'_> {
    /// As [`Emitter::over_axes`], of a stage that runs along `beyond` too, inside of these loops.
    pub fn over_stage_axes(
        &mut self,
        stage: &Stage,
        (axes, beyond): (&[AxisId], &[AxisId]),
        carried: &[Val],
        body: &mut dyn FnMut(&mut Self, &[Val]) -> Vec<Val>,
    ) -> Vec<Val> {
        let Some((axis, rest)) = axes.split_first() else { return body(self, carried) };
        if let Some(guard) = self.guard_ahead(stage, &[axes, beyond].concat()) {
            let holds = self.eval(stage, guard);
            let (known, hoisted) = (self.known.clone(), self.hoisted.clone());
            self.w.open_if(&holds);
            let always = self.w.int(I1, 1);
            self.hoisted.insert(guard, always);
            self.known.clear();
            let done = self.over_stage_axes(stage, (axes, beyond), carried, body);
            self.w.close_if();
            (self.known, self.hoisted) = (known, hoisted);
            return done;
        }
        self.hoisting(stage, &[axes, beyond].concat(), |e| {
            e.over_axes(&[*axis], carried, &mut |e, inside| {
                e.over_stage_axes(stage, (rest, beyond), inside, body)
            })
        })
    }

    /// The guard of all stores of a stage, where it is the same for all positions on `inner` axes, and nothing else is
    /// done there: loops needn't be entered where it is false.
    fn guard_ahead(&self, stage: &Stage, inner: &[AxisId]) -> Option<ExprId> {
        let guard = stage.stores.first()?.guard?;
        let alone = stage.accs.is_empty() && stage.stores.iter().all(|store| store.guard == Some(guard));
        let checks = || movable_of(self.kernel, stage).into_iter().map(|id| self.kernel.expr(id));
        let fits = alone
            && !self.hoisted.contains_key(&guard)
            && !checks().any(|e| matches!(e, Scalar::Check { .. }))
            && !moving(self.kernel, stage, inner)[guard.0 as usize];
        fits.then_some(guard)
    }

    /// Writes loops over `inner` axes, in front of them what the stage does that doesn't depend on these.
    pub fn hoisting<R>(&mut self, stage: &Stage, inner: &[AxisId], loops: impl FnOnce(&mut Self) -> R) -> R {
        let saved = self.hoisted.clone();
        let movable = movable_of(self.kernel, stage);
        if !movable.is_empty() {
            let moving = moving(self.kernel, stage, inner);
            for id in movable.into_iter().filter(|id| !moving[id.0 as usize]) {
                if !self.hoisted.contains_key(&id) {
                    let value = match self.kernel.expr(id) {
                        Scalar::Check { .. } => self.check_ahead(stage, id, inner),
                        _ => self.eval(stage, id),
                    };
                    self.hoisted.insert(id, value);
                }
            }
        }
        let done = loops(self);
        self.hoisted = saved;
        done
    }

    /// The value of a check that fails only if the loops over `inner` get to it.
    fn check_ahead(&mut self, stage: &Stage, id: ExprId, inner: &[AxisId]) -> Val {
        let Scalar::Check { cond, value } = self.kernel.expr(id) else {
            unreachable!("only checks come here")
        };
        // Stores behind a reduction are done also where it is empty.
        let stored = !stage.scan && self.kernel.reachable(of_stores(stage))[id.0 as usize];
        let may_be_empty = |axis: &&AxisId| !self.kernel.extent(**axis).as_const().is_some_and(|n| n > 0);
        let within = inner.iter().filter(|axis| !(stored && stage.reduce.contains(axis)));
        let within: Vec<AxisId> = within.filter(may_be_empty).copied().collect();
        let reached = within.into_iter().map(|axis| {
            let (lo, hi) = self.range(axis);
            self.w.cmp("slt", &lo, &hi)
        });
        let reached: Vec<Val> = reached.collect();
        let reached = reached.into_iter().reduce(|a, b| self.w.bin("arith.andi", &a, &b));
        // What loads give under this condition isn't theirs elsewhere.
        let known = self.known.clone();
        let outer = std::mem::replace(&mut self.reached, reached.clone());
        let cond = self.eval(stage, *cond);
        let passes = match &reached {
            Some(reached) => {
                let truth = self.w.int(I1, 1);
                let unreached = self.w.bin("arith.xori", reached, &truth);
                self.w.bin("arith.ori", &cond, &unreached)
            }
            None => cond.clone(),
        };
        self.check(&passes);
        let value = self.eval(stage, *value);
        (self.reached, self.known) = (outer, known);
        let zero = self.zero(self.kernel.dtype(stage, id));
        self.w.select(&cond, &value, &zero)
    }
}

/// The checks and the loads of temporaries that a stage evaluates, inner ones first. A load without a guard has a place
/// wherever it stands.
pub fn movable_of(kernel: &Kernel, stage: &Stage) -> Vec<ExprId> {
    let used = kernel.reachable(stage.accs.iter().map(|acc| acc.value).chain(of_stores(stage)));
    let movable = |e: &Scalar| match e {
        Scalar::Check { .. } => true,
        Scalar::Load { buffer, guard: None, .. } => kernel.buffer(*buffer).kind == BufferKind::Temp,
        _ => false,
    };
    let all = kernel.exprs.iter().zip(used).enumerate();
    all.filter(|(_, (e, used))| *used && movable(e)).map(|(i, _)| ExprId(i as u32)).collect()
}

/// What the stores of a stage evaluate.
fn of_stores(stage: &Stage) -> impl Iterator<Item = ExprId> + '_ {
    stage.stores.iter().flat_map(|s| s.index.iter().chain([&s.value]).chain(&s.guard)).copied()
}

/// The expressions that may differ at the points of a loop over `inner`: they depend on it, or on what the stage makes.
fn moving(kernel: &Kernel, stage: &Stage, inner: &[AxisId]) -> Vec<bool> {
    let mut found: Vec<bool> = Vec::with_capacity(kernel.exprs.len());
    for (i, e) in kernel.exprs.iter().enumerate() {
        let own = match e {
            Scalar::Axis(axis) => inner.contains(axis),
            Scalar::Load { buffer, .. } => stage.stores.iter().any(|store| store.buffer == *buffer),
            Scalar::Acc(_) | Scalar::AccBefore(_) => true,
            _ => false,
        };
        found.push(own || kernel.operands(ExprId(i as u32)).iter().any(|operand| found[operand.0 as usize]));
    }
    found
}
