//! Guards as loop bounds: where a conjunction of linear comparisons holds along one axis.

use super::access::{coefficient, depends};
use super::emitter::Emitter;
use super::scalar::INDEX;
use super::writer::{I1, Ty, Val};
use tcc_ir::kernel::{Acc, AccOp, AxisId, ExprId, Kernel, Scalar, Stage};
use tcc_ir::ops::BinaryKind;
use tcc_ir::{Cmp, DType};

/// A guard, split by an axis.
pub struct Bounds {
    pub guard: ExprId,
    axis: AxisId,
    /// Terms that don't depend on the axis.
    free: Vec<ExprId>,
    limits: Vec<Limit>,
}

/// `factor * axis + rest >= 0`, where the left side is `sign * (a - b) + offset`.
struct Limit {
    a: ExprId,
    b: ExprId,
    sign: i64,
    offset: i64,
    factor: i64,
}

impl Bounds {
    /// The guard that a stage's accumulators are under, if where it is false none of them changes, and its terms
    /// are linear in `axis`.
    pub fn of(kernel: &Kernel, stage: &Stage, axis: AxisId) -> Option<Bounds> {
        let mut guards = stage.accs.iter().map(|acc| neutral_unless(kernel, acc));
        let guard = guards.next()??;
        if guards.any(|other| other != Some(guard)) {
            return None;
        }
        let mut bounds = Bounds { guard, axis, free: vec![], limits: vec![] };
        bounds.take(kernel, guard).then_some(bounds)
    }

    /// Those terms of a guard that are linear in `axis` and don't depend on the axes `inner`; None when there are none.
    pub fn of_terms(
        kernel: &Kernel,
        guard: ExprId,
        axis: AxisId,
        inner: &[AxisId],
    ) -> Option<(Bounds, Vec<ExprId>)> {
        let terms = terms(kernel, guard).into_iter().filter(|term| {
            depends(kernel, *term, axis) && !inner.iter().any(|other| depends(kernel, *term, *other))
        });
        let mut bounds = Bounds { guard, axis, free: vec![], limits: vec![] };
        let taken: Vec<ExprId> = terms.filter(|term| bounds.take(kernel, *term)).collect();
        (!taken.is_empty()).then_some((bounds, taken))
    }

    fn take(&mut self, kernel: &Kernel, term: ExprId) -> bool {
        if !depends(kernel, term, self.axis) {
            self.free.push(term);
            return true;
        }
        match kernel.expr(term) {
            Scalar::Binary(BinaryKind::And, a, b) => self.take(kernel, *a) && self.take(kernel, *b),
            Scalar::Compare(cmp, a, b) => match self.limit(kernel, *cmp, *a, *b) {
                Some(limit) => {
                    self.limits.push(limit);
                    true
                }
                None => false,
            },
            _ => false,
        }
    }

    fn limit(&self, kernel: &Kernel, cmp: Cmp, a: ExprId, b: ExprId) -> Option<Limit> {
        let (sign, offset) = match cmp {
            Cmp::Ge => (1, 0),
            Cmp::Gt => (1, -1),
            Cmp::Le => (-1, 0),
            Cmp::Lt => (-1, -1),
            Cmp::Eq | Cmp::Ne => return None,
        };
        let factor = coefficient(kernel, a, self.axis)?.checked_sub(coefficient(kernel, b, self.axis)?)?;
        let factor = factor.checked_mul(sign)?;
        (factor != 0).then_some(Limit { a, b, sign, offset, factor })
    }

    /// The positions within `lo..hi` (of type index) where the guard holds, with everything else in place. An empty
    /// range has its end at or before its start.
    pub fn range(&self, e: &mut Emitter, stage: &Stage, (lo, hi): (&Val, &Val)) -> (Val, Val) {
        let origin = e.w.int(INDEX, 0);
        e.set_axis(self.axis, origin);
        let (mut lo, mut hi) = (lo.clone(), hi.clone());
        for limit in &self.limits {
            let (a, b) = (e.eval(stage, limit.a), e.eval(stage, limit.b));
            let (a, b) = if limit.sign > 0 { (a, b) } else { (b, a) };
            let rest = e.w.bin("arith.subi", &a, &b);
            let rest = e.w.index_cast(&rest, Ty::Index);
            let offset = e.w.index(limit.offset);
            let rest = e.w.bin("arith.addi", &rest, &offset);
            let size = e.w.index(limit.factor.abs());
            if limit.factor > 0 {
                let zero = e.w.index(0);
                let missing = e.w.bin("arith.subi", &zero, &rest);
                let first = e.w.bin("arith.ceildivsi", &missing, &size);
                lo = e.w.bin("arith.maxsi", &lo, &first);
            } else {
                let last = e.w.bin("arith.floordivsi", &rest, &size);
                let one = e.w.index(1);
                let end = e.w.bin("arith.addi", &last, &one);
                hi = e.w.bin("arith.minsi", &hi, &end);
            }
        }
        for term in &self.free {
            let holds = e.eval(stage, *term);
            debug_assert_eq!(holds.ty, I1);
            hi = e.w.select(&holds, &hi, &lo);
        }
        (lo, hi)
    }
}

/// What has to hold for a guard to.
fn terms(kernel: &Kernel, guard: ExprId) -> Vec<ExprId> {
    match kernel.expr(guard) {
        Scalar::Binary(BinaryKind::And, a, b) => [terms(kernel, *a), terms(kernel, *b)].concat(),
        _ => vec![guard],
    }
}

/// The guard where an accumulator's value is neutral when it is false. A product with an element outside of its
/// buffer counts as 0 whatever the other factor is: padding of a convolution adds nothing.
fn neutral_unless(kernel: &Kernel, acc: &Acc) -> Option<ExprId> {
    match acc.op {
        AccOp::Sum => zero_unless(kernel, acc.value),
        AccOp::Max | AccOp::Min => {
            let Scalar::Select(guard, _, otherwise) = kernel.expr(acc.value) else { return None };
            is_identity(kernel, acc.op, acc.dtype, *otherwise).then_some(*guard)
        }
        AccOp::Prod | AccOp::ArgMax { .. } | AccOp::ArgMin { .. } => None,
    }
}

fn zero_unless(kernel: &Kernel, id: ExprId) -> Option<ExprId> {
    match kernel.expr(id) {
        Scalar::Load { guard, .. } => *guard,
        Scalar::Cast(_, a) => zero_unless(kernel, *a),
        Scalar::Binary(BinaryKind::Mul, a, b) => zero_unless(kernel, *a).or_else(|| zero_unless(kernel, *b)),
        _ => None,
    }
}

fn is_identity(kernel: &Kernel, op: AccOp, dtype: DType, id: ExprId) -> bool {
    let low = op == AccOp::Max;
    match kernel.expr(id) {
        Scalar::Float(_, v) => v.0 == if low { f64::NEG_INFINITY } else { f64::INFINITY },
        Scalar::Int(_, v) => {
            dtype.int_range().is_some_and(|(lo, hi)| i128::from(*v) == if low { lo } else { hi })
        }
        _ => false,
    }
}
