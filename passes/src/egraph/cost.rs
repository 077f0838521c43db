//! What a kernel costs: a roofline over its stages.
//!
//! Seconds = launch + max(computing, moving bytes) + a share of the other: they overlap in part, as in the
//! execution-cache-memory model (Treibig and Hager, "Introducing a performance model for bandwidth-limited loop
//! kernels", 2009). Moving counts each operand and result once, at the speed of the cache that it fits in; further reads
//! of the same elements, and temporaries, hit the nearest cache and count as computing. Computing counts every
//! evaluation of an expression, so work done twice is paid twice.

use super::machine::Machine;
use super::products::{self, Block, contracted};
use tcc_ir::kernel::{AxisId, BufferId, BufferKind, ExprId, Kernel, Scalar, Stage};
use tcc_ir::ops::{BinaryKind, UnaryKind};
use tcc_ir::{DType, Dim};

/// Points of a kernel below which it isn't worth to wake another thread.
const MIN_SHARE: f64 = 8192.0;
/// Cycles to enter an inner loop, and to move to the next point of the outer axes.
const ENTER: f64 = 8.0;
/// The share of the shorter of computing and moving bytes that isn't done beside the longer.
const APART: f64 = 0.5;
/// The same of multiplying and of reading a matrix once more: panels are read ahead.
const APART_IN_PRODUCTS: f64 = 0.05;

/// What an extent counts as when nothing is known of it.
const UNKNOWN_EXTENT: i64 = 64;

/// A size as a number; what inputs decide counts as its upper bound, or as something usual.
pub fn size(d: &Dim) -> f64 {
    // The end of an integer type says nothing of a size.
    let told = |hi: &i64| ![i16::MAX.into(), u16::MAX.into(), i32::MAX.into(), u32::MAX.into()].contains(hi);
    let guess = |s: &tcc_ir::Symbol| {
        let hi = s.hi.filter(told).unwrap_or(UNKNOWN_EXTENT);
        Some(hi.clamp(s.lo.max(1), 4096.max(s.lo)))
    };
    d.eval(&guess).map_or(UNKNOWN_EXTENT as f64, |v| v.max(0) as f64)
}

/// What a kernel takes.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Cost {
    pub seconds: f64,
    /// Bytes of operands and results, but for constants.
    pub bytes: f64,
    pub flops: f64,
}

