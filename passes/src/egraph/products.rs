//! Matrix products among the stages of a kernel, and how schedules run them.

use super::cost::{Axes, axes_of, bit, loads, points, size};
use super::machine::Machine;
use tcc_ir::DType;
use tcc_ir::kernel::{AxisId, BufferKind, ExprId, Kernel, Places, Scalar, Stage};
use tcc_ir::ops::BinaryKind;

/// A product of values that don't vary along the same parallel axes, which a stage sums up: a matrix product or
/// convolution, where each value is used many times.
pub fn contracted(kernel: &Kernel, stage: &Stage) -> Option<(ExprId, ExprId)> {
    if stage.reduce.is_empty() || stage.scan {
        return None;
    }
    let products = stage.accs.iter().filter_map(|acc| match kernel.expr(acc.value) {
        Scalar::Binary(BinaryKind::Mul, x, y) if x != y => Some((*x, *y)),
        _ => None,
    });
    let products: Vec<_> = products.collect();
    if products.is_empty() {
        return None;
    }
    let axes = axes_of(kernel);
    let parallel = kernel.outer.iter().chain(&stage.axes).fold(0, |set, a| set | bit(*a));
    let varies = |e: ExprId| axes[e.0 as usize] & parallel;
    products.into_iter().find(|(x, y)| varies(*x) != varies(*y))
}

/// Whether a stage sums products of integers of few bits in 32 bits: two of them with one multiplication of vectors,
/// where the machine has it.
pub fn is_of_pairs(kernel: &Kernel, stage: &Stage) -> bool {
    let narrow = |e: ExprId| {
        let Scalar::Cast(DType::I32, inner) = kernel.expr(e) else { return false };
        matches!(kernel.expr(*inner), Scalar::Load { buffer, .. } if kernel.buffer(*buffer).ty.dtype.fits_i16())
    };
    stage.accs.len() == 1 && contracted(kernel, stage).is_some_and(|(x, y)| narrow(x) && narrow(y))
}

/// Whether a stage is a matrix product or convolution.
pub fn has_product(kernel: &Kernel) -> bool {
    kernel.stages.iter().any(|s| contracted(kernel, s).is_some())
}

/// Whether every product of a kernel of several stages is one of matrices at each point of the outer axes, of which one
/// is the same at all points: the stages run as they stand then, products by the schedule of matrix products.
pub fn has_matrices(kernel: &Kernel, machine: &Machine) -> bool {
    if machine.row_block == 0 || kernel.stages.len() < 2 || kernel.outer.is_empty() || kernel.serial {
        return false;
    }
    let axes = rows_of(kernel);
    let moves = |e: ExprId, axis: &AxisId| axes[e.0 as usize] & bit(*axis) != 0;
    let is_matrix = |stage: &Stage, (x, y): (ExprId, ExprId)| {
        let known = |a: &AxisId| kernel.extent(*a).as_const().is_some();
        let only = |a: ExprId, b: ExprId| {
            let own: Vec<AxisId> =
                stage.axes.iter().copied().filter(|axis| moves(a, axis) && !moves(b, axis)).collect();
            points(kernel, &own)
        };
        stage.axes.iter().chain(&stage.reduce).all(known)
            && kernel.outer.iter().all(|axis| !moves(x, axis))
                != kernel.outer.iter().all(|axis| !moves(y, axis))
            && only(x, y).min(only(y, x)) >= 8.0
            && points(kernel, &stage.reduce) >= 4.0
    };
    let products = || kernel.stages.iter().filter_map(|s| Some((s, contracted(kernel, s)?)));
    products().next().is_some() && products().all(|(stage, operands)| is_matrix(stage, operands))
}

/// Seconds that such a kernel takes to read the operands of a product for each point of the outer axes but the first.
pub fn reading(kernel: &Kernel, stage: &Stage, machine: &Machine) -> Option<f64> {
    let (x, y) = contracted(kernel, stage)?;
    let again = (points(kernel, &kernel.outer) - 1.0).max(0.0);
    let used = kernel.reachable([x, y]);
    let inputs =
        loads(kernel, &used).map(|(id, _)| kernel.buffer(id)).filter(|b| b.kind == BufferKind::Input);
    let seconds = inputs.map(|b| {
        let bytes = size(&b.ty.n_bytes());
        machine.transfer(bytes, bytes)
    });
    Some(again * seconds.sum::<f64>())
}

/// How a kernel of several stages, products among them, is run: over blocks of an outer axis, whose rows all its
/// products have. What else a product reads is read once a block.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Block {
    /// Points of the axis.
    pub rows: f64,
    axis: AxisId,
    /// Rows of a block.
    size: f64,
}

impl Block {
    /// Rows that a block has at least, so that threads have work.
    pub const LEAST: f64 = 24.0;

