//! The kernel's stores, applied to sums in scratch memory.

use super::{Pass, Tile};
use crate::lower::access::depends;
use crate::lower::emitter::Emitter;
use crate::lower::repr::register;
use crate::lower::scalar::INDEX;
use crate::lower::writer::Val;
use tcc_ir::DType;
use tcc_ir::kernel::{AxisId, BufferId, ExprId, Kernel, Scalar, Stage};
use tcc_ir::ops::BinaryKind;

/// Whether the stores, and what they load, see the axes `n` as one: every index that they occur in has all of them,
/// in order, over dims of just their extents; and nothing else depends on them. The position of column number `j`
/// is then that of `(0, ..., 0, j)`.
pub fn sees_flat(kernel: &Kernel, stage: &Stage, n: &[AxisId]) -> bool {
    n.len() == 1
        || stage.stores.iter().all(|store| {
            flat_index(kernel, store.buffer, &store.index, n) && flat_value(kernel, store.value, n)
        })
}

fn flat_value(kernel: &Kernel, id: ExprId, n: &[AxisId]) -> bool {
    if !n.iter().any(|a| depends(kernel, id, *a)) {
        return true;
    }
    match kernel.expr(id) {
        Scalar::Axis(_) => false,
        Scalar::Load { buffer, index, guard } => {
            flat_index(kernel, *buffer, index, n) && guard.is_none_or(|g| flat_value(kernel, g, n))
        }
        _ => kernel.operands(id).iter().all(|operand| flat_value(kernel, *operand, n)),
    }
}

fn flat_index(kernel: &Kernel, buffer: BufferId, index: &[ExprId], n: &[AxisId]) -> bool {
    let free = |part: &[ExprId]| part.iter().all(|e| !n.iter().any(|a| depends(kernel, *e, *a)));
    if free(index) {
        return true;
    }
    let shape = &kernel.buffer(buffer).ty.shape;
    let Some(at) = index.iter().position(|e| *kernel.expr(*e) == Scalar::Axis(n[0])) else { return false };
    index.len() >= at + n.len()
        && n.iter().enumerate().all(|(i, a)| {
            *kernel.expr(index[at + i]) == Scalar::Axis(*a) && shape[at + i] == *kernel.extent(*a)
        })
        && free(&index[..at])
        && free(&index[at + n.len()..])
}

impl Tile<'_> {
    /// Stores a register block.
    pub fn finish_block(&self, e: &mut Emitter, pass: &Pass, m0: &Val, p: &Val) {
        let c = self.c;
        let (zero, mr, nr) = (e.w.index(0), e.w.index(c.mr), e.w.index(c.nr()));
        let rows = e.w.bin("arith.subi", &pass.rows.1, m0);
        let rows = e.w.bin("arith.minui", &rows, &mr);
        let first = e.w.bin("arith.muli", p, &nr);
        let n0 = self.column(e, pass, p);
        let left = e.w.bin("arith.subi", &pass.n_total, &n0);
        let whole = e.w.cmp("uge", &left, &nr);
        let store = |e: &mut Emitter, columns: &Val| {
            e.for_loop((&zero, &rows), 1, &[], |e, i, _| {
                let m = e.w.bin("arith.addi", m0, &i);
                e.set_axes_from_linear(&c.m, &m);
                let row = e.w.bin("arith.muli", &i, &nr);
                self.finish_columns(e, pass, &row, (&first, columns));
                vec![]
            });
        };
        // A whole panel has a known width, which makes vectors of it.
        e.w.open_if(&whole);
        store(e, &nr);
        e.w.open_else();
        store(e, &left);
        e.w.close_if();
    }

    /// Stores all rows and columns of a tile.
    pub fn finish_tile(&self, e: &mut Emitter, pass: &Pass) {
        let c = self.c;
        let (zero, width) = (e.w.index(0), e.w.index(c.kept_columns()));
        let columns = e.w.bin("arith.subi", &pass.n_total, &pass.first);
        let columns = e.w.bin("arith.minui", &columns, &width);
        let divided = !self.divided(e.kernel).is_empty();
        e.for_loop((&pass.rows.0, &pass.rows.1), 1, &[], |e, m, _| {
            e.set_axes_from_linear(&c.m, &m);
            let row = e.w.bin("arith.subi", &m, &pass.rows.0);
            let row = e.w.bin("arith.muli", &row, &width);
            if divided {
                self.over_panels(e, pass, &|e, p| {
                    let nr = e.w.index(c.nr());
                    let first = e.w.bin("arith.muli", p, &nr);
                    let sums = e.w.bin("arith.addi", &row, &first);
                    let left = e.w.bin("arith.subi", &columns, &first);
                    let n = e.w.bin("arith.minui", &left, &nr);
                    self.finish_columns(e, pass, &sums, (&first, &n));
                });
            } else {
                self.finish_columns(e, pass, &row, (&zero, &columns));
            }
            vec![]
        });
    }

    /// Quotients and remainders of the column's number that are those of a panel's first one, or move in step with it:
    /// no panel reaches over a multiple of the divisor.
    fn divided(&self, kernel: &Kernel) -> Vec<(ExprId, BinaryKind, i64)> {
        let [axis] = self.c.n[..] else { return Vec::new() };
        let part = |(i, e): (usize, &Scalar)| match e {
            Scalar::Binary(kind @ (BinaryKind::Div | BinaryKind::Mod), at, by)
                if *kernel.expr(*at) == Scalar::Axis(axis) =>
            {
                let Scalar::Int(DType::I64, by) = kernel.expr(*by) else { return None };
                (*by > 0 && by % self.c.nr() == 0).then_some((ExprId(i as u32), *kind, *by))
            }
            _ => None,
        };
        kernel.exprs.iter().enumerate().filter_map(part).collect()
    }

    /// Stores `n` columns of a row, from the tile's column `first` on. `row` is the place of the first one's sum.
    fn finish_columns(&self, e: &mut Emitter, pass: &Pass, row: &Val, (first, n): (&Val, &Val)) {
        let c = self.c;
        let zero = e.w.index(0);
        let n0 = e.w.bin("arith.addi", &pass.first, first);
        let n0 = e.w.index_cast(&n0, INDEX);
        let parts: Vec<(ExprId, BinaryKind, Val)> = self
            .divided(e.kernel)
            .into_iter()
            .map(|(id, kind, by)| {
                let by = e.w.int(INDEX, by);
                let op = if kind == BinaryKind::Div { "arith.divui" } else { "arith.remui" };
                (id, kind, e.w.bin(op, &n0, &by))
            })
            .collect();
        e.for_loop((&zero, n), 1, &[], |e, j, _| {
            let column = e.w.bin("arith.addi", first, &j);
            if c.flat_stores {
                for axis in &c.n {
                    let none = e.w.int(INDEX, 0);
                    e.set_axis(*axis, none);
                }
                let at = e.w.bin("arith.addi", &pass.first, &column);
                e.enter(*c.n.last().expect("columns have an axis"), &at);
            } else {
                self.enter_lane(e, &column);
            }
            let step = e.w.index_cast(&j, INDEX);
            for (id, kind, part) in &parts {
                let moves = *kind == BinaryKind::Mod;
                let part = if moves { e.w.bin("arith.addi", part, &step) } else { part.clone() };
                e.known.insert(*id, part);
            }
            let at = e.w.bin("arith.addi", row, &j);
            let load = format!("memref.load {}[{at}] : memref<?x{}>", self.sums, c.elem());
            e.accs = vec![e.w.def(register(c.dtype), load)];
            e.stores(self.stage);
            vec![]
        });
    }
}