/// Estimates a kernel. `constant` tells which of its operands are constants.
pub fn of_kernel(kernel: &Kernel, machine: &Machine, constant: &dyn Fn(usize) -> bool) -> Cost {
    let matrices = products::has_matrices(kernel, machine);
    let block = if matrices { None } else { Block::of(kernel, machine) };
    let estimate = Estimate { kernel, machine, axes_of: axes_of(kernel), block, matrices };
    let mut total = Cost::default();
    let mut cycles = 0.0;
    // Of each buffer: how often an element is read, and how many different ones at most.
    let mut reads = vec![(0.0, 0.0); kernel.buffers.len()];
    let outer = points(kernel, &kernel.outer);
    for stage in &kernel.stages {
        let parallel = outer * points(kernel, &stage.axes);
        let inner = parallel * points(kernel, &stage.reduce);
        let accs = kernel.reachable(stage.accs.iter().map(|a| a.value));
        let stores = stage.stores.iter().flat_map(|s| s.index.iter().chain([&s.value]).chain(&s.guard));
        let stores = kernel.reachable(stores.copied());
        let at_stores = if stage.scan { inner } else { parallel };
        let (per_acc, per_store) = estimate.stage(stage, &accs, &stores);
        total.flops += at_stores * per_store.0 + inner * per_acc.0;
        let reading = match (&block, matrices) {
            (Some(block), _) => block.reading(kernel, stage, machine),
            (None, true) => products::reading(kernel, stage, machine),
            (None, false) => None,
        };
        let reading = reading.unwrap_or(0.0);
        cycles +=
            at_stores * per_store.1 + beside(inner * per_acc.1, reading * machine.hertz, APART_IN_PRODUCTS);
        if !estimate.is_blocked_product(stage) {
            let turns = estimate.innermost(stage, &accs).map_or(1.0, |a| size(kernel.extent(a)).max(1.0));
            cycles += ENTER
                * match (kernel.outer.is_empty(), stage.reduce.is_empty()) {
                    // One flat loop.
                    (true, true) => 0.0,
                    (true, false) => inner / turns,
                    (false, _) => outer + inner / turns,
                };
        }
        for (set, n) in [(&accs, inner), (&stores, at_stores)] {
            for (buffer, index) in loads(kernel, set) {
                let (read, distinct) = &mut reads[buffer.0 as usize];
                *read += n;
                *distinct += estimate.distinct(buffer, index);
            }
        }
    }
    let (mut moving, mut operand) = (0.0, 0);
    for (buffer, (read, distinct)) in
        kernel.buffers.iter().zip(reads).filter(|(b, _)| b.kind != BufferKind::Temp)
    {
        let whole = size(&buffer.ty.n_bytes());
        let touched = match buffer.kind {
            BufferKind::Input => whole.min(f64::min(read, distinct) * buffer.ty.dtype.size() as f64),
            BufferKind::Output | BufferKind::Temp => whole,
        };
        let input = buffer.kind == BufferKind::Input;
        if !(input && constant(operand)) {
            total.bytes += touched;
        }
        operand += usize::from(input);
        moving += machine.transfer(touched, whole);
    }
    // Threads are given stretches of some thousand points each, whole points of the outer axes.
    let work = kernel.stages.iter().map(|s| points(kernel, &s.axes) * points(kernel, &s.reduce)).sum::<f64>();
    let most = match (kernel.outer.is_empty(), kernel.stages.len()) {
        _ if kernel.serial => 1.0,
        (false, _) => block.as_ref().map_or(outer, |b| outer / b.rows * (b.rows / Block::LEAST).ceil()),
        (true, 1) => f64::INFINITY,
        // Nothing to share out.
        (true, _) => 1.0,
    };
    let shared = (outer * work / MIN_SHARE).min(most).clamp(1.0, f64::from(machine.cores.max(1)));
    let computing = cycles / machine.hertz;
    total.seconds = machine.launch + beside(computing, moving, APART) / shared;
    total
}

/// What two things take that are done beside each other, but for a share of the shorter.
fn beside(a: f64, b: f64, apart: f64) -> f64 {
    a.max(b) + apart * a.min(b)
}

pub fn points(kernel: &Kernel, axes: &[AxisId]) -> f64 {
    axes.iter().map(|a| size(kernel.extent(*a))).product()
}

/// A set of axes. Those beyond the last bit share it.
pub type Axes = u128;

pub fn bit(axis: AxisId) -> Axes {
    1 << axis.0.min(127)
}

/// The axes that each expression depends on.
pub fn axes_of(kernel: &Kernel) -> Vec<Axes> {
    let mut found: Vec<Axes> = Vec::with_capacity(kernel.exprs.len());
    for (i, e) in kernel.exprs.iter().enumerate() {
        let own = match e {
            Scalar::Axis(a) => bit(*a),
            // Other at every point.
            Scalar::Acc(_) | Scalar::AccBefore(_) => Axes::MAX,
            _ => 0,
        };
        let operands = kernel.operands(ExprId(i as u32));
        found.push(operands.iter().fold(own, |set, o| set | found[o.0 as usize]));
    }
    found
}

pub fn loads<'k>(kernel: &'k Kernel, set: &'k [bool]) -> impl Iterator<Item = (BufferId, &'k [ExprId])> {
    kernel.exprs.iter().zip(set).filter(|(_, used)| **used).filter_map(|(e, _)| match e {
        Scalar::Load { buffer, index, .. } => Some((*buffer, &index[..])),
        _ => None,
    })
}

struct Estimate<'k> {
    kernel: &'k Kernel,
    machine: &'k Machine,
    axes_of: Vec<Axes>,
    block: Option<Block>,
    /// Whether products run as they stand in each stage.
    matrices: bool,
}

