//! Sums of products as a blocked matrix product: a register block of rows times vectors of columns.
//!
//! One operand runs along the result's contiguous axes (`n`, the columns), the other along the remaining ones
//! (`m`, the rows). A tile of the run time is a group of column panels: the column operand is packed into scratch
//! memory, panel by panel, k-major, whatever its index expressions are (so a convolution is the same as a matrix
//! product); then for each block of rows the register block runs over all of k, and the epilogue of the kernel's
//! store is applied from a small buffer. The row operand is read in place.
//!
//! The register block follows Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008),
//! with the row operand unpacked.

use super::access::depends;
use super::emitter::{Emitter, aligned};
use super::scalar::INDEX;
use super::writer::{Ty, Val};
use crate::machine::Machine;
use crate::target::Target;
use tcc_ir::kernel::{AccOp, AxisId, ExprId, Kernel, Scalar, Stage};
use tcc_ir::ops::BinaryKind;
use tcc_ir::{DType, Dim};

/// Bytes of packed columns that a tile aims for: a share of the second-level cache.
const PACKED_BYTES: i64 = 128 << 10;
/// Panels in a tile at most.
const MAX_PANELS: i64 = 8;
/// Tiles below which rows are split too, so that threads have work.
const FEW_TILES: i64 = 8;

/// A kernel of this class, with what its schedule chose.
pub struct Contract {
    batch: Vec<AxisId>,
    m: Vec<AxisId>,
    n: Vec<AxisId>,
    k: Vec<AxisId>,
    rows: ExprId,
    columns: ExprId,
    /// The load of the row operand runs along all of `k` contiguously.
    flat: Option<ExprId>,
    dtype: DType,
    lanes: i64,
    /// Rows and vectors of the register block.
    mr: i64,
    vectors: i64,
    panels: i64,
    row_chunk: Option<i64>,
}

fn product(kernel: &Kernel, axes: &[AxisId]) -> Dim {
    Dim::product(axes.iter().map(|a| kernel.extent(*a).clone()))
}

impl Contract {
    /// The kernel as one of this class; None when it isn't, or when a plain loop nest does better.
    pub fn of(kernel: &Kernel, target: &Target) -> Option<Contract> {
        let [stage] = kernel.stages.as_slice() else { return None };
        let [acc] = stage.accs.as_slice() else { return None };
        let plain = stage.stores.iter().all(|s| s.update.is_none() && s.guard.is_none());
        if !kernel.outer.is_empty()
            || kernel.serial
            || stage.scan
            || acc.op != AccOp::Sum
            || !plain
            || target.vector_bits == 0
        {
            return None;
        }
        if !matches!(acc.dtype, DType::F32 | DType::F64 | DType::I32)
            || kernel.dtype(stage, acc.value) != acc.dtype
        {
            return None;
        }
        let Scalar::Binary(BinaryKind::Mul, x, y) = kernel.expr(acc.value) else { return None };
        let last = *stage.axes.last()?;
        let (rows, columns) = if depends(kernel, *y, last) { (*x, *y) } else { (*y, *x) };
        let side = |a: &AxisId| (depends(kernel, rows, *a), depends(kernel, columns, *a));
        let m: Vec<AxisId> = stage.axes.iter().copied().filter(|a| side(a) == (true, false)).collect();
        // The columns are the contiguous axes of the result; axes of theirs further out count as batch.
        let n_tail = stage.axes.iter().rev().take_while(|a| side(a) == (false, true)).count();
        let n = stage.axes[stage.axes.len() - n_tail..].to_vec();
        let batch: Vec<AxisId> =
            stage.axes.iter().copied().filter(|a| !m.contains(a) && !n.contains(a)).collect();
        let k = stage.reduce.clone();
        if n.is_empty() || m.is_empty() || k.is_empty() {
            return None;
        }
        let small = |axes: &[AxisId], limit: i64| product(kernel, axes).as_const().is_some_and(|v| v < limit);
        if small(&m, 4) || small(&n, 8) || small(&k, 4) {
            return None;
        }
        let machine = Machine::of(target);
        let lanes = i64::from(machine.lanes(acc.dtype.size() as u32));
        let (mr, vectors) = if machine.vector_registers >= 32 { (8, 3) } else { (6, 2) };
        let panel_bytes = product(kernel, &k)
            .as_const()
            .map(|k| k.saturating_mul(lanes * vectors * acc.dtype.size() as i64));
        let panels = panel_bytes.map_or(2, |bytes| (PACKED_BYTES / bytes.max(1)).clamp(1, MAX_PANELS));
        let columns_of_tile = Dim::from(panels * lanes * vectors);
        let n_tiles = product(kernel, &batch) * product(kernel, &n).ceil_div(&columns_of_tile);
        let row_chunk = match (n_tiles.as_const(), product(kernel, &m).as_const()) {
            (Some(tiles), Some(rows)) if tiles < FEW_TILES && rows > 4 * mr => Some((rows / 4 / mr + 1) * mr),
            _ => None,
        };
        let flat = flat_load(kernel, rows, &k);
        Some(Contract {
            batch,
            m,
            n,
            k,
            rows,
            columns,
            flat,
            dtype: acc.dtype,
            lanes,
            mr,
            vectors,
            panels,
            row_chunk,
        })
    }

