//! Sums of products of integers of few bits: two positions on k at once.
//!
//! x86 multiplies vectors of 16-bit integers and adds neighbouring products in 32 bits with one instruction (`pmaddwd`).
//! Both operands are packed as 16-bit integers, two positions on k side by side; to the register block each such pair is
//! one element of 32 bits. An odd last position is filled up with zeros.

use super::multiply::Panel;
use super::{Contract, Pass, RowLayout, Tile};
use crate::lower::emitter::{Emitter, Memory};
use crate::lower::writer::{I16, I32, Val};
use crate::target::{Arch, Target};
use tcc_ir::DType;
use tcc_ir::kernel::{ExprId, Kernel, Scalar};

/// Bytes of a cache line.
const LINE: i64 = 64;

/// Whether a target has the instruction, and this operand of a sum in 32 bits fits it: elements of 16 bits at most,
/// widened.
pub fn fits(kernel: &Kernel, operand: ExprId, target: &Target) -> bool {
    let Scalar::Cast(DType::I32, inner) = kernel.expr(operand) else { return false };
    let Scalar::Load { buffer, .. } = kernel.expr(*inner) else { return false };
    kernel.buffer(*buffer).ty.dtype.fits_i16() && target.arch == Arch::X86_64
}

impl Contract {
    /// The sum of a vector and the products of pairs in two others, element by element.
    pub fn add_pairs(&self, e: &mut Emitter, a: &str, b: &str, acc: &str) -> String {
        let (vector, halves) = (self.vector(), format!("vector<{}xi16>", 2 * self.lanes));
        let instruction = match self.lanes {
            4 => "sse2.pmadd.wd",
            8 => "avx2.pmadd.wd",
            _ => "avx512.pmaddw.d.512",
        };
        let [a, b] = [a, b].map(|v| {
            let name = e.w.fresh();
            e.w.line(format_args!("{name} = vector.bitcast {v} : {vector} to {halves}"));
            name
        });
        let (products, sum) = (e.w.fresh(), e.w.fresh());
        e.w.line(format_args!(
            "{products} = llvm.call_intrinsic \"llvm.x86.{instruction}\"({a}, {b}) : ({halves}, {halves}) -> {vector}"
        ));
        e.w.line(format_args!("{sum} = arith.addi {acc}, {products} : {vector}"));
        sum
    }
}

