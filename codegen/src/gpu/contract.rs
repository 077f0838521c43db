//! Sums of products: a work-group a tile of the result, with both operands' parts in shared memory.
//!
//! One operand runs along the rows `m`, the other along the columns `n`, whatever their index expressions are (so a
//! convolution is the same as a matrix product). Step by step along `k` the group copies a part of each into
//! shared memory, and each thread adds to its own few results. The results then go through shared memory too, so
//! that neighbouring threads store neighbouring columns, and the epilogue stands in the code once.

use super::THREADS;
use super::group::Group;
use crate::lower::access::product;
use crate::lower::emitter::{Emitter, Memory};
use crate::lower::product::Product;
use crate::lower::writer::{Ty, Val};
use tcc_ir::kernel::{AxisId, ExprId, Kernel, Stage};
use tcc_ir::{DType, Dim};

/// Rows and columns of a tile, and its steps along k.
const ROWS: i64 = 32;
const COLUMNS: i64 = 32;
const DEPTH: i64 = 16;
/// A thread's results: neighbouring rows, and columns so far apart that neighbouring threads have neighbours.
const THREAD_ROWS: i64 = 4;
const THREAD_COLUMNS: i64 = 2;
const APART: i64 = COLUMNS / THREAD_COLUMNS;
const _: () = assert!(ROWS * COLUMNS == THREADS * THREAD_ROWS * THREAD_COLUMNS);

/// A kernel of this class.
pub struct Contract {
    batch: Vec<AxisId>,
    p: Product,
}

impl Contract {
    /// The kernel as one of this class; None when it isn't, or when most of a tile would be empty.
    pub fn of(kernel: &Kernel, stage: &Stage) -> Option<Contract> {
        let p = Product::of(kernel, stage)?;
        if !kernel.outer.is_empty() || !matches!(p.dtype, DType::F32 | DType::F64 | DType::I32 | DType::I64) {
            return None;
        }
        let small = |axes: &[AxisId], limit: i64| product(kernel, axes).as_const().is_some_and(|v| v < limit);
        if small(&p.m, ROWS / 8) || small(&p.n, COLUMNS / 8) || small(&p.k, DEPTH / 4) {
            return None;
        }
        let batch = stage.axes.iter().copied().filter(|a| !p.m.contains(a) && !p.n.contains(a)).collect();
        Some(Contract { batch, p })
    }

    /// How many tiles: batch times tiles of columns times tiles of rows.
    pub fn tiles(&self, kernel: &Kernel) -> Dim {
        product(kernel, &self.batch)
            * self.across(kernel, &self.p.n, COLUMNS)
            * self.across(kernel, &self.p.m, ROWS)
    }

    fn across(&self, kernel: &Kernel, axes: &[AxisId], width: i64) -> Dim {
        product(kernel, axes).ceil_div(&Dim::from(width))
    }

    pub fn write(&self, group: &mut Group, tile: &Val) {
        let kernel = group.e.kernel;
        let e = &mut group.e;
        let across = e.dim_index(&self.across(kernel, &self.p.n, COLUMNS));
        let (columns, left) = (e.w.bin("arith.remui", tile, &across), e.w.bin("arith.divui", tile, &across));
        let down = e.dim_index(&self.across(kernel, &self.p.m, ROWS));
        let (rows, batch) = (e.w.bin("arith.remui", &left, &down), e.w.bin("arith.divui", &left, &down));
        e.set_axes_from_linear(&self.batch, &batch);
        let (width, height) = (e.w.index(COLUMNS), e.w.index(ROWS));
        let (n0, m0) = (e.w.bin("arith.muli", &columns, &width), e.w.bin("arith.muli", &rows, &height));
        let ty = element(self.p.dtype);
        let size = |e: &mut Emitter, axes: &[AxisId]| e.dim_index(&product(kernel, axes));
        let (m_size, n_size, k_size) = (size(e, &self.p.m), size(e, &self.p.n), size(e, &self.p.k));
        let left = group.shared(ty, ROWS * DEPTH);
        let right = group.shared(ty, DEPTH * COLUMNS);
        let results = group.shared(ty, ROWS * COLUMNS);
        let stage = &kernel.stages[0];
        Tile { c: self, stage, ty, left, right, results, m0, n0, m_size, n_size, k_size }.write(group);
    }
}