    fn nr(&self) -> i64 {
        self.lanes * self.vectors
    }

    /// How many tiles: batch times groups of panels times chunks of rows.
    pub fn tiles(&self, kernel: &Kernel) -> Dim {
        product(kernel, &self.batch) * self.groups(kernel) * self.chunks(kernel)
    }

    fn groups(&self, kernel: &Kernel) -> Dim {
        product(kernel, &self.n).ceil_div(&Dim::from(self.panels * self.nr()))
    }

    fn chunks(&self, kernel: &Kernel) -> Dim {
        self.row_chunk.map_or(Dim::from(1), |c| product(kernel, &self.m).ceil_div(&Dim::from(c)))
    }

    fn elem(&self) -> &'static str {
        match self.dtype {
            DType::F64 => "f64",
            DType::I32 => "i32",
            _ => "f32",
        }
    }

    fn vector(&self) -> String {
        format!("vector<{}x{}>", self.lanes, self.elem())
    }

    /// Writes a tile. `base` is the scratch memory already taken; gives the scratch that the whole needs.
    pub fn write(&self, e: &mut Emitter, tile: &Val, base: &Dim) -> Dim {
        let kernel = e.kernel;
        let size = self.dtype.size() as i64;
        let k_total = product(kernel, &self.k);
        let panel_bytes = k_total.clone() * Dim::from(self.panels * self.nr() * size);
        let block_at = base.clone() + aligned(&panel_bytes);
        let lanes_at = block_at.clone() + aligned(&Dim::from(self.mr * self.nr() * size));
        let n_lanes = if self.n.len() > 1 { self.n.len() as i64 * self.panels * self.nr() } else { 0 };
        let end = lanes_at.clone() + aligned(&Dim::from(n_lanes * 8));
        let view = |e: &mut Emitter, at: &Dim, n: &Dim, ty: &str| {
            let (at, n) = (e.dim_index(at), e.dim_index(n));
            let name = e.w.fresh();
            e.w.line(format_args!(
                "{name} = memref.view %scratch[{at}][{n}] : memref<?xi8> to memref<?x{ty}>"
            ));
            name
        };
        let panel_elems = k_total.clone() * Dim::from(self.panels * self.nr());
        let packed = view(e, base, &panel_elems, self.elem());
        let block = view(e, &block_at, &Dim::from(self.mr * self.nr()), self.elem());
        let lanes = if n_lanes > 0 { view(e, &lanes_at, &Dim::from(n_lanes), "i64") } else { String::new() };
        let t = Tile { c: self, packed, block, lanes, stage: &kernel.stages[0] };
        t.write(e, tile);
        end
    }
}

