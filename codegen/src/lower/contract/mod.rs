//! Sums of products as a blocked matrix product: a register block of rows times vectors of columns.
//!
//! One operand runs along the result's contiguous axes (`n`, the columns), the other along the remaining ones
//! (`m`, the rows). A tile of the run time is a group of column panels. The column operand is packed into scratch
//! memory, panel by panel, k-major, whatever its index expressions are (so a convolution is the same as a matrix
//! product); then for each block of rows the register block runs over k, and the kernel's store is applied to the
//! results. A long k is done in blocks that fit the caches; sums wait in scratch memory between them. The row
//! operand is read in place. Constant operands can be laid out ahead (see `layout`); nothing is packed of those. Integers
//! of few bits are multiplied in pairs, and both operands packed for that (see `pairs`).
//!
//! The blocking follows Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008), with
//! the row operand unpacked.

mod block;
mod finish;
mod layout;
mod multiply;
mod pack;
mod pairs;
#[cfg(test)]
mod tests;

use super::access::{Stride, depends, product, stride_of};
use super::emitter::{Emitter, aligned};
use super::product::Product;
use super::span::Tiling;
use super::writer::{Ty, Val};
use crate::machine::Machine;
use crate::target::Target;
use tcc_ir::kernel::{AxisId, ExprId, Kernel, Scalar, Stage};
use tcc_ir::{Cmp, DType, Dim};

pub use layout::{Layout, prepack};
use pack::Source;

/// Positions on k that are done at once: a panel of them stays in the first-level cache.
const K_BLOCK: i64 = 256;
/// A k up to this long is one block.
const K_WHOLE: i64 = 512;
/// Bytes of packed columns that a tile aims for: a share of the second-level cache.
const PACKED_BYTES: i64 = 128 << 10;
/// Panels in a tile at most.
const MAX_PANELS: i64 = 16;
/// Panels of a tile at least, where there are so many: a block of rows is read from nearby for the later ones.
const LEAST_PANELS: i64 = 2;
/// Register blocks of rows in a tile, where rows are shared out and their number isn't known: packing the columns once
/// more costs little beside so many.
const ROW_BLOCKS: i64 = 16;
/// Rows below which the register block is one of just these rows, over more columns: then memory is what takes the time,
/// and panels of the columns are read in one stream.
pub const FEW_ROWS: i64 = 4;
/// Tiles a core below which rows are split too, so that threads have work.
const FEW_TILES: i64 = 2;

/// Columns of f32 that a register block has; 0 where products have no schedule of their own.
pub fn panel(target: &Target) -> u32 {
    let (_, columns) = Contract::register_block(&Machine::of(target), DType::F32);
    if target.is_gpu() || target.vector_bits == 0 { 0 } else { columns as u32 }
}

/// A kernel of this class, with what its schedule chose.
pub struct Contract {
    batch: Vec<AxisId>,
    m: Vec<AxisId>,
    n: Vec<AxisId>,
    k: Vec<AxisId>,
    rows: ExprId,
    columns: ExprId,
    row_layout: RowLayout,
    source: Source,
    /// The stores see the columns as one contiguous axis.
    flat_stores: bool,
    dtype: DType,
    /// Whether two positions on k are done at once; see `pairs`.
    pairs: bool,
    lanes: i64,
    /// Rows and vectors of the register block.
    mr: i64,
    vectors: i64,
    panels: i64,
    /// How many positions of the first axis of `k` are done at once; all of them without.
    k_block: Option<i64>,
    /// Rows of a tile at most, where rows are shared out: whole register blocks.
    row_chunk: Option<Dim>,
}

/// How the row operand lies in memory.
enum RowLayout {
    /// This load runs along all of `k` contiguously.
    Flat(ExprId),
    /// The rows of a register block lie side by side for each position on `k`: an operand laid out ahead.
    Blocked(ExprId),
    Any,
}

