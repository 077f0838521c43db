//! How accesses move along an axis.

use tcc_ir::Dim;
use tcc_ir::kernel::{AxisId, BufferId, ExprId, Kernel, Scalar};
use tcc_ir::ops::BinaryKind;

/// Distance in memory between neighbours along an axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stride {
    /// The access doesn't depend on the axis.
    Zero,
    /// Neighbours are adjacent.
    One,
    /// Neighbours are a few elements apart: a vector of them lies in a few vectors of memory.
    Few,
    Other,
}

/// The stride of a load along `axis`.
pub fn stride_of(kernel: &Kernel, load: &Scalar, axis: AxisId) -> Stride {
    let Scalar::Load { index, .. } = load else { return Stride::Zero };
    let Some((last, outer)) = index.split_last() else { return Stride::Zero };
    if outer.iter().any(|e| depends(kernel, *e, axis)) {
        return Stride::Other;
    }
    match coefficient(kernel, *last, axis) {
        Some(0) => Stride::Zero,
        Some(1) => Stride::One,
        Some(2..=4) => Stride::Few,
        _ => Stride::Other,
    }
}

/// How many points `axes` have together.
pub fn product(kernel: &Kernel, axes: &[AxisId]) -> Dim {
    Dim::product(axes.iter().map(|a| kernel.extent(*a).clone()))
}

/// Whether an expression depends on the position on `axis`.
pub fn depends(kernel: &Kernel, id: ExprId, axis: AxisId) -> bool {
    matches!(kernel.expr(id), Scalar::Axis(a) if *a == axis)
        || kernel.operands(id).iter().any(|e| depends(kernel, *e, axis))
}

/// The factor of `axis` in an expression that is linear in it; None when it isn't, or the factor isn't a constant.
pub fn coefficient(kernel: &Kernel, id: ExprId, axis: AxisId) -> Option<i64> {
    match kernel.expr(id) {
        Scalar::Axis(a) => Some(i64::from(*a == axis)),
        Scalar::Binary(BinaryKind::Add, a, b) => {
            coefficient(kernel, *a, axis)?.checked_add(coefficient(kernel, *b, axis)?)
        }
        Scalar::Binary(BinaryKind::Sub, a, b) => {
            coefficient(kernel, *a, axis)?.checked_sub(coefficient(kernel, *b, axis)?)
        }
        Scalar::Binary(BinaryKind::Mul, a, b) => match (kernel.expr(*a), kernel.expr(*b)) {
            (_, Scalar::Int(_, k)) => coefficient(kernel, *a, axis)?.checked_mul(*k),
            (Scalar::Int(_, k), _) => coefficient(kernel, *b, axis)?.checked_mul(*k),
            _ => (!depends(kernel, id, axis)).then_some(0),
        },
        _ => (!depends(kernel, id, axis)).then_some(0),
    }
}

/// Whether an expression depends on an element of `buffer`.
pub fn reads(kernel: &Kernel, id: ExprId, buffer: BufferId) -> bool {
    matches!(kernel.expr(id), Scalar::Load { buffer: b, .. } if *b == buffer)
        || kernel.operands(id).iter().any(|e| reads(kernel, *e, buffer))
}