impl Tile<'_> {
    /// Packs the rows of a register block: each along k. Rows beyond the last repeat it.
    pub fn pack_row_block(&self, e: &mut Emitter, pass: &Pass, m0: &Val) {
        let c = self.c;
        let (zero, one, mr) = (e.w.index(0), e.w.index(1), e.w.index(c.mr));
        let last = e.w.bin("arith.subi", &pass.rows.1, &one);
        let to = Memory { name: self.halves_of_rows.clone(), ty: "memref<?xi16>".to_owned() };
        e.for_loop((&zero, &mr), 1, &[], |e, i, _| {
            let m = e.w.bin("arith.addi", m0, &i);
            let m = e.w.bin("arith.minui", &m, &last);
            e.set_axes_from_linear(&c.m, &m);
            let row = e.w.bin("arith.muli", &i, &pass.k_rows);
            let store = |e: &mut Emitter, k: &Val| {
                let value = e.eval(self.stage, c.rows);
                let value = e.w.convert("arith.trunci", &value, I16);
                let at = e.w.bin("arith.addi", &row, k);
                e.w.store(&value, &to, &at);
            };
            match c.row_layout {
                RowLayout::Flat(load) => {
                    let start = self.start_of_k(e, pass, load);
                    let Scalar::Load { buffer, .. } = e.kernel.expr(load) else { unreachable!("a load") };
                    self.prefetch_row(e, pass, &m, load);
                    e.set_axes_from_linear(&c.m, &m);
                    e.for_loop((&zero, &pass.k_len), 1, &[], |e, k, _| {
                        let at = e.w.bin("arith.addi", &start, &k);
                        let value = e.load(*buffer, &at);
                        e.known.clear();
                        e.known.insert(load, value);
                        store(e, &k);
                        vec![]
                    });
                }
                RowLayout::Blocked(_) | RowLayout::Any => self.over_k(e, pass, &c.k, &mut |e| {
                    let k = self.k_position(e, pass);
                    store(e, &k);
                }),
            }
            let none = e.w.int(I16, 0);
            e.for_loop((&pass.k_len, &pass.k_rows), 1, &[], |e, k, _| {
                let at = e.w.bin("arith.addi", &row, &k);
                e.w.store(&none, &to, &at);
                vec![]
            });
            vec![]
        });
    }

    /// Asks for the row that the next register block has in the place of row `m`. A row's part in a pass is too short for
    /// the hardware to find out where the reading goes on.
    fn prefetch_row(&self, e: &mut Emitter, pass: &Pass, m: &Val, load: ExprId) {
        let c = self.c;
        let Scalar::Load { buffer, .. } = e.kernel.expr(load) else { unreachable!("a load") };
        let (one, mr, zero) = (e.w.index(1), e.w.index(c.mr), e.w.index(0));
        let last = e.w.bin("arith.subi", &pass.rows.1, &one);
        let next = e.w.bin("arith.addi", m, &mr);
        let next = e.w.bin("arith.minui", &next, &last);
        e.set_axes_from_linear(&c.m, &next);
        let start = self.start_of_k(e, pass, load);
        let (memory, ty, dtype) = e.memref(*buffer);
        e.for_loop((&zero, &pass.k_len), LINE / dtype.size() as i64, &[], |e, k, _| {
            let at = e.w.bin("arith.addi", &start, &k);
            let name = &memory.name;
            e.w.line(format_args!("memref.prefetch {name}[{at}], read, locality<2>, data : memref<?x{ty}>"));
            vec![]
        });
    }

    /// Packs a panel that is laid out ahead.
    pub fn pair_panel(&self, e: &mut Emitter, pass: &Pass, p: &Val, load: ExprId) {
        let start = self.start_of_panel(e, pass, p, load);
        let Scalar::Load { buffer, .. } = e.kernel.expr(load) else { unreachable!("a load") };
        let (memory, ty, dtype) = e.memref(*buffer);
        let (nr, two, zero, one) = (e.w.index(self.c.nr()), e.w.index(2), e.w.index(0), e.w.index(1));
        let first = e.w.bin("arith.muli", p, &pass.k_rows);
        let row = |e: &mut Emitter, k: &Val| {
            let at = e.w.bin("arith.muli", k, &nr);
            let at = e.w.bin("arith.addi", &start, &at);
            let raw = e.w.fresh();
            let vector = format!("vector<{}x{ty}>", self.c.nr());
            e.w.line(format_args!("{raw} = vector.load {}[{at}] : memref<?x{ty}>, {vector}", memory.name));
            self.widened(e, raw, dtype, self.c.nr())
        };
        let pairs = e.w.bin("arith.divui", &pass.k_len, &two);
        e.for_loop((&zero, &pairs), 1, &[], |e, pair, _| {
            let k = e.w.bin("arith.muli", &pair, &two);
            let next = e.w.bin("arith.addi", &k, &one);
            let (a, b) = (row(e, &k), row(e, &next));
            let to = e.w.bin("arith.addi", &first, &k);
            self.store_pairs(e, &a, &b, &to);
            vec![]
        });
        let whole = e.w.bin("arith.muli", &pairs, &two);
        e.for_loop((&whole, &pass.k_len), 1, &[], |e, k, _| {
            let a = row(e, &k);
            let nothing = e.w.fresh();
            e.w.line(format_args!("{nothing} = arith.constant dense<0> : {}", self.halves()));
            let to = e.w.bin("arith.addi", &first, &k);
            self.store_pairs(e, &a, &nothing, &to);
            vec![]
        });
    }

    /// A row of a panel in 16 bits.
    fn halves(&self) -> String {
        format!("vector<{}xi16>", self.c.nr())
    }

    /// Stores two rows of a panel, side by side, from row `row` of all panels on.
    fn store_pairs(&self, e: &mut Emitter, a: &str, b: &str, row: &Val) {
        let nr = self.c.nr();
        let (halves, wide) = (self.halves(), format!("vector<{}xi16>", 2 * nr));
        let (both, width) = (e.w.fresh(), e.w.index(nr));
        let at = e.w.bin("arith.muli", row, &width);
        e.w.line(format_args!("{both} = vector.interleave {a}, {b} : {halves} -> {wide}"));
        e.w.line(format_args!("vector.store {both}, {}[{at}] : memref<?xi16>, {wide}", self.packed));
    }

    /// Puts neighbours on k side by side in all packed panels.
    pub fn pair_up(&self, e: &mut Emitter, pass: &Pass) {
        let (two, zero, one) = (e.w.index(2), e.w.index(0), e.w.index(1));
        let width = e.w.index(self.c.nr());
        let halves = self.halves();
        let memory = &self.packed;
        let load = |e: &mut Emitter, row: &Val| {
            let (value, at) = (e.w.fresh(), e.w.bin("arith.muli", row, &width));
            e.w.line(format_args!("{value} = vector.load {memory}[{at}] : memref<?xi16>, {halves}"));
            value
        };
        self.over_panels(e, pass, &|e, p| {
            let first = e.w.bin("arith.muli", p, &pass.k_rows);
            e.for_loop((&pass.k_len, &pass.k_rows), 1, &[], |e, k, _| {
                let (nothing, row) = (e.w.fresh(), e.w.bin("arith.addi", &first, &k));
                let at = e.w.bin("arith.muli", &row, &width);
                e.w.line(format_args!("{nothing} = arith.constant dense<0> : {halves}"));
                e.w.line(format_args!("vector.store {nothing}, {memory}[{at}] : memref<?xi16>, {halves}"));
                vec![]
            });
            let pairs = e.w.bin("arith.divui", &pass.k_rows, &two);
            e.for_loop((&zero, &pairs), 1, &[], |e, pair, _| {
                let k = e.w.bin("arith.muli", &pair, &two);
                let row = e.w.bin("arith.addi", &first, &k);
                let next = e.w.bin("arith.addi", &row, &one);
                let (a, b) = (load(e, &row), load(e, &next));
                self.store_pairs(e, &a, &b, &row);
                vec![]
            });
        });
    }

    /// Calls the register block for the packed rows and a panel.
    pub fn call_pairs(&self, e: &mut Emitter, pass: &Pass, panel: &Panel, sums: &Val) {
        let two = e.w.index(2);
        let pairs = e.w.bin("arith.divui", &pass.k_rows, &two);
        let starts: Vec<Val> = (0..self.c.mr)
            .map(|i| {
                let i = e.w.index(i);
                e.w.bin("arith.muli", &i, &pairs)
            })
            .collect();
        let part = self.block(e, "i32", starts.len(), &|inner, name, k, _| {
            let memory = Memory { name: name.to_owned(), ty: "memref<?xi32>".to_owned() };
            inner.w.load(&memory, I32, k)
        });
        let rows = Memory { name: self.pairs_of_rows.clone(), ty: "memref<?xi32>".to_owned() };
        self.call(e, &part, (&rows.name, "i32", &starts), panel, sums, &pairs);
    }

    /// A vector of elements as they are in memory, in 16 bits.
    pub fn widened(&self, e: &mut Emitter, value: String, dtype: DType, lanes: i64) -> String {
        if dtype == DType::I16 {
            return value;
        }
        let extend = if dtype.is_signed_int() { "arith.extsi" } else { "arith.extui" };
        let name = e.w.fresh();
        e.w.line(format_args!("{name} = {extend} {value} : vector<{lanes}xi8> to vector<{lanes}xi16>"));
        name
    }
}