impl RowLayout {
    fn of(kernel: &Kernel, rows: ExprId, m: &[AxisId], k: &[AxisId], mr: i64) -> Self {
        let flat = || flat_load(kernel, rows, k).map(RowLayout::Flat);
        let blocked = || layout::blocked_load(kernel, rows, m, k, mr).map(RowLayout::Blocked);
        flat().or_else(blocked).unwrap_or(RowLayout::Any)
    }
}

impl Contract {
    /// The kernel as one of this class; None when it isn't, or when a plain loop nest does better.
    pub fn of(kernel: &Kernel, target: &Target) -> Option<Contract> {
        let in_panels = |c: &Contract| matches!(c.source, Source::Panels(_));
        Contract::if_laid_out(kernel, target).filter(|c| !c.has_few_rows() || in_panels(c))
    }

    /// As [`Contract::of`], where the columns of few rows could be laid out ahead: packing them takes as long as the
    /// product itself.
    pub fn if_laid_out(kernel: &Kernel, target: &Target) -> Option<Contract> {
        let [stage] = kernel.stages.as_slice() else { return None };
        let c = Contract::of_stage(kernel, stage, target).filter(|_| kernel.outer.is_empty())?;
        let machine = Machine::of(target);
        let c = Contract { panels: c.share_of_panels(kernel, &machine), ..c };
        Some(Contract { row_chunk: c.share_of_rows(kernel, &machine), ..c })
    }

    /// One stage of a kernel as one of this class, at a point of the kernel's outer axes.
    pub fn of_stage(kernel: &Kernel, stage: &Stage, target: &Target) -> Option<Contract> {
        let Product { m, n, k, rows, columns, dtype } = Product::of(kernel, stage)?;
        if kernel.serial
            || target.vector_bits == 0
            || stage.stores.iter().any(|s| s.guard.is_some())
            || !matches!(dtype, DType::F32 | DType::F64 | DType::I32)
        {
            return None;
        }
        // The columns are the contiguous axes of the result; axes of theirs further out count as batch.
        let n_tail = stage.axes.iter().rev().take_while(|a| n.contains(a)).count();
        let n = stage.axes[stage.axes.len() - n_tail..].to_vec();
        let batch: Vec<AxisId> =
            stage.axes.iter().copied().filter(|a| !m.contains(a) && !n.contains(a)).collect();
        if n.is_empty() || k.is_empty() {
            return None;
        }
        let size = |axes: &[AxisId]| product(kernel, axes).as_const();
        let small = |axes: &[AxisId], limit: i64| size(axes).is_some_and(|v| v < limit);
        if small(&n, 8) || small(&k, 4) {
            return None;
        }
        let machine = Machine::of(target);
        let lanes = i64::from(machine.lanes(dtype.size() as u32));
        let (mr, nr) = match size(&m).filter(|rows| *rows < FEW_ROWS) {
            Some(0) => return None,
            Some(rows) => {
                (rows, lanes * wide_block(rows).min(size(&n).map_or(1, |n| (n + lanes - 1) / lanes)))
            }
            None => Contract::register_block(&machine, dtype),
        };
        let vectors = nr / lanes;
        let pairs = dtype == DType::I32
            && mr >= FEW_ROWS
            && [rows, columns].iter().all(|o| pairs::fits(kernel, *o, target));
        // Few rows read their columns once: nothing is to be kept near.
        let k_block = if mr < FEW_ROWS { None } else { k_block(kernel, &k, if pairs { 2 } else { 1 }) };
        let k_at_once = match k_block {
            Some(block) => Some(block * product(kernel, &k[1..]).as_const()?),
            None => product(kernel, &k).as_const(),
        };
        let size = if pairs { 2 } else { dtype.size() as i64 };
        let panel_bytes = k_at_once.map(|k| k.saturating_mul(nr * size));
        let panels = panel_bytes.map_or(2, |bytes| (PACKED_BYTES / bytes.max(1)).clamp(1, MAX_PANELS));
        Some(Contract {
            row_layout: RowLayout::of(kernel, rows, &m, &k, mr),
            source: Source::of(kernel, columns, &n, &k, (nr, pairs)),
            flat_stores: finish::sees_flat(kernel, stage, &n),
            batch,
            m,
            n,
            k,
            rows,
            columns,
            dtype,
            pairs,
            lanes,
            mr,
            vectors,
            panels,
            k_block,
            row_chunk: None,
        })
    }

