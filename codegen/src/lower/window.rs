//! Reductions over a small window: all of its elements in one expression, so that the accumulators stay in registers.

use super::access::product;
use super::emitter::Emitter;
use super::nest::{Array, BLOCK};
use super::scalar::INDEX;
use super::writer::Val;
use tcc_ir::DType;
use tcc_ir::kernel::{AccOp, AxisId, ExprId, Kernel, Scalar, Stage};
use tcc_ir::ops::{BinaryKind, UnaryKind};

/// Elements of a window at most: beyond, their coefficients don't stay in registers.
const MAX_TAPS: i64 = 64;
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

/// Whether it is little enough to be written once for each of so many elements.
fn is_short(kernel: &Kernel, stage: &Stage, taps: usize) -> bool {
    !has_functions(kernel, stage.accs.iter().map(|acc| acc.value))
        && accumulated(kernel, stage).count() * taps <= MAX_EXPRESSIONS
}

/// Whether there is a function in these expressions: tens of instructions.
fn has_functions(kernel: &Kernel, roots: impl Iterator<Item = ExprId>) -> bool {
    let is_function = |e: &Scalar| match e {
        Scalar::Unary(kind, _) => !matches!(kind, UnaryKind::Neg | UnaryKind::Abs),
        Scalar::Binary(kind, ..) => matches!(kind, BinaryKind::Pow),
        _ => false,
    };
    kernel.exprs.iter().zip(kernel.reachable(roots)).any(|(e, used)| used && is_function(e))
}

impl Emitter<'_> {
    /// A reduction over a small window along the axis `last`, for all positions on it. False, and nothing written, where it
    /// isn't one.
    pub fn windowed(&mut self, stage: &Stage, last: AxisId) -> bool {
        let Some(taps) = taps(self.kernel, stage) else { return false };
        // The last run of a row may do again what the one before did.
        let overwrites = stage.stores.iter().all(|store| store.update.is_none());
        let extent = self.kernel.extent(last).clone();
        let whole = extent.modulo(&RUN.into()).is_const(0);
        let short = !whole && extent.as_const().is_some_and(|n| n < LEAST);
        if short
            || !overwrites
            || !is_short(self.kernel, stage, taps.len())
            || !is_unguarded(self.kernel, stage)
        {
            return false;
        }
        let (first, end) = self.range(last);
        if whole {
            match has_functions(self.kernel, stage.stores.iter().map(|store| store.value)) {
                true => self.sums_first(stage, last, (&first, &end), &taps),
                false => self.window_points(stage, last, (&first, &end), &taps, None),
            }
            return true;
        }
        let length = self.w.bin("arith.subi", &end, &first);
        let (width, zero) = (self.w.index(RUN), self.w.index(0));
        let fits = self.w.cmp("sge", &length, &width);
        let known = std::mem::take(&mut self.known);
        self.w.open_if(&fits);
        // Runs overlap where the length isn't a multiple.
        let runs = self.w.bin("arith.ceildivui", &length, &width);
        let latest = self.w.bin("arith.subi", &end, &width);
        self.for_loop((&zero, &runs), 1, &[], |e, number, _| {
            let start = e.w.bin("arith.muli", &number, &width);
            let start = e.w.bin("arith.addi", &first, &start);
            let start = e.w.bin("arith.minsi", &start, &latest);
            let end = e.w.bin("arith.addi", &start, &width);
            e.window_points(stage, last, (&start, &end), &taps, None);
            vec![]
        });
        self.w.open_else();
        self.known.clear();
        self.blocked(stage, last, (&first, &end), None);
        self.w.close_if();
        self.known = known;
        true
    }

    /// As [`Emitter::window_points`], the sums of a block in front of what is made of them: functions of one vector after
    /// the other, with nothing between, overlap.
    fn sums_first(&mut self, stage: &Stage, last: AxisId, (first, n): (&Val, &Val), taps: &[Vec<i64>]) {
        let arrays = self.block_arrays(stage);
        self.for_loop((first, n), BLOCK, &[], |e, start, _| {
            let block = e.w.index(BLOCK);
            let end = e.w.bin("arith.addi", &start, &block);
            let end = e.w.bin("arith.minsi", &end, n);
            e.window_points(stage, last, (&start, &end), taps, Some((&arrays, &start)));
            e.for_loop((&start, &end), 1, &[], |e, at, _| {
                e.enter(last, &at);
                e.stores_of_block(stage, &arrays, (&start, &at));
                vec![]
            });
            vec![]
        });
    }

    /// Positions on the axis `last`, each with all elements of its window; what is accumulated goes into arrays that start
    /// at a position, if these are given, and else to the stores.
    fn window_points(
        &mut self,
        stage: &Stage,
        last: AxisId,
        range: (&Val, &Val),
        taps: &[Vec<i64>],
        arrays: Option<(&[Array], &Val)>,
    ) {
        self.for_loop(range, 1, &[], |e, at, _| {
            e.enter(last, &at);
            let mut running: Vec<Val> = stage.accs.iter().flat_map(|acc| e.identity(acc)).collect();
            for tap in taps {
                e.enter_tap(stage, tap);
                running = e.update_tap(stage, &running);
            }
            match arrays {
                Some((arrays, start)) => e.store_block(arrays, (start, &at), &running),
                None => {
                    e.accs = e.visible(stage, &running);
                    e.known.clear();
                    e.stores(stage);
                }
            }
            vec![]
        });
    }

    /// As [`Emitter::update`], products and sums in one as those of matrix products are.
    fn update_tap(&mut self, stage: &Stage, running: &[Val]) -> Vec<Val> {
        let kernel = self.kernel;
        let [acc] = &stage.accs[..] else { return self.update(stage, running) };
        match (kernel.expr(acc.value), acc.dtype) {
            (Scalar::Binary(BinaryKind::Mul, a, b), DType::F32 | DType::F64)
                if acc.op == AccOp::Sum
                    && self.target.can.fma
                    && kernel.dtype(stage, acc.value) == acc.dtype =>
            {
                let (a, b, sum) = (self.eval(stage, *a), self.eval(stage, *b), &running[0]);
                vec![self.w.def(sum.ty, format_args!("math.fma {a}, {b}, {sum} : {}", sum.ty))]
            }
            _ => self.update(stage, running),
        }
    }

    fn enter_tap(&mut self, stage: &Stage, tap: &[i64]) {
        for (axis, at) in stage.reduce.iter().zip(tap) {
            let at = self.w.int(INDEX, *at);
            self.set_axis(*axis, at);
        }
    }
}