/// One tile being written.
struct Tile<'c> {
    c: &'c Contract,
    stage: &'c Stage,
    ty: Ty,
    /// Parts of the operands, `ROWS * DEPTH` and `DEPTH * COLUMNS`, and the results.
    left: Memory,
    right: Memory,
    results: Memory,
    /// The first row and column, and how many there are in all.
    m0: Val,
    n0: Val,
    m_size: Val,
    n_size: Val,
    k_size: Val,
}

impl Tile<'_> {
    fn write(&self, group: &mut Group) {
        let e = &mut group.e;
        let apart = e.w.index(APART);
        let (down, across) =
            (e.w.bin("arith.divui", &group.thread, &apart), e.w.bin("arith.remui", &group.thread, &apart));
        let height = e.w.index(THREAD_ROWS);
        let first_row = e.w.bin("arith.muli", &down, &height);
        let zero = match self.ty {
            Ty::Float(_) => e.w.float(self.ty, 0.0),
            ty => e.w.int(ty, 0),
        };
        let inits = vec![zero.clone(); (THREAD_ROWS * THREAD_COLUMNS) as usize];
        let (start, depth) = (e.w.index(0), e.w.index(DEPTH));
        let open = e.w.open_for((&start, &self.k_size, &depth), &inits);
        let k0 = open.iv.clone();
        // The parts may still be read for the step before.
        group.barrier();
        self.copy_rows(group, &k0, &zero);
        self.copy_columns(group, &k0, &zero);
        group.barrier();
        let sums = self.multiply(group, (&first_row, &across), &open.carried);
        let sums = group.e.w.close_for(open, &sums);
        for (at, sum) in sums.iter().enumerate() {
            let e = &mut group.e;
            let (i, j) = (at as i64 / THREAD_COLUMNS, at as i64 % THREAD_COLUMNS);
            let row = offset(e, &first_row, i);
            let column = offset(e, &across, j * APART);
            let at = flat(e, &row, COLUMNS, &column);
            e.w.store(sum, &self.results, &at);
        }
        group.barrier();
        self.finish(group);
    }

    /// The rows' part; beyond the last step it is zero, beyond the last row anything.
    fn copy_rows(&self, group: &mut Group, k0: &Val, zero: &Val) {
        self.copy(group, ROWS * DEPTH, &|e, at| {
            let depth = e.w.index(DEPTH);
            let (row, step) = (e.w.bin("arith.divui", at, &depth), e.w.bin("arith.remui", at, &depth));
            let row = e.w.bin("arith.addi", &self.m0, &row);
            let row = within(e, &row, &self.m_size);
            e.set_axes_from_linear(&self.c.p.m, &row);
            let v = self.operand(e, self.c.p.rows, (k0, &step), zero);
            e.w.store(&v, &self.left, at);
        });
    }

    /// The columns' part, likewise.
    fn copy_columns(&self, group: &mut Group, k0: &Val, zero: &Val) {
        self.copy(group, DEPTH * COLUMNS, &|e, at| {
            let width = e.w.index(COLUMNS);
            let (step, column) = (e.w.bin("arith.divui", at, &width), e.w.bin("arith.remui", at, &width));
            let column = e.w.bin("arith.addi", &self.n0, &column);
            let column = within(e, &column, &self.n_size);
            e.set_axes_from_linear(&self.c.p.n, &column);
            let v = self.operand(e, self.c.p.columns, (k0, &step), zero);
            e.w.store(&v, &self.right, at);
        });
    }

    /// Each thread does every so-manieth of `n` elements.
    fn copy(&self, group: &mut Group, n: i64, element: &dyn Fn(&mut Emitter, &Val)) {
        let n = group.e.w.index(n);
        group.strided(&n, &[], &mut |e, at, _| {
            element(e, at);
            vec![]
        });
    }

    /// An operand at step `k0 + step`; zero beyond the last.
    fn operand(&self, e: &mut Emitter, operand: ExprId, (k0, step): (&Val, &Val), zero: &Val) -> Val {
        let k = e.w.bin("arith.addi", k0, step);
        let inside = e.w.cmp("slt", &k, &self.k_size);
        let k = within(e, &k, &self.k_size);
        e.set_axes_from_linear(&self.c.p.k, &k);
        let v = e.eval(self.stage, operand);
        e.w.select(&inside, &v, zero)
    }

    /// Adds the products of the present parts to the thread's sums.
    fn multiply(&self, group: &mut Group, (first_row, across): (&Val, &Val), sums: &[Val]) -> Vec<Val> {
        let e = &mut group.e;
        let (start, depth) = (e.w.index(0), e.w.index(DEPTH));
        e.for_loop((&start, &depth), 1, sums, |e, step, sums| {
            let rows: Vec<Val> = (0..THREAD_ROWS)
                .map(|i| {
                    let row = offset(e, first_row, i);
                    let at = flat(e, &row, DEPTH, &step);
                    e.w.load(&self.left, self.ty, &at)
                })
                .collect();
            let columns: Vec<Val> = (0..THREAD_COLUMNS)
                .map(|j| {
                    let column = offset(e, across, j * APART);
                    let at = flat(e, &step, COLUMNS, &column);
                    e.w.load(&self.right, self.ty, &at)
                })
                .collect();
            let pairs = rows.iter().flat_map(|a| columns.iter().map(move |b| (a, b)));
            pairs.zip(sums).map(|((a, b), sum)| multiply_add(e, a, b, sum)).collect()
        })
    }

    /// The epilogue, each thread at every so-manieth result that exists.
    fn finish(&self, group: &mut Group) {
        let n = group.e.w.index(ROWS * COLUMNS);
        group.strided(&n, &[], &mut |e, at, _| {
            let width = e.w.index(COLUMNS);
            let (row, column) = (e.w.bin("arith.divui", at, &width), e.w.bin("arith.remui", at, &width));
            let m = e.w.bin("arith.addi", &self.m0, &row);
            let n = e.w.bin("arith.addi", &self.n0, &column);
            let (m_in, n_in) = (e.w.cmp("slt", &m, &self.m_size), e.w.cmp("slt", &n, &self.n_size));
            let inside = e.w.bin("arith.andi", &m_in, &n_in);
            e.w.open_if(&inside);
            e.set_axes_from_linear(&self.c.p.m, &m);
            e.set_axes_from_linear(&self.c.p.n, &n);
            e.accs = vec![e.w.load(&self.results, self.ty, at)];
            e.stores(self.stage);
            e.w.close_if();
            vec![]
        });
    }
}