    /// Panels of a tile: fewer where there would be too few tiles for the cores. Rows are read more often then, but
    /// nothing is packed twice.
    fn share_of_panels(&self, kernel: &Kernel, machine: &Machine) -> i64 {
        let Some(columns) = product(kernel, &self.n).as_const() else { return self.panels };
        let all = (columns + self.nr() - 1) / self.nr();
        let shares = (i64::from(machine.cores) / self.batches(kernel)).max(1);
        (all / shares).clamp(LEAST_PANELS.min(self.panels), self.panels)
    }

    /// How many rows a tile has at most, where there may be too few tiles of all rows.
    fn share_of_rows(&self, kernel: &Kernel, machine: &Machine) -> Option<Dim> {
        let tiles = product(kernel, &self.batch) * self.groups(kernel);
        let wanted = FEW_TILES * i64::from(machine.cores);
        let (least, most) = tiles.bounds();
        if most == Some(0) || least.is_some_and(|n| n >= wanted) {
            return None;
        }
        let rows = product(kernel, &self.m);
        let chunk = match rows.as_const() {
            None => ROW_BLOCKS * self.mr,
            Some(rows) if rows <= 4 * self.mr => return None,
            Some(rows) => {
                let (chunks, blocks) = match tiles.as_const() {
                    Some(tiles) => (wanted / tiles, 2),
                    // Not too many: there may be so few columns that packing them again costs.
                    None => (i64::from(machine.cores), ROW_BLOCKS / 2),
                };
                let chunks = chunks.min(rows / (blocks * self.mr)).max(1);
                if chunks == 1 {
                    return None;
                }
                (rows / chunks / self.mr + 1) * self.mr
            }
        };
        let (chunk, block) = (Dim::from(chunk), Dim::from(self.mr));
        let all = (rows.ceil_div(&block) * block).maximum(&chunk);
        Some(Dim::select(Cmp::Ge, &tiles, &Dim::from(wanted), &all, &chunk))
    }

    /// How many batches there are; at least that many, where that isn't known.
    fn batches(&self, kernel: &Kernel) -> i64 {
        product(kernel, &self.batch).bounds().0.unwrap_or(1).max(1)
    }

    /// Rows and columns of the register block for elements of `dtype`.
    pub fn register_block(machine: &Machine, dtype: DType) -> (i64, i64) {
        let (mr, vectors) = if machine.vector_registers >= 32 { (8, 3) } else { (6, 2) };
        (mr, vectors * i64::from(machine.lanes(dtype.size() as u32)))
    }

    /// Whether there are fewer rows than the usual register block has use for.
    pub fn has_few_rows(&self) -> bool {
        self.mr < FEW_ROWS
    }

    fn nr(&self) -> i64 {
        self.lanes * self.vectors
    }

    /// Whether `axis` is the outermost of the rows, of which a stretch can be done.
    pub fn rows_along(&self, axis: AxisId) -> bool {
        self.m.first() == Some(&axis)
    }

    /// Whether packing reads the columns one by one.
    pub fn gathers(&self) -> bool {
        matches!(self.source, Source::Strided)
    }

    /// How many tiles: batch times groups of panels times chunks of rows.
    pub fn tiles(&self, kernel: &Kernel) -> Dim {
        product(kernel, &self.batch) * self.groups(kernel) * self.chunks(kernel)
    }

    /// Batches are outermost, chunks of rows innermost.
    pub fn tiling(&self, kernel: &Kernel) -> Tiling {
        let groups = self.groups(kernel);
        match (&self.m[..], self.row_chunk.as_ref().and_then(Dim::as_const)) {
            ([m], Some(chunk)) if self.batch.is_empty() && groups.is_const(1) => {
                Tiling { axes: vec![*m], stretch: chunk, inner: groups }
            }
            _ => Tiling { axes: self.batch.clone(), stretch: 1, inner: groups * self.chunks(kernel) },
        }
    }

