//! Packing of columns: for each position on k, the values of a panel's columns side by side.

use super::layout::blocked_load;
use super::{Pass, Tile, uncast};
use crate::lower::access::{Stride, coefficient, depends, product, stride_of};
use crate::lower::emitter::Emitter;
use crate::lower::scalar::INDEX;
use crate::lower::writer::{I1, I16, Ty, Val, join};
use indexmap::IndexSet;
use tcc_ir::kernel::{AxisId, ExprId, Kernel, Scalar};

/// How the columns' values are found.
pub enum Source {
    /// They lie in panels already, as this load reads them: an operand laid out ahead.
    Panels(ExprId),
    /// Memory is contiguous along the only axis of the columns.
    Rows,
    /// Along the only axis of the columns memory is strided.
    Strided,
    /// One load gives the elements: its places are found once for all positions on an axis of k, if there is one
    /// that only moves them.
    Places { load: ExprId, run: Option<AxisId> },
    /// Several loads that depend on the position.
    Each,
}

/// The loads below `id` that depend on one of `axes`.
fn moving_loads(kernel: &Kernel, id: ExprId, axes: &[AxisId], found: &mut IndexSet<ExprId>) {
    if !axes.iter().any(|a| depends(kernel, id, *a)) {
        return;
    }
    if matches!(kernel.expr(id), Scalar::Load { .. }) {
        found.insert(id);
        return;
    }
    for operand in kernel.operands(id) {
        moving_loads(kernel, operand, axes, found);
    }
}

impl Source {
    /// Of the operand `columns`, in panels of `nr`.
    pub fn of(
        kernel: &Kernel,
        columns: ExprId,
        n: &[AxisId],
        k: &[AxisId],
        (nr, pairs): (i64, bool),
    ) -> Source {
        let operand = if pairs { uncast(kernel, columns) } else { columns };
        if let Some(load) = blocked_load(kernel, operand, n, k, nr) {
            return Source::Panels(load);
        }
        let axes: Vec<AxisId> = n.iter().chain(k).copied().collect();
        let mut loads = IndexSet::new();
        moving_loads(kernel, columns, &axes, &mut loads);
        // A value that moves without a load in it is index arithmetic.
        let (Some(&load), 1) = (loads.first(), loads.len()) else { return Source::Each };
        let Scalar::Load { index, guard, .. } = kernel.expr(load) else { return Source::Each };
        if n.len() == 1 && guard.is_none() {
            return match stride_of(kernel, kernel.expr(load), n[0]) {
                Stride::Other => Source::Strided,
                Stride::One | Stride::Few | Stride::Zero => Source::Rows,
            };
        }
        let only_moves = |a: &AxisId| {
            guard.is_none_or(|g| !depends(kernel, g, *a))
                && index.iter().all(|i| coefficient(kernel, *i, *a).is_some_and(|step| step >= 0))
        };
        Source::Places { load, run: k.iter().copied().find(only_moves) }
    }
}

