//! Kernels of several stages of which some are sums of products: attention, or a product and the normalisation of
//! its rows.
//!
//! Row by row such a product is one of a vector with a matrix, which is as slow as reading the matrix. So one of the
//! outer axes is cut into blocks: temporaries hold all rows of a block, the products of a block are matrix products
//! (see `contract`), and the other stages run along the rows as along any axis. A tile of the run time is a block.

use super::access::product;
use super::collapse::{Rebuild, rebuild};
use super::contract::{Contract, FEW_ROWS};
use super::emitter::Emitter;
use super::span::Tiling;
use super::writer::Val;
use crate::machine::Machine;
use crate::target::Target;
use tcc_ir::kernel::{AxisId, BufferId, BufferKind, Builder, ExprId, Kernel, Places, Stage};
use tcc_ir::ops::BinaryKind;
use tcc_ir::{DType, Dim, Symbol};

/// Rows of a block at most: what is read once a block is used often enough then.
const MOST: i64 = 96;
/// Rows that a block has at least, whatever the temporaries take or threads would like.
const LEAST: i64 = 24;
/// Tiles a core below which blocks are made smaller, so that threads have work.
const FEW_TILES: i64 = 1;
/// What a size without an upper bound counts as.
const USUAL: i64 = 512;

/// Rows of a block at most on a target; 0 where kernels aren't run in blocks.
pub fn row_block(target: &Target) -> u32 {
    if target.is_gpu() || target.vector_bits == 0 { 0 } else { MOST as u32 }
}

/// A kernel whose stages run over a block of rows.
pub struct Blocks {
    /// The kernel over blocks: `block` is its last outer axis, `row` an axis of every stage and temporary.
    pub kernel: Kernel,
    block: AxisId,
    row: AxisId,
    size: i64,
    /// How many rows there are in all.
    rows: Dim,
    /// Rows are the last axis of temporaries, which vectors run along.
    across: bool,
    /// The schedule of every stage that is a product.
    pub products: Vec<Option<Contract>>,
}

impl Blocks {
    /// The kernel over blocks of the axis that does most for it; None when it has no products that gain by that.
    /// Constants among the operands will be laid out for their products.
    pub fn of(kernel: &Kernel, target: &Target, is_constant: &dyn Fn(BufferId) -> bool) -> Option<Blocks> {
        let mixed =
            |s: &Stage| stores_to(kernel, s, BufferKind::Temp) && stores_to(kernel, s, BufferKind::Output);
        if kernel.serial || kernel.stages.len() < 2 || kernel.stages.iter().any(mixed) {
            return None;
        }
        // Of equals the innermost one.
        let along = |axis: &AxisId| Blocks::along(kernel, *axis, target, is_constant);
        kernel.outer.iter().filter_map(along).max_by_key(Blocks::n_products)
    }

    fn along(
        kernel: &Kernel,
        axis: AxisId,
        target: &Target,
        is_constant: &dyn Fn(BufferId) -> bool,
    ) -> Option<Blocks> {
        if kernel.extent(axis).as_const().is_some_and(|rows| rows < FEW_ROWS) {
            return None;
        }
        let plain = Blocks::new(kernel, axis, target, false);
        if plain.n_products() == 0 {
            return None;
        }
        // Columns that have to be gathered from all over memory for every block become the rows, which are read in
        // place.
        let gathers = |c: &Contract| c.gathers() && !c.column_buffer(&plain.kernel).is_some_and(is_constant);
        if plain.products.iter().flatten().any(gathers) {
            let across = Blocks::new(kernel, axis, target, true);
            if across.n_products() >= plain.n_products() {
                return Some(across);
            }
        }
        Some(plain)
    }

    fn new(kernel: &Kernel, axis: AxisId, target: &Target, across: bool) -> Blocks {
        let (rows, size) = (kernel.extent(axis).clone(), block_size(kernel, axis, target, across));
        let mut shapes = kernel.clone();
        let [block, row] = [rows.ceil_div(&size.into()), size.into()].map(|extent| {
            shapes.axes.push(extent);
            AxisId(shapes.axes.len() as u32 - 1)
        });
        for buffer in shapes.buffers.iter_mut().filter(|b| b.kind == BufferKind::Temp) {
            let at = if across { buffer.ty.shape.len() } else { 0 };
            buffer.ty.shape.insert(at, size.into());
        }
        let cut = Cut { axis, block, row, size, rows: rows.clone(), across };
        let mut kernel = rebuild(kernel, shapes, &|a| a != axis, &cut);
        kernel.outer.push(block);
        let inner = |s: &Stage| across && !stores_to(&kernel, s, BufferKind::Output);
        let inner: Vec<bool> = kernel.stages.iter().map(inner).collect();
        for (stage, inner) in kernel.stages.iter_mut().zip(&inner) {
            stage.axes.insert(if *inner { stage.axes.len() } else { 0 }, row);
        }
        // A product that doesn't have them as its rows does all rows of a block: those past the last one are there only
        // where positions are clamped, for vectors along the rows.
        let product = |(stage, inner): (&Stage, &bool)| {
            let of = Contract::of_stage(&kernel, stage, target).filter(|c| !c.has_few_rows());
            of.filter(|c| *inner || c.rows_along(row))
        };
        let products = kernel.stages.iter().zip(&inner).map(product).collect();
        Blocks { kernel, block, row, size, rows, across, products }
    }

    /// How tiles are numbered, for `kernel`, the one whose axis isn't cut: blocks are innermost.
    pub fn tiling(&self, kernel: &Kernel) -> Tiling {
        match &kernel.outer[..] {
            [cut] => Tiling { axes: vec![*cut], stretch: self.size, inner: Dim::from(1) },
            _ => {
                let axes = self.kernel.outer.iter().copied().filter(|axis| *axis != self.block);
                let blocks = self.kernel.extent(self.block).clone();
                Tiling { axes: axes.collect(), stretch: 1, inner: blocks }
            }
        }
    }