    fn groups(&self, kernel: &Kernel) -> Dim {
        product(kernel, &self.n).ceil_div(&Dim::from(self.panels * self.nr()))
    }

    fn chunks(&self, kernel: &Kernel) -> Dim {
        self.row_chunk.as_ref().map_or(Dim::from(1), |chunk| product(kernel, &self.m).ceil_div(chunk))
    }

    fn elem(&self) -> &'static str {
        match self.dtype {
            DType::F64 => "f64",
            DType::I32 => "i32",
            _ => "f32",
        }
    }

    fn zero(&self) -> &'static str {
        if self.dtype == DType::I32 { "0" } else { "0.0" }
    }

    fn vector(&self) -> String {
        format!("vector<{}x{}>", self.lanes, self.elem())
    }

    /// Elements of packed operands.
    fn packed_elem(&self) -> &'static str {
        if self.pairs { "i16" } else { self.elem() }
    }

    fn packed_vector(&self) -> String {
        format!("vector<{}x{}>", self.lanes, self.packed_elem())
    }

    /// As many positions on k as are packed for `k` of them.
    fn filled_up(&self, k: Dim) -> Dim {
        if self.pairs { k.ceil_div(&Dim::from(2)) * Dim::from(2) } else { k }
    }

    /// Positions on k that a pass packs.
    fn k_at_once(&self, kernel: &Kernel) -> Dim {
        match self.k_block {
            Some(block) => product(kernel, &self.k[1..]) * Dim::from(block),
            None => product(kernel, &self.k),
        }
    }

    /// Rows of results in scratch memory: a register block, or all of a tile's where sums wait between blocks of k.
    fn kept_rows(&self, kernel: &Kernel) -> Dim {
        match (self.k_block, &self.row_chunk) {
            (None, _) => Dim::from(self.mr),
            (Some(_), Some(chunk)) => chunk.clone(),
            // The last register block may reach beyond the last row.
            (Some(_), None) => product(kernel, &self.m) + Dim::from(self.mr),
        }
    }

    /// Columns of results in scratch memory.
    fn kept_columns(&self) -> i64 {
        if self.k_block.is_some() { self.panels * self.nr() } else { self.nr() }
    }

    /// Whether the extents of its axes are known.
    pub fn is_known(&self, kernel: &Kernel) -> bool {
        [&self.batch, &self.m, &self.n, &self.k]
            .into_iter()
            .all(|axes| product(kernel, axes).as_const().is_some())
    }

    /// Writes all tiles of `stage`, one after the other. `base` is the scratch memory already taken; gives the scratch
    /// that the whole needs.
    pub fn write_all(&self, e: &mut Emitter, stage: &Stage, base: &Dim) -> Dim {
        let (zero, tiles) = (e.w.index(0), e.dim_index(&self.tiles(e.kernel)));
        let mut scratch = base.clone();
        e.for_loop((&zero, &tiles), 1, &[], |e, tile, _| {
            scratch = self.write(e, stage, &tile, base);
            vec![]
        });
        scratch
    }

    /// Writes a tile of `stage`. `base` is the scratch memory already taken; gives the scratch that the whole needs.
    pub fn write(&self, e: &mut Emitter, stage: &Stage, tile: &Val, base: &Dim) -> Dim {
        let kernel = e.kernel;
        let size = self.dtype.size() as i64;
        let k = self.filled_up(self.k_at_once(kernel));
        let packed_elems = match self.source {
            Source::Panels(_) if !self.pairs => Dim::from(0),
            _ => k.clone() * Dim::from(self.panels * self.nr()),
        };
        let row_elems = if self.pairs { k * Dim::from(self.mr) } else { Dim::from(0) };
        let sum_elems = self.kept_rows(kernel) * Dim::from(self.kept_columns());
        let lane_elems = Dim::from(self.n.len() as i64 * self.panels * self.nr());
        let packed_size = if self.pairs { 2 } else { size };
        let rows_at = base.clone() + aligned(&(packed_elems.clone() * Dim::from(packed_size)));
        let sums_at = rows_at.clone() + aligned(&(row_elems.clone() * Dim::from(packed_size)));
        let lanes_at = sums_at.clone() + aligned(&(sum_elems.clone() * Dim::from(size)));
        let offsets_at = lanes_at.clone() + aligned(&(lane_elems.clone() * Dim::from(8)));
        let end = offsets_at.clone() + aligned(&Dim::from(self.nr() * 8));
        let packed = view(e, base, &packed_elems, self.packed_elem());
        let mut of_pairs = |at: &Dim, halves: &Dim| match self.pairs {
            true => view(e, at, &halves.ceil_div(&Dim::from(2)), "i32"),
            false => String::new(),
        };
        let (panels, pairs_of_rows) = (of_pairs(base, &packed_elems), of_pairs(&rows_at, &row_elems));
        let t = Tile {
            c: self,
            panels: if self.pairs { panels } else { packed.clone() },
            packed,
            halves_of_rows: if self.pairs { view(e, &rows_at, &row_elems, "i16") } else { String::new() },
            pairs_of_rows,
            sums: view(e, &sums_at, &sum_elems, self.elem()),
            lanes: view(e, &lanes_at, &lane_elems, "i64"),
            offsets: view(e, &offsets_at, &Dim::from(self.nr()), "i64"),
            stage,
        };
        t.write(e, tile);
        end
    }
}