impl Tile<'_> {
    /// Whether anything reads the table of columns' positions.
    fn needs_lanes(&self) -> bool {
        let by_lane = self.c.n.len() > 1 && !self.c.flat_stores;
        by_lane || matches!(self.c.source, Source::Places { .. } | Source::Each)
    }

    /// Fills the table of columns' positions. Columns beyond the last repeat it.
    pub fn place_lanes(&self, e: &mut Emitter, first: &Val, n_total: &Val, panels: &Val) {
        if !self.needs_lanes() {
            return;
        }
        let (nr, one, zero) = (e.w.index(self.c.nr()), e.w.index(1), e.w.index(0));
        let last = e.w.bin("arith.subi", n_total, &one);
        let n = e.w.bin("arith.muli", panels, &nr);
        e.for_loop((&zero, &n), 1, &[], |e, j, _| {
            let at = e.w.bin("arith.addi", first, &j);
            let at = e.w.bin("arith.minui", &at, &last);
            e.set_axes_from_linear(&self.c.n, &at);
            for (i, axis) in self.c.n.iter().enumerate() {
                let to = self.lane(e, i, &j);
                let v = e.axis(*axis);
                e.w.line(format_args!("memref.store {v}, {}[{to}] : memref<?xi64>", self.lanes));
            }
            vec![]
        });
    }

    /// Place in the table of the tile's column number `j` and axis number `i`.
    fn lane(&self, e: &mut Emitter, i: usize, j: &Val) -> Val {
        let first = e.w.index(i as i64 * self.c.panels * self.c.nr());
        e.w.bin("arith.addi", &first, j)
    }

    /// Moves to the tile's column number `j`.
    pub fn enter_lane(&self, e: &mut Emitter, j: &Val) {
        for (i, axis) in self.c.n.iter().enumerate() {
            let at = self.lane(e, i, j);
            let v = e.w.def(INDEX, format_args!("memref.load {}[{at}] : memref<?xi64>", self.lanes));
            e.set_axis(*axis, v);
        }
    }

    /// Packs all panels of a tile for the pass's positions on k.
    pub fn pack(&self, e: &mut Emitter, pass: &Pass) {
        match self.c.source {
            Source::Panels(load) if self.c.pairs => {
                return self.over_panels(e, pass, &|e, p| self.pair_panel(e, pass, p, load));
            }
            Source::Panels(_) => {}
            Source::Rows => self.pack_rows(e, pass),
            Source::Strided => self.pack_strided(e, pass),
            Source::Places { load, run } => self.over_panels(e, pass, &|e, p| {
                self.pack_places(e, pass, p, load, run);
            }),
            Source::Each => self.over_panels(e, pass, &|e, p| self.pack_each(e, pass, p)),
        }
        if self.c.pairs {
            self.pair_up(e, pass);
        }
    }

    pub fn over_panels(&self, e: &mut Emitter, pass: &Pass, body: &dyn Fn(&mut Emitter, &Val)) {
        let zero = e.w.index(0);
        e.for_loop((&zero, &pass.panels), 1, &[], |e, p, _| {
            body(e, &p);
            vec![]
        });
    }

    /// Where a panel's values for the pass's position number `k` begin.
    fn packed_at(&self, e: &mut Emitter, pass: &Pass, p: &Val, k: &Val) -> Val {
        let panel = e.w.bin("arith.muli", p, &pass.k_rows);
        let row = e.w.bin("arith.addi", &panel, k);
        let nr = e.w.index(self.c.nr());
        e.w.bin("arith.muli", &row, &nr)
    }

    fn store_packed(&self, e: &mut Emitter, value: &Val, at: &Val) {
        let elem = self.c.packed_elem();
        let value = if self.c.pairs { e.w.convert("arith.trunci", value, I16) } else { value.clone() };
        e.w.line(format_args!("memref.store {value}, {}[{at}] : memref<?x{elem}>", self.packed));
    }

    fn pack_rows(&self, e: &mut Emitter, pass: &Pass) {
        let c = self.c;
        let (zero, one, nr) = (e.w.index(0), e.w.index(1), e.w.index(c.nr()));
        let last = e.w.bin("arith.subi", &pass.n_total, &one);
        let left = e.w.bin("arith.subi", &pass.n_total, &pass.first);
        let whole = e.w.bin("arith.divui", &left, &nr);
        let whole = e.w.bin("arith.minui", &whole, &pass.panels);
        self.over_k(e, pass, &c.k, &mut |e| {
            let k = self.k_position(e, pass);
            let mut panels = |lo: &Val, hi: &Val, clamp: bool| {
                e.for_loop((lo, hi), 1, &[], |e, p, _| {
                    let row = self.packed_at(e, pass, &p, &k);
                    let n0 = self.column(e, pass, &p);
                    e.for_loop((&zero, &nr), 1, &[], |e, j, _| {
                        let mut n = e.w.bin("arith.addi", &n0, &j);
                        if clamp {
                            n = e.w.bin("arith.minui", &n, &last);
                        }
                        e.enter(c.n[0], &n);
                        let v = e.eval(self.stage, c.columns);
                        let at = e.w.bin("arith.addi", &row, &j);
                        self.store_packed(e, &v, &at);
                        vec![]
                    });
                    vec![]
                });
            };
            panels(&zero, &whole, false);
            panels(&whole, &pass.panels, true);
        });
    }

    /// A column at a time: memory is read along k, and a panel being written fits the first-level cache.
    fn pack_strided(&self, e: &mut Emitter, pass: &Pass) {
        let c = self.c;
        let (zero, one, nr) = (e.w.index(0), e.w.index(1), e.w.index(c.nr()));
        let last = e.w.bin("arith.subi", &pass.n_total, &one);
        self.over_panels(e, pass, &|e, p| {
            let n0 = self.column(e, pass, p);
            e.for_loop((&zero, &nr), 1, &[], |e, j, _| {
                let n = e.w.bin("arith.addi", &n0, &j);
                let n = e.w.bin("arith.minui", &n, &last);
                self.over_k(e, pass, &c.k, &mut |e| {
                    e.enter(c.n[0], &n);
                    let k = self.k_position(e, pass);
                    let row = self.packed_at(e, pass, p, &k);
                    let v = e.eval(self.stage, c.columns);
                    let at = e.w.bin("arith.addi", &row, &j);
                    self.store_packed(e, &v, &at);
                });
                vec![]
            });
        });
    }

    fn pack_each(&self, e: &mut Emitter, pass: &Pass, p: &Val) {
        let c = self.c;
        let (zero, nr) = (e.w.index(0), e.w.index(c.nr()));
        let first = e.w.bin("arith.muli", p, &nr);
        self.over_k(e, pass, &c.k, &mut |e| {
            let k = self.k_position(e, pass);
            let row = self.packed_at(e, pass, p, &k);
            e.for_loop((&zero, &nr), 1, &[], |e, j, _| {
                let lane = e.w.bin("arith.addi", &first, &j);
                self.enter_lane(e, &lane);
                let v = e.eval(self.stage, c.columns);
                let at = e.w.bin("arith.addi", &row, &j);
                self.store_packed(e, &v, &at);
                vec![]
            });
        });
    }

    fn pack_places(&self, e: &mut Emitter, pass: &Pass, p: &Val, load: ExprId, run: Option<AxisId>) {
        let c = self.c;
        let others: Vec<AxisId> = c.k.iter().copied().filter(|a| Some(*a) != run).collect();
        self.over_k(e, pass, &others, &mut |e| {
            // Along the run, places and rows of the panel move by fixed steps from where its axis is 0.
            let (range, step, row_step) = match run {
                None => ((e.w.index(0), e.w.index(1)), e.w.index(0), e.w.index(0)),
                Some(axis) => {
                    let [from, to] = [0, 1].map(|at| {
                        let at = e.w.index(at);
                        e.enter(axis, &at);
                        for n in &c.n {
                            let zero = e.w.int(INDEX, 0);
                            e.set_axis(*n, zero);
                        }
                        self.place(e, load)
                    });
                    let step = e.w.bin("arith.subi", &to, &from);
                    let inner = c.k.iter().skip_while(|a| **a != axis).skip(1).copied().collect::<Vec<_>>();
                    let row_step = e.dim_index(&product(e.kernel, &inner));
                    let range = self.k_range(e, pass, axis);
                    e.enter(axis, &range.0);
                    (range, step, row_step)
                }
            };
            let k = self.k_position(e, pass);
            if let Some(axis) = run {
                let zero = e.w.index(0);
                e.enter(axis, &zero);
            }
            self.find_places(e, p, load);
            let copies = self.copies_vectors(e, load);
            let vectors = if copies { c.vectors } else { 1 };
            for v in 0..vectors {
                let from = e.w.index(v * c.lanes);
                let value = |e: &mut Emitter, at: &Val, row: &Val, all: &Places| match all {
                    Places::Adjacent(first) => {
                        let at = e.w.bin("arith.addi", first, at);
                        self.copy_vector(e, load, &at, row);
                    }
                    Places::Nowhere => {
                        let (zero, vector) = (e.w.fresh(), c.packed_vector());
                        e.w.line(format_args!("{zero} = arith.constant dense<{}> : {vector}", c.zero()));
                        self.store_vector(e, &zero, row);
                    }
                    Places::Scattered { places, mask } => {
                        self.copy_scattered(e, load, at, (places, mask), row)
                    }
                    Places::Unknown => self.copy_lanes(e, p, load, at, row),
                };
                let along_run = |e: &mut Emitter, places: &Places| {
                    e.for_loop((&range.0, &range.1), 1, &[], |e, at, _| {
                        let rows = e.w.bin("arith.subi", &at, &range.0);
                        let rows = e.w.bin("arith.muli", &rows, &row_step);
                        let k = e.w.bin("arith.addi", &k, &rows);
                        let row = self.packed_at(e, pass, p, &k);
                        let row = e.w.bin("arith.addi", &row, &from);
                        let moved = e.w.bin("arith.muli", &at, &step);
                        if let Some(axis) = run {
                            e.enter(axis, &at);
                        }
                        value(e, &moved, &row, places);
                        vec![]
                    });
                };
                if !copies {
                    along_run(e, &Places::Unknown);
                    continue;
                }
                let found = self.vector_places(e, &from);
                e.w.open_if(&found.adjacent);
                along_run(e, &Places::Adjacent(found.first));
                e.w.open_else();
                e.w.open_if(&found.any);
                let places = self.scattered(e, &from, found.mask);
                along_run(e, &places);
                e.w.open_else();
                along_run(e, &Places::Nowhere);
                e.w.close_if();
                e.w.close_if();
            }
        });
    }

    /// The place that `load` reads at the present point.
    fn place(&self, e: &mut Emitter, load: ExprId) -> Val {
        let Scalar::Load { buffer, index, .. } = e.kernel.expr(load) else { unreachable!("a load") };
        e.position(self.stage, *buffer, index)
    }

    /// Fills the table of places for a panel: -1 where the guard is false.
    fn find_places(&self, e: &mut Emitter, p: &Val, load: ExprId) {
        let (zero, nr) = (e.w.index(0), e.w.index(self.c.nr()));
        let first = e.w.bin("arith.muli", p, &nr);
        e.for_loop((&zero, &nr), 1, &[], |e, j, _| {
            let lane = e.w.bin("arith.addi", &first, &j);
            self.enter_lane(e, &lane);
            let at = self.place(e, load);
            let mut at = e.w.index_cast(&at, INDEX);
            if let Scalar::Load { guard: Some(guard), .. } = e.kernel.expr(load) {
                let guard = e.eval(self.stage, *guard);
                let none = e.w.int(INDEX, -1);
                at = e.w.select(&guard, &at, &none);
            }
            e.w.line(format_args!("memref.store {at}, {}[{j}] : memref<?xi64>", self.offsets));
            vec![]
        });
    }

    /// Whether whole vectors go from memory to the panel as they are.
    fn copies_vectors(&self, e: &Emitter, load: ExprId) -> bool {
        let Scalar::Load { buffer, .. } = e.kernel.expr(load) else { return false };
        let dtype = e.kernel.buffer(*buffer).ty.dtype;
        load == uncast(e.kernel, self.c.columns) && (self.c.pairs || dtype == self.c.dtype)
    }

    /// What the table says of the vector of columns that begins at `from`.
    fn vector_places(&self, e: &mut Emitter, from: &Val) -> Found {
        let c = self.c;
        let wide = format!("vector<{}xi64>", c.lanes);
        let truth = format!("vector<{}xi1>", c.lanes);
        let mut def = |op: String| {
            let name = e.w.fresh();
            e.w.line(format_args!("{name} = {op}"));
            name
        };
        let places = def(format!("vector.load {}[{from}] : memref<?xi64>, {wide}", self.offsets));
        let first = def(format!("memref.load {}[{from}] : memref<?xi64>", self.offsets));
        let numbers = (0..c.lanes).map(|i| i.to_string()).collect::<Vec<_>>().join(", ");
        let numbers = def(format!("arith.constant dense<[{numbers}]> : {wide}"));
        let splat = def(format!("vector.broadcast {first} : i64 to {wide}"));
        let expected = def(format!("arith.addi {splat}, {numbers} : {wide}"));
        let equal = def(format!("arith.cmpi eq, {places}, {expected} : {wide}"));
        let equal = def(format!("vector.reduction <and>, {equal} : {truth} into i1"));
        let zeros = def(format!("arith.constant dense<0> : {wide}"));
        let mask = def(format!("arith.cmpi sge, {places}, {zeros} : {wide}"));
        let any = def(format!("vector.reduction <or>, {mask} : {truth} into i1"));
        let first = Val::named(&first, INDEX);
        let zero = e.w.int(INDEX, 0);
        let real = e.w.cmp("sge", &first, &zero);
        let adjacent = e.w.bin("arith.andi", &Val::named(&equal, I1), &real);
        let first = e.w.index_cast(&first, Ty::Index);
        Found { adjacent, any: Val::named(&any, I1), first, mask }
    }

    /// The places of a vector's columns one by one. A column without one takes place 0: as some column has a place,
    /// and steps go forward, there is an element.
    fn scattered(&self, e: &mut Emitter, from: &Val, mask: String) -> Places {
        let zero = e.w.int(INDEX, 0);
        let places = (0..self.c.lanes)
            .map(|lane| {
                let lane = e.w.index(lane);
                let at = e.w.bin("arith.addi", from, &lane);
                let at = e.w.def(INDEX, format_args!("memref.load {}[{at}] : memref<?xi64>", self.offsets));
                let at = e.w.bin("arith.maxsi", &at, &zero);
                e.w.index_cast(&at, Ty::Index)
            })
            .collect();
        Places::Scattered { places, mask }
    }

    fn copy_vector(&self, e: &mut Emitter, load: ExprId, at: &Val, row: &Val) {
        let Scalar::Load { buffer, .. } = e.kernel.expr(load) else { unreachable!("a load") };
        let (memory, ty, dtype) = e.memref(*buffer);
        let (name, lanes) = (memory.name, self.c.lanes);
        let mut value = e.w.fresh();
        e.w.line(format_args!("{value} = vector.load {name}[{at}] : memref<?x{ty}>, vector<{lanes}x{ty}>"));
        if self.c.pairs {
            value = self.widened(e, value, dtype, lanes);
        }
        self.store_vector(e, &value, row);
    }

    fn copy_scattered(
        &self,
        e: &mut Emitter,
        load: ExprId,
        moved: &Val,
        (places, mask): (&[Val], &str),
        row: &Val,
    ) {
        let c = self.c;
        let Scalar::Load { buffer, .. } = e.kernel.expr(load) else { unreachable!("a load") };
        let (memory, ty, dtype) = e.memref(*buffer);
        let elements: Vec<Val> = places
            .iter()
            .map(|place| {
                let at = e.w.bin("arith.addi", place, moved);
                e.w.load(&memory, ty, &at)
            })
            .collect();
        let mut raw = e.w.fresh();
        e.w.line(format_args!("{raw} = vector.from_elements {} : vector<{}x{ty}>", join(&elements), c.lanes));
        if c.pairs {
            raw = self.widened(e, raw, dtype, c.lanes);
        }
        let (zero, value, vector) = (e.w.fresh(), e.w.fresh(), c.packed_vector());
        e.w.line(format_args!("{zero} = arith.constant dense<{}> : {vector}", c.zero()));
        let truth = format!("vector<{}xi1>", c.lanes);
        e.w.line(format_args!("{value} = arith.select {mask}, {raw}, {zero} : {truth}, {vector}"));
        self.store_vector(e, &value, row);
    }

    fn store_vector(&self, e: &mut Emitter, value: &str, row: &Val) {
        let (vector, elem) = (self.c.packed_vector(), self.c.packed_elem());
        e.w.line(format_args!("vector.store {value}, {}[{row}] : memref<?x{elem}>, {vector}", self.packed));
    }

    /// One column after another: the value may be computed from the element, and from the position.
    fn copy_lanes(&self, e: &mut Emitter, p: &Val, load: ExprId, moved: &Val, row: &Val) {
        let Scalar::Load { buffer, .. } = e.kernel.expr(load) else { unreachable!("a load") };
        let (zero, nr) = (e.w.index(0), e.w.index(self.c.nr()));
        let first = e.w.bin("arith.muli", p, &nr);
        e.for_loop((&zero, &nr), 1, &[], |e, j, _| {
            let lane = e.w.bin("arith.addi", &first, &j);
            self.enter_lane(e, &lane);
            let at = e.w.def(INDEX, format_args!("memref.load {}[{j}] : memref<?xi64>", self.offsets));
            let none = e.w.int(INDEX, 0);
            let inside = e.w.cmp("sge", &at, &none);
            let at = e.w.index_cast(&at, Ty::Index);
            let at = e.w.bin("arith.addi", &at, moved);
            let raw = e.load_if(*buffer, &at, &inside);
            e.known.clear();
            e.known.insert(load, raw);
            let v = e.eval(self.stage, self.c.columns);
            let to = e.w.bin("arith.addi", row, &j);
            self.store_packed(e, &v, &to);
            vec![]
        });
    }
}

/// Where a vector of columns is in memory, before the run's step.
enum Places {
    Adjacent(Val),
    /// At these places, where the mask holds.
    Scattered {
        places: Vec<Val>,
        mask: String,
    },
    /// No column has one.
    Nowhere,
    /// As the table says.
    Unknown,
}

/// What is known of a vector's places when the kernel runs.
struct Found {
    adjacent: Val,
    /// Whether any column has a place.
    any: Val,
    first: Val,
    mask: String,
}