    fn n_products(&self) -> usize {
        self.products.iter().flatten().count()
    }

    /// Writes a tile. `base` is the scratch memory already taken; gives the scratch that the whole needs.
    pub fn write(&self, e: &mut Emitter, tile: &Val, base: &Dim) -> Dim {
        let kernel = e.kernel;
        e.set_axes_from_linear(&kernel.outer, tile);
        let zero = e.w.index(0);
        let left = self.rows_left(e);
        let mut scratch = base.clone();
        for (stage, product) in kernel.stages.iter().zip(&self.products) {
            let rows = if stores_to(kernel, stage, BufferKind::Output) {
                Some(left.clone())
            } else {
                self.rows_of_temps(e, &left)
            };
            e.stretch = rows.map(|rows| (self.row, zero.clone(), rows));
            match product {
                Some(contract) => scratch = scratch.maximum(&contract.write_all(e, stage, base)),
                None => e.stage(stage, &kernel.outer),
            }
        }
        e.stretch = None;
        scratch
    }

    /// How many rows the present block has, of type index.
    fn rows_left(&self, e: &mut Emitter) -> Val {
        let size = e.w.index(self.size);
        let block = e.axis(self.block);
        let block = e.w.index_cast(&block, size.ty);
        let first = e.w.bin("arith.muli", &block, &size);
        let rows = e.dim_index(&self.rows);
        let left = e.w.bin("arith.subi", &rows, &first);
        e.w.bin("arith.minsi", &left, &size)
    }

    /// How many rows of temporaries are computed; None for all. Where vectors run along the rows, those that fill up a
    /// vector are computed too, as the last one again, and all of them where that makes a known number.
    fn rows_of_temps(&self, e: &mut Emitter, left: &Val) -> Option<Val> {
        if !self.across {
            return Some(left.clone());
        }
        if self.rows.as_const().is_some() {
            return None;
        }
        let lanes = e.w.index(VECTOR);
        let vectors = e.w.bin("arith.ceildivui", left, &lanes);
        let (rows, size) = (e.w.bin("arith.muli", &vectors, &lanes), e.w.index(self.size));
        Some(e.w.bin("arith.minui", &rows, &size))
    }
}

/// Rows that are computed at once where their number isn't known ahead: a vector of the widest.
const VECTOR: i64 = 16;

/// An axis is cut into blocks.
struct Cut {
    axis: AxisId,
    block: AxisId,
    row: AxisId,
    size: i64,
    rows: Dim,
    across: bool,
}

impl Rebuild for Cut {
    fn axis(&self, b: &mut Builder, axis: AxisId) -> ExprId {
        if axis != self.axis {
            return b.at(axis);
        }
        let (block, row, size) = (b.at(self.block), b.at(self.row), b.int(self.size));
        let first = b.mul(block, size);
        let at = b.add(first, row);
        let exact = self.rows.as_const().is_some_and(|rows| rows % self.size == 0);
        if exact || !self.across {
            return at;
        }
        let last = b.dim(&(self.rows.clone() - 1.into()));
        b.binary(BinaryKind::Min, at, last)
    }

    fn index(
        &self,
        kernel: &Kernel,
        buffer: BufferId,
        mut index: Vec<ExprId>,
        b: &mut Builder,
    ) -> Vec<ExprId> {
        if kernel.buffer(buffer).kind == BufferKind::Temp {
            let at = if self.across { index.len() } else { 0 };
            index.insert(at, b.at(self.row));
        }
        index
    }
}

fn stores_to(kernel: &Kernel, stage: &Stage, kind: BufferKind) -> bool {
    stage.stores.iter().any(|store| kernel.buffer(store.buffer).kind == kind)
}

/// Rows of a block: as many as keep the temporaries in the second-level cache, in units that fill vectors where those
/// run along the rows, and as few as can be that are computed to fill up register blocks.
fn block_size(kernel: &Kernel, axis: AxisId, target: &Target, across: bool) -> i64 {
    let machine = Machine::of(target);
    let (mr, nr) = Contract::register_block(&machine, DType::F32);
    let unit = if across { nr } else { mr };
    let usual = |s: &Symbol| Some(s.hi.unwrap_or(USUAL).clamp(s.lo.max(1), USUAL.max(s.lo)));
    let number = |d: &Dim| d.eval(&usual).unwrap_or(USUAL).max(1);
    let bytes: i64 = Places::of(kernel).bytes.iter().map(number).sum();
    // The rest of the cache is for the operands.
    let cached = machine.l2 as i64 * 3 / 4 / bytes.max(1);
    let rows = number(kernel.extent(axis));
    let others: Vec<AxisId> = kernel.outer.iter().copied().filter(|a| *a != axis).collect();
    let wanted = ceil_div(FEW_TILES * i64::from(machine.cores), number(&product(kernel, &others)));
    let most = cached.min(rows / wanted).clamp(LEAST, MOST.max(unit));
    let up = |n: i64, unit: i64| ceil_div(n, unit) * unit;
    let least = ceil_div(rows, most);
    let sizes = (least..=2 * least).map(|blocks| (blocks, up(ceil_div(rows, blocks), unit)));
    let computed = |(blocks, size): &(i64, i64)| blocks * (size + up(*size, mr));
    sizes.filter(|(_, size)| *size <= up(most, unit)).min_by_key(computed).map_or(unit, |(_, size)| size)
}

fn ceil_div(n: i64, by: i64) -> i64 {
    (n + by - 1) / by
}