/// Vectors of columns in a register block of few rows: the sums fill most of 16 registers.
fn wide_block(rows: i64) -> i64 {
    match rows {
        1 => 8,
        2 => 6,
        _ => 4,
    }
}

/// A part of the scratch memory as a memref of `n` elements, from a byte on.
fn view(e: &mut Emitter, at: &Dim, n: &Dim, ty: &str) -> String {
    let (at, n) = (e.dim_index(at), e.dim_index(n));
    let name = e.w.fresh();
    e.w.line(format_args!("{name} = memref.view %scratch[{at}][{n}] : memref<?xi8> to memref<?x{ty}>"));
    name
}

/// Positions of the first axis of `k` that make a block, if k is long; `at_once` of them take the place of one.
fn k_block(kernel: &Kernel, k: &[AxisId], at_once: i64) -> Option<i64> {
    let rest = product(kernel, &k[1..]).as_const()?;
    let first = kernel.extent(k[0]).as_const();
    let whole = first.is_some_and(|first| first.saturating_mul(rest) <= K_WHOLE * at_once);
    (!whole).then(|| (K_BLOCK * at_once / rest.max(1)).max(1))
}

/// The load behind any casts.
fn uncast(kernel: &Kernel, mut id: ExprId) -> ExprId {
    while let Scalar::Cast(_, inner) = kernel.expr(id) {
        id = *inner;
    }
    id
}

/// The one load of `rows`, if it is unguarded and contiguous along `k`: its last indices are exactly these axes, in order
/// and in full, or its last index moves in step with the only one.
fn flat_load(kernel: &Kernel, rows: ExprId, k: &[AxisId]) -> Option<ExprId> {
    let id = uncast(kernel, rows);
    let Scalar::Load { buffer, index, guard: None } = kernel.expr(id) else { return None };
    let shape = &kernel.buffer(*buffer).ty.shape;
    let lead = index.len().checked_sub(k.len())?;
    let along = k.iter().enumerate().all(|(i, a)| {
        *kernel.expr(index[lead + i]) == Scalar::Axis(*a) && shape[lead + i] == *kernel.extent(*a)
    });
    let elsewhere = index[..lead].iter().any(|e| k.iter().any(|a| depends(kernel, *e, *a)));
    let in_step = k.len() == 1 && stride_of(kernel, kernel.expr(id), k[0]) == Stride::One;
    ((along && !elsewhere) || in_step).then_some(id)
}

/// One tile being written.
struct Tile<'c> {
    c: &'c Contract,
    /// Packed panels of columns: as they are written, and as the register block reads them.
    packed: String,
    panels: String,
    /// Packed rows of a register block, where there are such: the same.
    halves_of_rows: String,
    pairs_of_rows: String,
    /// Results of a register block, or sums of the whole tile between blocks of k.
    sums: String,
    /// Positions of the tile's columns on each of their axes.
    lanes: String,
    /// Places in the column operand's memory of one panel's columns; -1 where the guard says zero.
    offsets: String,
    stage: &'c Stage,
}