    /// None when there is no such axis, or no schedule for it.
    pub fn of(kernel: &Kernel, machine: &Machine) -> Option<Block> {
        let limit = f64::from(machine.row_block);
        if limit == 0.0 || kernel.stages.len() < 2 || kernel.serial {
            return None;
        }
        let products: Vec<(&Stage, (ExprId, ExprId))> =
            kernel.stages.iter().filter_map(|s| Some((s, contracted(kernel, s)?))).collect();
        if products.is_empty() {
            return None;
        }
        // Windows are not its schedule's.
        let windows = products.iter().any(|(stage, (x, y))| {
            let used = kernel.reachable([*x, *y]);
            let guarded = |e: &Scalar| matches!(e, Scalar::Load { guard: Some(_), .. });
            stage.reduce.len() > 2 || kernel.exprs.iter().zip(used).any(|(e, used)| used && guarded(e))
        });
        if windows {
            return None;
        }
        let axes = rows_of(kernel);
        let outer = kernel.outer.iter().fold(0, |set, a| set | bit(*a));
        let fits = |axis: AxisId| {
            // Of an open number of rows there may be one, which leaves nothing to share out where all rows have the
            // same columns.
            let open = kernel.extent(axis).as_const().is_none();
            products.iter().all(|(stage, (x, y))| {
                let Some((rows, columns)) = sides(&axes, axis, *x, *y) else { return false };
                if open && columns & outer == 0 {
                    return false;
                }
                let only = |a: &&AxisId| columns & bit(**a) != 0 && rows & bit(**a) == 0;
                let n: f64 = stage.axes.iter().filter(only).map(|a| size(kernel.extent(*a))).product();
                n >= 8.0 && points(kernel, &stage.reduce) >= 4.0
            })
        };
        let axis = kernel.outer.iter().rev().copied().find(|a| size(kernel.extent(*a)) >= 4.0 && fits(*a))?;
        let rows = size(kernel.extent(axis));
        let bytes = temp_bytes(kernel);
        let cached =
            (machine.caches[1] as f64 * 0.75 / bytes.max(1.0)).clamp(Block::LEAST, limit.max(Block::LEAST));
        Some(Block { axis, rows, size: rows.min(cached) })
    }

    /// Bytes that the temporaries of a block take at least.
    pub fn temp_bytes(&self, kernel: &Kernel) -> f64 {
        temp_bytes(kernel) * self.rows.min(Block::LEAST)
    }

    /// Whether what the products pass on to each other is worth keeping from memory: it is large beside what each block
    /// reads anew. Products with large matrices do better one after the other, each shared out to all threads.
    pub fn pays(&self, kernel: &Kernel) -> bool {
        let axes = rows_of(kernel);
        let products = || kernel.stages.iter().filter_map(|s| Some((s, contracted(kernel, s)?)));
        let temps = |e: ExprId| {
            loads(kernel, &kernel.reachable([e])).any(|(b, _)| kernel.buffer(b).kind == BufferKind::Temp)
        };
        let (mut passed, mut read) = (0.0, 0.0);
        for (stage, (x, y)) in products() {
            let elements = |e: ExprId| {
                let all = kernel.outer.iter().chain(&stage.axes).chain(&stage.reduce);
                all.filter(|a| axes[e.0 as usize] & bit(**a) != 0)
                    .map(|a| size(kernel.extent(*a)))
                    .product::<f64>()
            };
            let (rows, columns) = if axes[x.0 as usize] & bit(self.axis) != 0 { (x, y) } else { (y, x) };
            passed += if temps(rows) { elements(rows) } else { 0.0 };
            read += elements(columns);
        }
        products().count() < 2 || 2.0 * passed >= read
    }

    /// Seconds that a product of the kernel takes to read its columns for each block but the first: once they are read
    /// in any case.
    pub fn reading(&self, kernel: &Kernel, stage: &Stage, machine: &Machine) -> Option<f64> {
        let (x, y) = contracted(kernel, stage)?;
        let axes = rows_of(kernel);
        let columns = if axes[x.0 as usize] & bit(self.axis) == 0 { x } else { y };
        let blocks = points(kernel, &kernel.outer) / self.rows * (self.rows / self.size).ceil();
        let again = (blocks - 1.0).max(0.0);
        let moves = |e: ExprId, list: &[AxisId]| {
            let along = list.iter().filter(|a| axes[e.0 as usize] & bit(**a) != 0);
            along.map(|a| size(kernel.extent(*a))).product::<f64>()
        };
        let elements = moves(columns, &stage.axes) * moves(columns, &stage.reduce);
        let used = kernel.reachable([columns]);
        let seconds = loads(kernel, &used).map(|(buffer, _)| {
            let ty = &kernel.buffer(buffer).ty;
            let whole =
                if kernel.buffer(buffer).kind == BufferKind::Temp { 0.0 } else { size(&ty.n_bytes()) };
            machine.transfer(elements * ty.dtype.size() as f64, whole)
        });
        Some(again * seconds.sum::<f64>())
    }
}

/// The axes that each expression depends on, temporaries being other ones at each point of the outer axes.
fn rows_of(kernel: &Kernel) -> Vec<Axes> {
    let mut axes = axes_of(kernel);
    let outer = kernel.outer.iter().fold(0, |set, a| set | bit(*a));
    for (i, e) in kernel.exprs.iter().enumerate() {
        let temp =
            matches!(e, Scalar::Load { buffer, .. } if kernel.buffer(*buffer).kind == BufferKind::Temp);
        let below = kernel.operands(ExprId(i as u32)).iter().fold(0, |set, o| set | axes[o.0 as usize]);
        axes[i] |= below | if temp { outer } else { 0 };
    }
    axes
}

/// The axes of the operand that moves along `axis`, and those of the one that doesn't.
fn sides(axes: &[Axes], axis: AxisId, x: ExprId, y: ExprId) -> Option<(Axes, Axes)> {
    let (x, y) = (axes[x.0 as usize], axes[y.0 as usize]);
    match (x & bit(axis) != 0, y & bit(axis) != 0) {
        (true, false) => Some((x, y)),
        (false, true) => Some((y, x)),
        _ => None,
    }
}

/// Bytes that the temporaries take at a point of the outer axes.
pub fn temp_bytes(kernel: &Kernel) -> f64 {
    Places::of(kernel).bytes.iter().map(size).sum()
}
