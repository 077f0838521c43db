//! The register block: rows times vectors of a panel, over a pass's positions on k.

use super::{Pass, Tile};
use crate::lower::emitter::Emitter;
use crate::lower::scalar::INDEX;
use crate::lower::writer::Val;
use tcc_ir::DType;
use tcc_ir::kernel::{AxisId, ExprId, Scalar};

impl Tile<'_> {
    /// Multiplies the rows from `m0` on with panel `p`; results go to where sums are kept.
    pub fn multiply(&self, e: &mut Emitter, pass: &Pass, m0: &Val, p: &Val) {
        let c = self.c;
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
        let panel = e.w.bin("arith.muli", p, &pass.k_len);
        let places = self.sum_places(e, pass, m0, p);
        let (vector, elem) = (c.vector(), c.elem());
        let inits: Vec<String> = if c.k_block.is_some() {
            let load = |e: &mut Emitter, at: &Val| {
                let name = e.w.fresh();
                e.w.line(format_args!(
                    "{name} = vector.load {}[{at}] : memref<?x{elem}>, {vector}",
                    self.sums
                ));
                name
            };
            places.iter().map(|at| load(e, at)).collect()
        } else {
            let zero = e.w.fresh();
            e.w.line(format_args!("{zero} = arith.constant dense<{}> : {vector}", c.zero()));
            vec![zero; places.len()]
        };
        let finals = match c.flat {
            Some(load) => self.multiply_flat(e, pass, load, &rows, &panel, &inits),
            None => self.multiply_nested(e, pass, &rows, &panel, &inits, &c.k),
        };
        for (at, acc) in places.iter().zip(&finals) {
            e.w.line(format_args!("vector.store {acc}, {}[{at}] : memref<?x{elem}>, {vector}", self.sums));
        }
    }

    /// Where the vectors of the register block are kept: row by row.
    fn sum_places(&self, e: &mut Emitter, pass: &Pass, m0: &Val, p: &Val) -> Vec<Val> {
        let c = self.c;
        let first = self.sums_at(e, pass, m0, p);
        let vectors = (0..c.mr).flat_map(|i| (0..c.vectors).map(move |v| (i, v)));
        vectors
            .map(|(i, v)| {
                let offset = e.w.index(i * c.kept_columns() + v * c.lanes);
                e.w.bin("arith.addi", &first, &offset)
            })
            .collect()
    }

    /// The row operand is contiguous along k: one loop.
    fn multiply_flat(
        &self,
        e: &mut Emitter,
        pass: &Pass,
        load: ExprId,
        rows: &[Vec<(AxisId, Val)>],
        panel: &Val,
        inits: &[String],
    ) -> Vec<String> {
        let c = self.c;
        let Scalar::Load { buffer, index, .. } = e.kernel.expr(load) else { unreachable!("a load") };
        let bases: Vec<Val> = rows
            .iter()
            .map(|row| {
                row.iter().for_each(|(a, v)| e.set_axis(*a, v.clone()));
                e.enter(c.k[0], &pass.k.0);
                let start = e.w.int(INDEX, 0);
                c.k[1..].iter().for_each(|a| e.set_axis(*a, start.clone()));
                e.position(self.stage, *buffer, index)
            })
            .collect();
        let low = e.w.index(0);
        e.vector_loop((&low, &pass.k_len), inits, &c.vector(), |e, k, accs| {
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
            self.update(e, panel, k, &values, accs)
        })
    }

    fn multiply_nested(
        &self,
        e: &mut Emitter,
        pass: &Pass,
        rows: &[Vec<(AxisId, Val)>],
        panel: &Val,
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