/// The one load of `rows`, if it is unguarded and its last indices are exactly the axes `k`, in order and in full.
fn flat_load(kernel: &Kernel, rows: ExprId, k: &[AxisId]) -> Option<ExprId> {
    let mut id = rows;
    while let Scalar::Cast(_, inner) = kernel.expr(id) {
        id = *inner;
    }
    let Scalar::Load { buffer, index, guard: None } = kernel.expr(id) else { return None };
    let shape = &kernel.buffer(*buffer).ty.shape;
    let lead = index.len().checked_sub(k.len())?;
    let along = k.iter().enumerate().all(|(i, a)| {
        *kernel.expr(index[lead + i]) == Scalar::Axis(*a) && shape[lead + i] == *kernel.extent(*a)
    });
    let elsewhere = index[..lead].iter().any(|e| k.iter().any(|a| depends(kernel, *e, *a)));
    (along && !elsewhere).then_some(id)
}

/// One tile being written.
struct Tile<'c> {
    c: &'c Contract,
    /// Scratch memory: packed panels, the register block's results, positions of the columns.
    packed: String,
    block: String,
    lanes: String,
    stage: &'c Stage,
}

impl Tile<'_> {
    fn write(&self, e: &mut Emitter, tile: &Val) {
        let c = self.c;
        let kernel = e.kernel;
        let (groups, chunks) = (c.groups(kernel), c.chunks(kernel));
        let mut left = tile.clone();
        let mut row_range = None;
        if !chunks.is_const(1) {
            let n = e.dim_index(&chunks);
            let at = e.w.bin("arith.remui", &left, &n);
            left = e.w.bin("arith.divui", &left, &n);
            row_range = Some(at);
        }
        let n_groups = e.dim_index(&groups);
        let group = e.w.bin("arith.remui", &left, &n_groups);
        let batch = e.w.bin("arith.divui", &left, &n_groups);
        e.set_axes_from_linear(&c.batch, &batch);

        let (n_total, m_total) = (e.dim_index(&product(kernel, &c.n)), e.dim_index(&product(kernel, &c.m)));
        let width = e.w.index(c.panels * c.nr());
        let first = e.w.bin("arith.muli", &group, &width);
        let left = e.w.bin("arith.subi", &n_total, &first);
        let nr = e.w.index(c.nr());
        let panels = e.w.bin("arith.ceildivui", &left, &nr);
        let most = e.w.index(c.panels);
        let panels = e.w.bin("arith.minui", &panels, &most);
        let zero = e.w.index(0);
        e.for_loop((&zero, &panels), 1, &[], |e, p, _| {
            let offset = e.w.bin("arith.muli", &p, &nr);
            let n0 = e.w.bin("arith.addi", &first, &offset);
            self.pack(e, &p, &n0, &n_total);
            vec![]
        });
        let (lo, hi) = match row_range {
            None => (zero.clone(), m_total.clone()),
            Some(at) => {
                let chunk = e.w.index(c.row_chunk.expect("rows are split"));
                let lo = e.w.bin("arith.muli", &at, &chunk);
                let hi = e.w.bin("arith.addi", &lo, &chunk);
                let hi = e.w.bin("arith.minui", &hi, &m_total);
                (lo, hi)
            }
        };
        e.for_loop((&lo, &hi), c.mr, &[], |e, m0, _| {
            e.for_loop((&zero, &panels), 1, &[], |e, p, _| {
                let offset = e.w.bin("arith.muli", &p, &nr);
                let n0 = e.w.bin("arith.addi", &first, &offset);
                self.multiply(e, &m0, &hi, &p);
                self.finish(e, (&m0, &hi), (&p, &n0, &n_total));
                vec![]
            });
            vec![]
        });
    }

    /// Packs a panel: for each k, the values of its columns side by side. Columns beyond the last repeat it.
    fn pack(&self, e: &mut Emitter, p: &Val, n0: &Val, n_total: &Val) {
        let c = self.c;
        let (nr, one, zero) = (e.w.index(c.nr()), e.w.index(1), e.w.index(0));
        let last = e.w.bin("arith.subi", n_total, &one);
        if c.n.len() > 1 {
            e.for_loop((&zero, &nr), 1, &[], |e, j, _| {
                let n = e.w.bin("arith.addi", n0, &j);
                let n = e.w.bin("arith.minui", &n, &last);
                e.set_axes_from_linear(&c.n, &n);
                for (i, axis) in c.n.iter().enumerate() {
                    let at = self.lane(e, i, p, &j);
                    let v = e.axis(*axis);
                    e.w.line(format_args!("memref.store {v}, {}[{at}] : memref<?xi64>", self.lanes));
                }
                vec![]
            });
            self.pack_columns(e, p, &|e, j| self.load_lanes(e, p, j));
            return;
        }
        let axis = c.n[0];
        let end = e.w.bin("arith.addi", n0, &nr);
        let whole = e.w.cmp("ule", &end, n_total);
        e.w.open_if(&whole);
        let saved = e.known.clone();
        self.pack_columns(e, p, &|e, j| {
            let n = e.w.bin("arith.addi", n0, j);
            e.enter(axis, &n);
        });
        e.w.open_else();
        self.pack_columns(e, p, &|e, j| {
            let n = e.w.bin("arith.addi", n0, j);
            let n = e.w.bin("arith.minui", &n, &last);
            e.enter(axis, &n);
        });
        e.w.close_if();
        e.known = saved;
    }

    fn pack_columns(&self, e: &mut Emitter, p: &Val, enter: &dyn Fn(&mut Emitter, &Val)) {
        let c = self.c;
        let kernel = e.kernel;
        let k_total = e.dim_index(&product(kernel, &c.k));
        let panel = e.w.bin("arith.muli", p, &k_total);
        e.over_axes(&c.k, &[], &mut |e, _| {
            let k = self.flat_k(e);
            let row = e.w.bin("arith.addi", &panel, &k);
            let (zero, nr) = (e.w.index(0), e.w.index(c.nr()));
            let row = e.w.bin("arith.muli", &row, &nr);
            e.for_loop((&zero, &nr), 1, &[], |e, j, _| {
                enter(e, &j);
                let v = e.eval(self.stage, c.columns);
                let at = e.w.bin("arith.addi", &row, &j);
                e.w.line(format_args!("memref.store {v}, {}[{at}] : memref<?x{}>", self.packed, c.elem()));
                vec![]
            });
            vec![]
        });
    }

    /// The number of the present position on the k axes, as index.
    fn flat_k(&self, e: &mut Emitter) -> Val {
        let mut at: Option<Val> = None;
        for axis in &self.c.k {
            let here = e.axis(*axis);
            at = Some(match at {
                None => here,
                Some(outer) => {
                    let n = e.kernel.extent(*axis).clone();
                    let n = e.dim(&n);
                    let scaled = e.w.bin("arith.muli", &outer, &n);
                    e.w.bin("arith.addi", &scaled, &here)
                }
            });
        }
        let at = at.expect("a contraction has an axis to sum over");
        e.w.index_cast(&at, Ty::Index)
    }

    /// Place of a column's position on its axis number `i`.
    fn lane(&self, e: &mut Emitter, i: usize, p: &Val, j: &Val) -> Val {
        let (nr, first) = (e.w.index(self.c.nr()), e.w.index(i as i64 * self.c.panels * self.c.nr()));
        let at = e.w.bin("arith.muli", p, &nr);
        let at = e.w.bin("arith.addi", &at, j);
        e.w.bin("arith.addi", &at, &first)
    }

    fn load_lanes(&self, e: &mut Emitter, p: &Val, j: &Val) {
        for (i, axis) in self.c.n.iter().enumerate() {
            let at = self.lane(e, i, p, j);
            let v = e.w.def(INDEX, format_args!("memref.load {}[{at}] : memref<?xi64>", self.lanes));
            e.set_axis(*axis, v);
        }
    }

    /// The register block over all of k; results go to the block buffer.
    fn multiply(&self, e: &mut Emitter, m0: &Val, m_end: &Val, p: &Val) {
        let c = self.c;
        let kernel = e.kernel;
        let one = e.w.index(1);
        let last = e.w.bin("arith.subi", m_end, &one);
        // Rows beyond the last repeat it; they are computed and not stored.
        let rows: Vec<Vec<(AxisId, Val)>> = (0..c.mr)
            .map(|i| {
                let i = e.w.index(i);
                let m = e.w.bin("arith.addi", m0, &i);
                let m = e.w.bin("arith.minui", &m, &last);
                e.set_axes_from_linear(&c.m, &m);
                c.m.iter().map(|a| (*a, e.axis(*a))).collect()
            })
            .collect();
        let k_total = e.dim_index(&product(kernel, &c.k));
        let panel = e.w.bin("arith.muli", p, &k_total);
        let vector = c.vector();
        let zero_scalar = if c.dtype == DType::I32 { "0" } else { "0.0" };
        let zero = e.w.fresh();
        e.w.line(format_args!("{zero} = arith.constant dense<{zero_scalar}> : {vector}"));
        let n_accs = (c.mr * c.vectors) as usize;
        let inits = vec![zero; n_accs];
        let finals = match c.flat {
            Some(load) => {
                let bases: Vec<Val> = rows
                    .iter()
                    .map(|row| {
                        row.iter().for_each(|(a, v)| e.set_axis(*a, v.clone()));
                        let start = e.w.int(INDEX, 0);
                        c.k.iter().for_each(|a| e.set_axis(*a, start.clone()));
                        let Scalar::Load { buffer, index, .. } = kernel.expr(load) else {
                            unreachable!("a load")
                        };
                        e.position(self.stage, *buffer, index)
                    })
                    .collect();
                let Scalar::Load { buffer, .. } = kernel.expr(load) else { unreachable!("a load") };
                let low = e.w.index(0);
                e.vector_loop((&low, &k_total), &inits, &vector, |e, k, accs| {
                    let values = bases
                        .iter()
                        .map(|base| {
                            let at = e.w.bin("arith.addi", base, k);
                            e.known.clear();
                            let v = e.load(*buffer, &at);
                            e.known.insert(load, v);
                            e.eval(self.stage, c.rows)
                        })
                        .collect::<Vec<_>>();
                    e.known.clear();
                    self.update(e, &panel, k, &values, accs)
                })
            }
            None => self.multiply_nested(e, &rows, &panel, &inits, &c.k),
        };
        let nr = c.nr();
        for (i, acc) in finals.iter().enumerate() {
            let at = e.w.index(i as i64 / c.vectors * nr + i as i64 % c.vectors * c.lanes);
            e.w.line(format_args!(
                "vector.store {acc}, {}[{at}] : memref<?x{}>, {vector}",
                self.block,
                c.elem()
            ));
        }
    }

    fn multiply_nested(
        &self,
        e: &mut Emitter,
        rows: &[Vec<(AxisId, Val)>],
        panel: &Val,
        accs: &[String],
        axes: &[AxisId],
    ) -> Vec<String> {
        let c = self.c;
        let Some((axis, rest)) = axes.split_first() else {
            let k = self.flat_k(e);
            let values: Vec<Val> = rows
                .iter()
                .map(|row| {
                    row.iter().for_each(|(a, v)| e.set_axis(*a, v.clone()));
                    e.eval(self.stage, c.rows)
                })
                .collect();
            return self.update(e, panel, &k, &values, accs);
        };
        let extent = e.kernel.extent(*axis).clone();
        let (lo, hi) = (e.w.index(0), e.dim_index(&extent));
        e.vector_loop((&lo, &hi), accs, &c.vector(), |e, iv, accs| {
            e.enter(*axis, iv);
            self.multiply_nested(e, rows, panel, accs, rest)
        })
    }

    /// One k: every row's value times every vector of the panel.
    fn update(&self, e: &mut Emitter, panel: &Val, k: &Val, values: &[Val], accs: &[String]) -> Vec<String> {
        let c = self.c;
        let (vector, elem) = (c.vector(), c.elem());
        let nr = e.w.index(c.nr());
        let row = e.w.bin("arith.addi", panel, k);
        let row = e.w.bin("arith.muli", &row, &nr);
        let columns: Vec<String> = (0..c.vectors)
            .map(|v| {
                let offset = e.w.index(v * c.lanes);
                let at = e.w.bin("arith.addi", &row, &offset);
                let name = e.w.fresh();
                e.w.line(format_args!(
                    "{name} = vector.load {}[{at}] : memref<?x{elem}>, {vector}",
                    self.packed
                ));
                name
            })
            .collect();
        let mut next = Vec::with_capacity(accs.len());
        for (i, value) in values.iter().enumerate() {
            let splat = e.w.fresh();
            e.w.line(format_args!("{splat} = vector.broadcast {value} : {elem} to {vector}"));
            for (v, column) in columns.iter().enumerate() {
                let acc = &accs[i * columns.len() + v];
                next.push(e.multiply_add(&splat, column, acc, &vector, c.dtype));
            }
        }
        next
    }

    /// Applies the kernel's store to the block's results.
    fn finish(&self, e: &mut Emitter, (m0, m_end): (&Val, &Val), (p, n0, n_total): (&Val, &Val, &Val)) {
        let c = self.c;
        let (zero, mr, nr) = (e.w.index(0), e.w.index(c.mr), e.w.index(c.nr()));
        let rows = e.w.bin("arith.subi", m_end, m0);
        let rows = e.w.bin("arith.minui", &rows, &mr);
        let columns = e.w.bin("arith.subi", n_total, n0);
        let columns = e.w.bin("arith.minui", &columns, &nr);
        e.for_loop((&zero, &rows), 1, &[], |e, i, _| {
            let m = e.w.bin("arith.addi", m0, &i);
            e.set_axes_from_linear(&c.m, &m);
            let row = e.w.bin("arith.muli", &i, &nr);
            e.for_loop((&zero, &columns), 1, &[], |e, j, _| {
                if c.n.len() > 1 {
                    self.load_lanes(e, p, &j);
                } else {
                    let n = e.w.bin("arith.addi", n0, &j);
                    e.enter(c.n[0], &n);
                }
                let at = e.w.bin("arith.addi", &row, &j);
                let ty = super::repr::register(c.dtype);
                let v =
                    e.w.def(ty, format_args!("memref.load {}[{at}] : memref<?x{}>", self.block, c.elem()));
                e.accs = vec![v];
                e.stores(self.stage);
                vec![]
            });
            vec![]
        });
    }
}