impl Estimate<'_> {
    /// Operations and cycles for each point that is accumulated, and for each point that stores.
    fn stage(&self, stage: &Stage, accs: &[bool], stores: &[bool]) -> ((f64, f64), (f64, f64)) {
        let mut per_acc = self.work(stage, accs, self.innermost(stage, accs));
        let mut per_store = self.work(stage, stores, stage.axes.last().or(stage.reduce.last()).copied());
        per_store.1 += stage.stores.len() as f64 / self.lanes(4);
        let n_accs = stage.accs.len() as f64;
        per_acc = (per_acc.0 + n_accs, per_acc.1 + n_accs / self.lanes(4));
        // The schedule of matrix products reads packed operands, at the peak of the machine.
        if self.is_blocked_product(stage) {
            let pairs = products::is_of_pairs(self.kernel, stage);
            let rate = if pairs { self.machine.pairs_per_cycle } else { self.machine.flops_per_cycle };
            per_acc = (2.0, 2.0 / f64::from(rate.max(1)));
        }
        (per_acc, per_store)
    }

    /// The axis of the innermost loop of what is accumulated; of the stores, where nothing is.
    fn innermost(&self, stage: &Stage, accs: &[bool]) -> Option<AxisId> {
        let last = stage.axes.last().copied();
        if stage.reduce.is_empty() {
            return last;
        }
        // A block of the last axis runs inside of the reduction where memory is contiguous along it.
        let blocked = last.filter(|a| {
            loads(self.kernel, accs).all(|(_, i)| self.contiguous(i, *a))
                && loads(self.kernel, accs).any(|(_, i)| i.last().is_some_and(|e| self.along(*e, *a)))
        });
        blocked.or(stage.reduce.last().copied())
    }

    /// Whether the stage runs by the schedule of matrix products: rows and columns enough for a register block.
    fn is_blocked_product(&self, stage: &Stage) -> bool {
        let kernel = self.kernel;
        let Some((x, y)) = contracted(kernel, stage) else { return false };
        if kernel.stages.len() > 1 || !kernel.outer.is_empty() {
            return self.block.is_some() || self.matrices;
        }
        let only = |a: ExprId, b: ExprId| -> f64 {
            let axes = stage.axes.iter().filter(|axis| self.along(a, **axis) && !self.along(b, **axis));
            axes.map(|axis| size(kernel.extent(*axis))).product()
        };
        let (rows, columns) = (only(x, y), only(y, x));
        rows.min(columns) >= 4.0 && rows.max(columns) >= 8.0 && points(kernel, &stage.reduce) >= 4.0
    }

    /// Whether a quotient or remainder is found once for a panel of columns of a matrix product, all of its rows: no panel
    /// reaches over a multiple of the divisor.
    fn is_of_panel(&self, stage: &Stage, e: &Scalar) -> bool {
        let Scalar::Binary(BinaryKind::Div | BinaryKind::Mod, at, by) = e else { return false };
        let panel = i64::from(self.machine.panel);
        match (self.kernel.expr(*at), self.kernel.expr(*by)) {
            (Scalar::Axis(_), Scalar::Int(DType::I64, by)) => {
                panel > 0 && by % panel == 0 && self.is_blocked_product(stage)
            }
            (quotient @ Scalar::Binary(BinaryKind::Div, ..), Scalar::Int(..)) => {
                self.is_of_panel(stage, quotient)
            }
            _ => false,
        }
    }

    /// How many elements a load with this index reads at most.
    fn distinct(&self, buffer: BufferId, index: &[ExprId]) -> f64 {
        let positions = |(e, extent): (&ExprId, &Dim)| {
            let axes = (0..self.kernel.axes.len() as u32).map(AxisId).filter(|a| self.along(*e, *a));
            axes.map(|a| size(self.kernel.extent(a))).product::<f64>().min(size(extent))
        };
        index.iter().zip(&self.kernel.buffer(buffer).ty.shape).map(positions).product()
    }

    fn along(&self, e: ExprId, axis: AxisId) -> bool {
        self.axes_of[e.0 as usize] & bit(axis) != 0
    }

    /// Whether neighbours along the axis are neighbours in memory, or the same place.
    fn contiguous(&self, index: &[ExprId], axis: AxisId) -> bool {
        let Some((last, outer)) = index.split_last() else { return true };
        !outer.iter().any(|e| self.along(*e, axis)) && self.linear(*last, axis)
    }

    fn linear(&self, e: ExprId, axis: AxisId) -> bool {
        match self.kernel.expr(e) {
            Scalar::Axis(_) => true,
            Scalar::Binary(BinaryKind::Add, a, b) => self.linear(*a, axis) && self.linear(*b, axis),
            Scalar::Binary(BinaryKind::Sub, a, b) => self.linear(*a, axis) && !self.along(*b, axis),
            _ => !self.along(e, axis),
        }
    }

    fn lanes(&self, bytes: usize) -> f64 {
        f64::from((self.machine.vector_bytes / bytes.max(1) as u32).max(1))
    }

    /// Operations and cycles of evaluating a set of expressions at a point, inside of a loop along `axis`. What
    /// doesn't depend on the axis is computed outside of the loop.
    fn work(&self, stage: &Stage, set: &[bool], axis: Option<AxisId>) -> (f64, f64) {
        let (mut flops, mut cycles) = (0.0, 0.0);
        let vector = axis.is_some_and(|axis| loads(self.kernel, set).all(|(_, i)| self.contiguous(i, axis)));
        let turns = axis.map_or(1.0, |a| size(self.kernel.extent(a)).max(1.0));
        let mut dtypes = vec![DType::I64; set.len()];
        for (i, scalar) in self.kernel.exprs.iter().enumerate().filter(|(i, _)| set[*i]) {
            let id = ExprId(i as u32);
            dtypes[i] = match scalar {
                Scalar::Unary(kind, a) if *kind != UnaryKind::IsNan => dtypes[a.0 as usize],
                Scalar::Binary(_, a, _) | Scalar::Select(_, a, _) => dtypes[a.0 as usize],
                Scalar::Check { value, .. } => dtypes[value.0 as usize],
                _ => self.kernel.dtype(stage, id),
            };
            let dtype = dtypes[i];
            let along = |e: &ExprId| axis.is_none_or(|a| self.along(*e, a));
            let each = if along(&id) { 1.0 } else { 1.0 / turns };
            let weight = match scalar {
                _ if self.is_of_panel(stage, scalar) => 0.0,
                // A guard that doesn't vary along the loop is looked at once.
                Scalar::Load { guard: Some(guard), .. } if along(guard) => (1.0 + GUARD) * each,
                _ => weight(scalar, dtype) * each,
            };
            if dtype != DType::I64 && !matches!(scalar, Scalar::Load { .. }) {
                flops += weight;
            }
            // Two units work side by side.
            cycles += weight / if vector { 2.0 * self.lanes(dtype.size()) } else { 2.0 };
        }
        (flops, cycles)
    }
}

