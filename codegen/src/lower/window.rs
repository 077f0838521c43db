//! Reductions over a small window: all of its elements in one expression, so that the accumulators stay in registers.
//! Where guards bound the window, that is done where they hold for all of it; what is left at the ends goes the general way.

use super::access::product;
use super::bounds::Bounds;
use super::emitter::Emitter;
use super::scalar::INDEX;
use super::writer::{I1, Val};
use tcc_ir::kernel::{AxisId, Kernel, Scalar, Stage};
use tcc_ir::ops::{BinaryKind, UnaryKind};

/// Elements of a window at most: beyond, their coefficients don't stay in registers.
const MAX_TAPS: i64 = 32;
/// Expressions of all elements at most.
const MAX_EXPRESSIONS: usize = 1024;
/// Positions that are done at once, a vector of them.
const RUN: i64 = 8;
/// Positions on a shorter axis are better off with loops that LLVM unrolls in full.
const LEAST: i64 = 20;

/// Positions on the reduced axes, of each element of a window. None when there are none, or too many.
fn taps(kernel: &Kernel, stage: &Stage) -> Option<Vec<Vec<i64>>> {
    let n = product(kernel, &stage.reduce).as_const().filter(|n| (1..=MAX_TAPS).contains(n))?;
    let extents: Vec<i64> =
        stage.reduce.iter().map(|a| kernel.extent(*a).as_const()).collect::<Option<_>>()?;
    let position = |number: i64| {
        let mut rest = number;
        let innermost_first = extents.iter().rev().map(|n| {
            let at = rest % n;
            rest /= n;
            at
        });
        let mut at: Vec<i64> = innermost_first.collect();
        at.reverse();
        at
    };
    Some((0..n).map(position).collect())
}

/// The expressions that are accumulated.
fn accumulated<'k>(kernel: &'k Kernel, stage: &Stage) -> impl Iterator<Item = &'k Scalar> {
    let used = kernel.reachable(stage.accs.iter().map(|acc| acc.value));
    kernel.exprs.iter().zip(used).filter(|(_, used)| *used).map(|(e, _)| e)
}

/// Whether what is accumulated can be read everywhere.
fn is_unguarded(kernel: &Kernel, stage: &Stage) -> bool {
    let guarded = |e: &Scalar| {
        matches!(e, Scalar::Load { guard: Some(_), .. } | Scalar::Select(..) | Scalar::Check { .. })
    };
    !accumulated(kernel, stage).any(guarded)
}

/// Whether it is little enough to be written once for each of so many elements: a function takes tens of instructions.
fn is_short(kernel: &Kernel, stage: &Stage, taps: usize) -> bool {
    let is_function = |e: &Scalar| match e {
        Scalar::Unary(kind, _) => !matches!(kind, UnaryKind::Neg | UnaryKind::Abs),
        Scalar::Binary(kind, ..) => matches!(kind, BinaryKind::Pow),
        _ => false,
    };
    !accumulated(kernel, stage).any(is_function)
        && accumulated(kernel, stage).count() * taps <= MAX_EXPRESSIONS
}

impl Emitter<'_> {
    /// A reduction over a small window along the axis `last`, under a guard with these bounds. False, and nothing written,
    /// where it isn't one.
    pub fn windowed(&mut self, stage: &Stage, last: AxisId, bounds: Option<&Bounds>) -> bool {
        let Some(taps) = taps(self.kernel, stage) else { return false };
        // The last run of a row may do again what the one before did.
        let overwrites = stage.stores.iter().all(|store| store.update.is_none());
        let short = self.kernel.extent(last).as_const().is_some_and(|n| n < LEAST);
        let fits = !short && overwrites && is_short(self.kernel, stage, taps.len());
        if !fits || bounds.is_none() && !is_unguarded(self.kernel, stage) {
            return false;
        }
        let (first, end) = self.range(last);
        let (mut lo, mut hi) = (first.clone(), end.clone());
        if let Some(bounds) = bounds {
            for tap in &taps {
                self.enter_tap(stage, tap);
                let (from, to) = bounds.range(self, stage, (&first, &end));
                lo = self.w.bin("arith.maxsi", &lo, &from);
                hi = self.w.bin("arith.minsi", &hi, &to);
            }
            lo = self.w.bin("arith.minsi", &lo, &end);
        }
        let length = self.w.bin("arith.subi", &hi, &lo);
        let (width, zero) = (self.w.index(RUN), self.w.index(0));
        let fits = self.w.cmp("sge", &length, &width);
        let known = std::mem::take(&mut self.known);
        self.w.open_if(&fits);
        // Runs overlap where the length isn't a multiple.
        let runs = self.w.bin("arith.ceildivui", &length, &width);
        let latest = self.w.bin("arith.subi", &hi, &width);
        self.for_loop((&zero, &runs), 1, &[], |e, number, _| {
            let start = e.w.bin("arith.muli", &number, &width);
            let start = e.w.bin("arith.addi", &lo, &start);
            let start = e.w.bin("arith.minsi", &start, &latest);
            let end = e.w.bin("arith.addi", &start, &width);
            e.window_points(stage, last, (&start, &end), &taps, bounds);
            vec![]
        });
        if bounds.is_some() {
            for ends in [(&first, &lo), (&hi, &end)] {
                self.window_points(stage, last, ends, &taps, None);
            }
        }
        self.w.open_else();
        self.known.clear();
        self.blocked(stage, last, (&first, &end), bounds);
        self.w.close_if();
        self.known = known;
        true
    }

    /// Positions on the axis `last`, each with all elements of its window; `within` the bounds, if these are given.
    fn window_points(
        &mut self,
        stage: &Stage,
        last: AxisId,
        range: (&Val, &Val),
        taps: &[Vec<i64>],
        within: Option<&Bounds>,
    ) {
        self.for_loop(range, 1, &[], |e, at, _| {
            e.enter(last, &at);
            let mut running: Vec<Val> = stage.accs.iter().flat_map(|acc| e.identity(acc)).collect();
            for tap in taps {
                e.enter_tap(stage, tap);
                if let Some(bounds) = within {
                    let holds = e.w.int(I1, 1);
                    e.known.insert(bounds.guard, holds);
                }
                running = e.update(stage, &running);
            }
            e.accs = e.visible(stage, &running);
            e.known.clear();
            e.stores(stage);
            vec![]
        });
    }

    fn enter_tap(&mut self, stage: &Stage, tap: &[i64]) {
        for (axis, at) in stage.reduce.iter().zip(tap) {
            let at = self.w.int(INDEX, *at);
            self.set_axis(*axis, at);
        }
    }
}
