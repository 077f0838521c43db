//! Sums of products: what matrix products and convolutions have in common for every schedule.

use super::access::depends;
use tcc_ir::DType;
use tcc_ir::kernel::{AccOp, AxisId, ExprId, Kernel, Scalar, Stage};
use tcc_ir::ops::BinaryKind;

/// A stage that sums products of two operands, and the axes by the operands that move along them.
pub struct Product {
    /// Axes of the result along which only the rows move, in order.
    pub m: Vec<AxisId>,
    /// Axes of the result along which only the columns move, in order.
    pub n: Vec<AxisId>,
    /// Axes that are summed over.
    pub k: Vec<AxisId>,
    pub rows: ExprId,
    /// The operand that moves along the last axis of the result.
    pub columns: ExprId,
    /// Of the sum, and of the product.
    pub dtype: DType,
}

impl Product {
    /// The stage as one, at a point of the kernel's outer axes, where its stores overwrite.
    pub fn of(kernel: &Kernel, stage: &Stage) -> Option<Product> {
        let [acc] = stage.accs.as_slice() else { return None };
        let overwrites = stage.stores.iter().all(|s| s.update.is_none());
        if stage.scan || acc.op != AccOp::Sum || !overwrites || kernel.dtype(stage, acc.value) != acc.dtype {
            return None;
        }
        let Scalar::Binary(BinaryKind::Mul, x, y) = kernel.expr(acc.value) else { return None };
        let last = *stage.axes.last()?;
        let (rows, columns) = if depends(kernel, *y, last) { (*x, *y) } else { (*y, *x) };
        let of_side = |side: (bool, bool)| -> Vec<AxisId> {
            let has = |a: &AxisId| (depends(kernel, rows, *a), depends(kernel, columns, *a)) == side;
            stage.axes.iter().copied().filter(has).collect()
        };
        let (m, n) = (of_side((true, false)), of_side((false, true)));
        Some(Product { m, n, k: stage.reduce.clone(), rows, columns, dtype: acc.dtype })
    }
}
