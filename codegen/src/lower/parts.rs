//! Maps of what is read under a guard: where this bounds positions on an axis, there is a loop for each of the parts in which
//! it is false, true, and false again. Neither of them asks.

use super::bounds::Bounds;
use super::emitter::Emitter;
use super::hoist::movable_of;
use super::writer::{I1, Val};
use tcc_ir::kernel::{AxisId, ExprId, Kernel, Scalar, Stage};

/// The guard of what a map reads, where there is one: that of its first load that has any.
pub fn guard_of(kernel: &Kernel, stage: &Stage) -> Option<ExprId> {
    let is_map = stage.accs.is_empty() && stage.reduce.is_empty();
    let plain = stage.stores.iter().all(|store| store.guard.is_none());
    if !is_map || !plain || !movable_of(kernel, stage).is_empty() {
        return None;
    }
    let used = kernel.reachable(stage.stores.iter().map(|store| store.value));
    kernel.exprs.iter().zip(used).find_map(|(e, used)| match e {
        Scalar::Load { guard, .. } if used => *guard,
        _ => None,
    })
}

impl Emitter<'_> {
    /// The points of a map along `axes`, whose loads are under `guard`.
    pub fn in_parts(&mut self, stage: &Stage, axes: &[AxisId], guard: ExprId) {
        let Some((axis, inner)) = axes.split_first() else { return self.stores(stage) };
        let (first, end) = self.range(*axis);
        let known = self.hoisted.contains_key(&guard);
        let bounds = Bounds::of_terms(self.kernel, guard, *axis, inner).filter(|_| !known);
        let Some((bounds, terms)) = bounds else {
            return self.map_part(stage, axes, guard, (&first, &end), &[]);
        };
        let (lo, hi) = bounds.range(self, stage, (&first, &end));
        let lo = self.w.bin("arith.minsi", &lo, &end);
        let hi = self.w.bin("arith.maxsi", &hi, &lo);
        let [never, always] = [0, 1].map(|holds| self.w.int(I1, holds));
        let outside = [(guard, never)];
        let inside: Vec<(ExprId, Val)> = terms.into_iter().map(|term| (term, always.clone())).collect();
        self.map_part(stage, axes, guard, (&first, &lo), &outside);
        self.map_part(stage, axes, guard, (&lo, &hi), &inside);
        self.map_part(stage, axes, guard, (&hi, &end), &outside);
    }

    /// As [`Emitter::in_parts`], of a range on the first axis in which some conditions are known.
    fn map_part(
        &mut self,
        stage: &Stage,
        axes: &[AxisId],
        guard: ExprId,
        range: (&Val, &Val),
        conditions: &[(ExprId, Val)],
    ) {
        let before = self.hoisted.clone();
        self.hoisted.extend(conditions.iter().cloned());
        self.for_loop(range, 1, &[], |e, at, _| {
            e.enter(axes[0], &at);
            e.in_parts(stage, &axes[1..], guard);
            vec![]
        });
        self.hoisted = before;
    }
}