fn element(dtype: DType) -> Ty {
    let bits = 8 * dtype.size() as u32;
    if dtype.is_float() { Ty::Float(bits) } else { Ty::Int(bits) }
}

/// `at`, or the last place before `size`.
fn within(e: &mut Emitter, at: &Val, size: &Val) -> Val {
    let one = e.w.index(1);
    let last = e.w.bin("arith.subi", size, &one);
    e.w.bin("arith.minsi", at, &last)
}

fn offset(e: &mut Emitter, at: &Val, by: i64) -> Val {
    let by = e.w.index(by);
    e.w.bin("arith.addi", at, &by)
}

/// `row * width + column`.
fn flat(e: &mut Emitter, row: &Val, width: i64, column: &Val) -> Val {
    let width = e.w.index(width);
    let first = e.w.bin("arith.muli", row, &width);
    e.w.bin("arith.addi", &first, column)
}

fn multiply_add(e: &mut Emitter, a: &Val, b: &Val, sum: &Val) -> Val {
    match sum.ty {
        Ty::Float(_) if e.target.can.fma => {
            e.w.def(sum.ty, format_args!("math.fma {a}, {b}, {sum} : {}", sum.ty))
        }
        Ty::Float(_) => {
            let product = e.w.bin("arith.mulf", a, b);
            e.w.bin("arith.addf", &product, sum)
        }
        _ => {
            let product = e.w.bin("arith.muli", a, b);
            e.w.bin("arith.addi", &product, sum)
        }
    }
}
