//! The register block: rows times vectors of a panel, over a pass's positions on k.

use super::pack::Source;
use super::{Pass, Tile};
use crate::lower::emitter::Emitter;
use crate::lower::scalar::INDEX;
use crate::lower::writer::Val;
use tcc_ir::DType;
use tcc_ir::kernel::{AxisId, ExprId, Scalar};

/// A panel of columns in memory.
pub struct Panel {
    pub memory: String,
    pub at: Val,
}

impl Tile<'_> {
    /// Multiplies the rows from `m0` on with panel `p`; results go to where sums are kept.
    pub fn multiply(&self, e: &mut Emitter, pass: &Pass, m0: &Val, p: &Val) {
        let c = self.c;
        if c.pairs {
            let (panel, sums) = (self.panel(e, pass, p), self.sums_at(e, pass, m0, p));
            return self.call_pairs(e, pass, &panel, &sums);
        }
        let one = e.w.index(1);
        let last = e.w.bin("arith.subi", &pass.rows.1, &one);
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
        let panel = self.panel(e, pass, p);
        let first = self.sums_at(e, pass, m0, p);
        if self.call_block(e, pass, &rows, &panel, &first) {
            return;
        }
        let places = c.places_of_sums(e, &first);
        let inits = c.first_sums(e, &self.sums, &places);
        let finals = self.multiply_nested(e, pass, &rows, &panel, &inits, &c.k);
        c.store_sums(e, &self.sums, &places, &finals);
    }

    /// The place that `load` reads at the pass's first position on k.
    pub fn start_of_k(&self, e: &mut Emitter, pass: &Pass, load: ExprId) -> Val {
        let Scalar::Load { buffer, index, .. } = e.kernel.expr(load) else { unreachable!("a load") };
        e.enter(self.c.k[0], &pass.k.0);
        let start = e.w.int(INDEX, 0);
        self.c.k[1..].iter().for_each(|a| e.set_axis(*a, start.clone()));
        e.position(self.stage, *buffer, index)
    }

    /// Where a panel is: the memory, and the place of its values for the pass's first position on k.
    fn panel(&self, e: &mut Emitter, pass: &Pass, p: &Val) -> Panel {
        match self.c.source {
            Source::Panels(load) if !self.c.pairs => {
                let Scalar::Load { buffer, .. } = e.kernel.expr(load) else { unreachable!("a load") };
                Panel { memory: e.memref(*buffer).0.name, at: self.start_of_panel(e, pass, p, load) }
            }
            _ => {
                let at = e.w.bin("arith.muli", p, &pass.k_rows);
                let elements = e.w.index(self.c.nr() / if self.c.pairs { 2 } else { 1 });
                Panel { memory: self.panels.clone(), at: e.w.bin("arith.muli", &at, &elements) }
            }
        }
    }

    /// The place of a panel that is laid out ahead, for the pass's first position on k.
    pub fn start_of_panel(&self, e: &mut Emitter, pass: &Pass, p: &Val, load: ExprId) -> Val {
        let n0 = self.column(e, pass, p);
        e.enter(self.c.n[0], &n0);
        self.start_of_k(e, pass, load)
    }

    fn multiply_nested(
        &self,
        e: &mut Emitter,
        pass: &Pass,
        rows: &[Vec<(AxisId, Val)>],
        panel: &Panel,
        accs: &[String],
        axes: &[AxisId],
    ) -> Vec<String> {
        let c = self.c;
        let Some((axis, rest)) = axes.split_first() else {
            let k = self.k_position(e, pass);
            let values: Vec<Val> = rows
                .iter()
                .map(|row| {
                    row.iter().for_each(|(a, v)| e.set_axis(*a, v.clone()));
                    e.eval(self.stage, c.rows)
                })
                .collect();
            return self.update(e, panel, &k, &values, accs);
        };
        let (lo, hi) = self.k_range(e, pass, *axis);
        e.vector_loop((&lo, &hi), accs, &c.vector(), |e, iv, accs| {
            e.enter(*axis, iv);
            self.multiply_nested(e, pass, rows, panel, accs, rest)
        })
    }

    /// One k: every row's value times every vector of the panel.
    pub fn update(
        &self,
        e: &mut Emitter,
        panel: &Panel,
        k: &Val,
        values: &[Val],
        accs: &[String],
    ) -> Vec<String> {
        let c = self.c;
        let (vector, elem) = (c.vector(), c.elem());
        let nr = e.w.index(c.nr());
        let row = e.w.bin("arith.muli", k, &nr);
        let row = e.w.bin("arith.addi", &panel.at, &row);
        let columns: Vec<String> = (0..c.vectors)
            .map(|v| {
                let offset = e.w.index(v * c.lanes);
                let at = e.w.bin("arith.addi", &row, &offset);
                let name = e.w.fresh();
                e.w.line(format_args!(
                    "{name} = vector.load {}[{at}] : memref<?x{elem}>, {vector}",
                    panel.memory
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
                next.push(match c.pairs {
                    true => c.add_pairs(e, &splat, column, acc),
                    false => e.multiply_add(&splat, column, acc, &vector, c.dtype),
                });
            }
        }
        next
    }
}

impl Emitter<'_> {
    /// A loop that carries vectors.
    pub fn vector_loop(
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