impl Emitter<'_> {
    /// A loop that carries vectors.
    fn vector_loop(
        &mut self,
        (lo, hi): (&Val, &Val),
        inits: &[String],
        vector: &str,
        body: impl FnOnce(&mut Self, &Val, &[String]) -> Vec<String>,
    ) -> Vec<String> {
        let step = self.w.index(1);
        let open = self.w.open_vector_for((lo, hi, &step), inits, vector);
        let saved = std::mem::take(&mut self.known);
        let (iv, inside) = (open.iv.clone(), open.carried.clone());
        let next = body(self, &iv, &inside);
        self.known = saved;
        self.w.close_vector_for(open, &next, vector)
    }

    /// `a * b + acc` of vectors.
    fn multiply_add(&mut self, a: &str, b: &str, acc: &str, vector: &str, dtype: DType) -> String {
        let name = self.w.fresh();
        if dtype != DType::I32 && self.target.can.fma {
            self.w.line(format_args!("{name} = vector.fma {a}, {b}, {acc} : {vector}"));
            return name;
        }
        let (mul, add) =
            if dtype == DType::I32 { ("arith.muli", "arith.addi") } else { ("arith.mulf", "arith.addf") };
        let product = self.w.fresh();
        self.w.line(format_args!("{product} = {mul} {a}, {b} : {vector}"));
        self.w.line(format_args!("{name} = {add} {product}, {acc} : {vector}"));
        name
    }
}