/// Operations that the guard of a load counts as.
const GUARD: f64 = 2.0;

/// Operations that an expression counts as.
fn weight(scalar: &Scalar, dtype: DType) -> f64 {
    match scalar {
        Scalar::Float(..) | Scalar::Int(..) | Scalar::Axis(_) | Scalar::Dim(_) => 0.0,
        Scalar::Acc(_) | Scalar::AccBefore(_) => 0.0,
        Scalar::Load { .. } => 1.0,
        Scalar::Unary(kind, _) => match kind {
            UnaryKind::Neg | UnaryKind::Abs | UnaryKind::Not | UnaryKind::IsNan | UnaryKind::Sign => 1.0,
            UnaryKind::Ceil | UnaryKind::Floor | UnaryKind::Round | UnaryKind::Trunc => 1.0,
            UnaryKind::Sqrt | UnaryKind::Reciprocal => 8.0,
            UnaryKind::Exp | UnaryKind::Expm1 | UnaryKind::Log | UnaryKind::Log1p => 16.0,
            UnaryKind::Sigmoid | UnaryKind::Tanh | UnaryKind::Erf => 24.0,
            _ => 40.0,
        },
        // Index arithmetic that isn't linear keeps loops from being vectors.
        Scalar::Binary(BinaryKind::Div | BinaryKind::Mod | BinaryKind::Rem, ..) if !dtype.is_float() => 40.0,
        Scalar::Binary(BinaryKind::Div, ..) => 8.0,
        Scalar::Binary(BinaryKind::Pow | BinaryKind::Mod | BinaryKind::Rem, ..) => 40.0,
        Scalar::Binary(..) if dtype == DType::I64 => 0.25,
        Scalar::Binary(..) | Scalar::Compare(..) | Scalar::Select(..) => 1.0,
        Scalar::Cast(..) | Scalar::Bitcast(..) => 1.0,
        Scalar::Check { .. } => 4.0,
    }
}