/// The part of a tile that one pass does. All values are of type index.
struct Pass {
    /// First column of the tile, and how many columns there are in all.
    first: Val,
    n_total: Val,
    panels: Val,
    /// Rows of the tile.
    rows: (Val, Val),
    /// Positions on the first axis of k.
    k: (Val, Val),
    /// How many positions on k that are, over all its axes, and how many are packed.
    k_len: Val,
    k_rows: Val,
}

impl Tile<'_> {
    fn write(&self, e: &mut Emitter, tile: &Val) {
        let c = self.c;
        let kernel = e.kernel;
        let (groups, chunks) = (c.groups(kernel), c.chunks(kernel));
        let zero = e.w.index(0);
        let (n_total, m_total) = (e.n_points(&c.n), e.n_points(&c.m));
        let mut left = tile.clone();
        let mut rows = (zero.clone(), m_total.clone());
        if let Some(chunk) = &c.row_chunk {
            let n = e.dim_index(&chunks);
            let at = e.w.bin("arith.remui", &left, &n);
            left = e.w.bin("arith.divui", &left, &n);
            let chunk = e.dim_index(chunk);
            let lo = e.w.bin("arith.muli", &at, &chunk);
            let hi = e.w.bin("arith.addi", &lo, &chunk);
            let hi = e.w.bin("arith.minui", &hi, &m_total);
            rows = (lo, hi);
        }
        let n_groups = e.dim_index(&groups);
        let group = e.w.bin("arith.remui", &left, &n_groups);
        let batch = e.w.bin("arith.divui", &left, &n_groups);
        e.set_axes_from_linear(&c.batch, &batch);

        let width = e.w.index(c.panels * c.nr());
        // Of a stretch of columns, groups past its end have none.
        let first = e.w.bin("arith.muli", &group, &width);
        let first = e.w.bin("arith.minui", &first, &n_total);
        let left = e.w.bin("arith.subi", &n_total, &first);
        let nr = e.w.index(c.nr());
        let panels = e.w.bin("arith.ceildivui", &left, &nr);
        let most = e.w.index(c.panels);
        let panels = e.w.bin("arith.minui", &panels, &most);
        let k_end = e.dim_index(&kernel.extent(c.k[0]).clone());
        let k_rest = e.dim_index(&product(kernel, &c.k[1..]));
        self.place_lanes(e, &first, &n_total, &panels);
        let pass = |e: &mut Emitter, k: (Val, Val)| {
            let len = e.w.bin("arith.subi", &k.1, &k.0);
            let k_len = e.w.bin("arith.muli", &len, &k_rest);
            let (first, n_total, panels) = (first.clone(), n_total.clone(), panels.clone());
            let mut k_rows = k_len.clone();
            if c.pairs {
                let two = e.w.index(2);
                let pairs = e.w.bin("arith.ceildivui", &k_len, &two);
                k_rows = e.w.bin("arith.muli", &pairs, &two);
            }
            Pass { first, n_total, panels, rows: rows.clone(), k, k_len, k_rows }
        };
        let Some(block) = c.k_block else {
            let pass = pass(e, (zero, k_end));
            self.pack(e, &pass);
            self.over_blocks(e, &pass, &|e, m0, p| {
                self.multiply(e, &pass, m0, p);
                self.finish_block(e, &pass, m0, p);
            });
            return;
        };
        self.clear_sums(e, &rows);
        e.for_loop((&zero, &k_end), block, &[], |e, k0, _| {
            let size = e.w.index(block);
            let k1 = e.w.bin("arith.addi", &k0, &size);
            let k1 = e.w.bin("arith.minui", &k1, &k_end);
            let pass = pass(e, (k0, k1));
            self.pack(e, &pass);
            self.over_blocks(e, &pass, &|e, m0, p| self.multiply(e, &pass, m0, p));
            vec![]
        });
        let pass = pass(e, (zero, k_end));
        self.finish_tile(e, &pass);
    }

    /// Every register block of a pass: its first row and its panel.
    fn over_blocks(&self, e: &mut Emitter, pass: &Pass, body: &dyn Fn(&mut Emitter, &Val, &Val)) {
        let zero = e.w.index(0);
        e.for_loop((&pass.rows.0, &pass.rows.1), self.c.mr, &[], |e, m0, _| {
            if self.c.pairs {
                self.pack_row_block(e, pass, &m0);
            }
            e.for_loop((&zero, &pass.panels), 1, &[], |e, p, _| {
                body(e, &m0, &p);
                vec![]
            });
            vec![]
        });
    }

    /// The first column of a panel.
    fn column(&self, e: &mut Emitter, pass: &Pass, p: &Val) -> Val {
        let nr = e.w.index(self.c.nr());
        let offset = e.w.bin("arith.muli", p, &nr);
        e.w.bin("arith.addi", &pass.first, &offset)
    }

    /// Where the sums of a register block are kept.
    fn sums_at(&self, e: &mut Emitter, pass: &Pass, m: &Val, p: &Val) -> Val {
        if self.c.k_block.is_none() {
            return e.w.index(0);
        }
        let columns = e.w.index(self.c.kept_columns());
        let row = e.w.bin("arith.subi", m, &pass.rows.0);
        let row = e.w.bin("arith.muli", &row, &columns);
        let nr = e.w.index(self.c.nr());
        let panel = e.w.bin("arith.muli", p, &nr);
        e.w.bin("arith.addi", &row, &panel)
    }

    fn clear_sums(&self, e: &mut Emitter, rows: &(Val, Val)) {
        let c = self.c;
        // Rows are rounded up to whole register blocks: the last one is written in full.
        let n = e.w.bin("arith.subi", &rows.1, &rows.0);
        let mr = e.w.index(c.mr);
        let blocks = e.w.bin("arith.ceildivui", &n, &mr);
        let n = e.w.bin("arith.muli", &blocks, &mr);
        let columns = e.w.index(c.kept_columns());
        let n = e.w.bin("arith.muli", &n, &columns);
        let zero = e.w.index(0);
        let none = e.w.fresh();
        e.w.line(format_args!("{none} = arith.constant {} : {}", c.zero(), c.elem()));
        e.for_loop((&zero, &n), 1, &[], |e, i, _| {
            e.w.line(format_args!("memref.store {none}, {}[{i}] : memref<?x{}>", self.sums, c.elem()));
            vec![]
        });
    }

    /// The number of the present position on the k axes within a pass, as index.
    fn k_position(&self, e: &mut Emitter, pass: &Pass) -> Val {
        let first = e.axis(self.c.k[0]);
        let first = e.w.index_cast(&first, Ty::Index);
        let mut at = e.w.bin("arith.subi", &first, &pass.k.0);
        for axis in &self.c.k[1..] {
            let n = e.dim_index(&e.kernel.extent(*axis).clone());
            let here = e.axis(*axis);
            let here = e.w.index_cast(&here, Ty::Index);
            at = e.w.bin("arith.muli", &at, &n);
            at = e.w.bin("arith.addi", &at, &here);
        }
        at
    }

    /// Nested loops over k axes, in the order given; the first axis of k does the positions of the pass.
    fn over_k(&self, e: &mut Emitter, pass: &Pass, axes: &[AxisId], body: &mut dyn FnMut(&mut Emitter)) {
        let Some((axis, rest)) = axes.split_first() else { return body(e) };
        let range = self.k_range(e, pass, *axis);
        e.for_loop((&range.0, &range.1), 1, &[], |e, at, _| {
            e.enter(*axis, &at);
            self.over_k(e, pass, rest, body);
            vec![]
        });
    }

    fn k_range(&self, e: &mut Emitter, pass: &Pass, axis: AxisId) -> (Val, Val) {
        if axis == self.c.k[0] {
            return pass.k.clone();
        }
        (e.w.index(0), e.dim_index(&e.kernel.extent(axis).clone()))
    }
}
