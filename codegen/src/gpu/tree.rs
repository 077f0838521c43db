//! Accumulations that a work-group shares out: each thread takes every so-manieth step, then the threads' results
//! are joined pairwise in shared memory.

use super::group::Group;
use crate::lower::access::product;
use crate::lower::emitter::Memory;
use crate::lower::writer::{I1, I8, Ty, Val};
use tcc_ir::kernel::{Acc, AccOp, Stage};

impl Group<'_> {
    /// The stage at the present point of its axes; the first thread stores.
    pub fn tree(&mut self, stage: &Stage) {
        let kernel = self.e.kernel;
        let inits: Vec<Val> = stage.accs.iter().flat_map(|a| self.e.identity(a)).collect();
        let n = self.e.dim_index(&product(kernel, &stage.reduce));
        let mine = self.strided(&n, &inits, &mut |e, i, running| {
            e.set_axes_from_linear(&stage.reduce, i);
            e.update(stage, running)
        });
        let slots = self.slots_for(&mine);
        let types: Vec<Ty> = mine.iter().map(|v| v.ty).collect();
        // The slots may still be read by who joined the results before.
        self.barrier();
        let thread = self.thread.clone();
        self.write_slots(&slots, &mine, &thread);
        let mut width = self.threads / 2;
        while width > 0 {
            self.barrier();
            let limit = self.e.w.index(width);
            let takes_part = self.e.w.cmp("slt", &thread, &limit);
            self.e.w.open_if(&takes_part);
            let other = self.e.w.bin("arith.addi", &thread, &limit);
            let (a, b) = (self.read_slots(&slots, &types, &thread), self.read_slots(&slots, &types, &other));
            let joined = self.join(stage, &a, &b);
            self.write_slots(&slots, &joined, &thread);
            self.e.w.close_if();
            width /= 2;
        }
        let zero = self.e.w.index(0);
        let first = self.e.w.cmp("eq", &thread, &zero);
        self.e.w.open_if(&first);
        let totals = self.read_slots(&slots, &types, &zero);
        self.e.accs = self.e.visible(stage, &totals);
        self.e.known.clear();
        self.e.stores(stage);
        self.e.known.clear();
        self.e.w.close_if();
    }

    /// An array of the group for each value, one element a thread.
    fn slots_for(&mut self, values: &[Val]) -> Vec<Memory> {
        let mut taken = vec![false; self.slots.len()];
        values
            .iter()
            .map(|v| {
                let free = (0..self.slots.len()).find(|i| self.slots[*i].0 == v.ty && !taken[*i]);
                let at = free.unwrap_or_else(|| {
                    let memory = self.shared(stored(v.ty), self.threads);
                    self.slots.push((v.ty, memory));
                    taken.push(false);
                    self.slots.len() - 1
                });
                taken[at] = true;
                self.slots[at].1.clone()
            })
            .collect()
    }

    fn write_slots(&mut self, slots: &[Memory], values: &[Val], at: &Val) {
        for (slot, v) in slots.iter().zip(values) {
            let w = &mut self.e.w;
            let v = if v.ty == I1 { w.convert("arith.extui", v, I8) } else { v.clone() };
            w.store(&v, slot, at);
        }
    }

    fn read_slots(&mut self, slots: &[Memory], types: &[Ty], at: &Val) -> Vec<Val> {
        let w = &mut self.e.w;
        slots
            .iter()
            .zip(types)
            .map(|(slot, ty)| {
                let v = w.load(slot, stored(*ty), at);
                if *ty == I1 { w.convert("arith.trunci", &v, I1) } else { v }
            })
            .collect()
    }

    /// Two sets of running values as one.
    fn join(&mut self, stage: &Stage, a: &[Val], b: &[Val]) -> Vec<Val> {
        let mut at = 0;
        let mut joined = Vec::new();
        for acc in &stage.accs {
            if acc.op.is_arg() {
                joined.extend(self.join_positions(acc, (&a[at], &a[at + 1]), (&b[at], &b[at + 1])));
                at += 2;
            } else {
                joined.push(self.e.combine(acc.op, acc.dtype, &a[at], &b[at]));
                at += 1;
            }
        }
        joined
    }

    /// The better of two values with their positions. Among equals, and among NaNs, the position decides: threads
    /// don't hold neighbouring steps. A thread without a step has the identity at position 0, which is the right
    /// answer where nothing is better than the identity.
    fn join_positions(&mut self, acc: &Acc, (v, at): (&Val, &Val), (u, place): (&Val, &Val)) -> [Val; 2] {
        let (max, last) = match acc.op {
            AccOp::ArgMax { last } => (true, last),
            AccOp::ArgMin { last } => (false, last),
            _ => unreachable!("only positions"),
        };
        let w = &mut self.e.w;
        let order = if max { "gt" } else { "lt" };
        let later = w.cmp(if last { "sgt" } else { "slt" }, place, at);
        let better = if matches!(v.ty, Ty::Float(_)) {
            let (v_nan, u_nan) = (w.cmp("uno", v, v), w.cmp("uno", u, u));
            let truth = w.int(I1, 1);
            let v_number = w.bin("arith.xori", &v_nan, &truth);
            let wins = w.cmp(&format!("o{order}"), u, v);
            let first_nan = w.bin("arith.andi", &u_nan, &v_number);
            let wins = w.bin("arith.ori", &wins, &first_nan);
            let both = w.bin("arith.andi", &u_nan, &v_nan);
            let equal = w.cmp("oeq", u, v);
            let tie = w.bin("arith.ori", &both, &equal);
            let tie = w.bin("arith.andi", &tie, &later);
            w.bin("arith.ori", &wins, &tie)
        } else {
            let sign = if acc.dtype.is_signed_int() { "s" } else { "u" };
            let wins = w.cmp(&format!("{sign}{order}"), u, v);
            let equal = w.cmp("eq", u, v);
            let tie = w.bin("arith.andi", &equal, &later);
            w.bin("arith.ori", &wins, &tie)
        };
        [w.select(&better, u, v), w.select(&better, place, at)]
    }
}

/// How a running value lies in shared memory.
fn stored(ty: Ty) -> Ty {
    if ty == I1 { I8 } else { ty }
}
