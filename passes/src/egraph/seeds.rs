//! Each operator as a kernel by itself, and which of equal terms the graph would be made of if nothing were composed:
//! that tells what reads what.

use super::bits::Bits;
use super::cost::{self, Cost};
use super::fusion::{Fusion, Way};
use super::language::{Head, Id, Term};
use super::siblings::Split;
use crate::kernels::compose::Bound;
use crate::kernels::{describe_op, is_view_op, view_op};
use std::rc::Rc;
use tcc_ir::Op;
use tcc_ir::kernel::Kernel;

/// The ways to compute each class without composing.
pub struct Seeds {
    pub of: Vec<Vec<Way>>,
    /// Classes that read each class.
    pub readers: Vec<Bits>,
}

impl Seeds {
    pub fn new(fusion: &Fusion) -> Seeds {
        let n = fusion.order.len();
        let mut seeds = Seeds { of: Vec::with_capacity(n), readers: vec![Bits::default(); n] };
        let mut fixed: Vec<bool> = Vec::with_capacity(n);
        for i in 0..n {
            let (ways, constant) = fusion.seeds(i, &fixed);
            seeds.of.push(ways);
            fixed.push(constant);
        }
        seeds.find_readers(fusion);
        seeds
    }

    fn find_readers(&mut self, fusion: &Fusion) {
        let (needed, readers) = self.uses(fusion, &self.choice(fusion, &[]));
        self.readers = readers;
        let mut used = needed;
        // Where there are siblings, this is also about what they are parts of.
        if !fusion.splits.is_empty() {
            let (needed, mut readers) = self.uses(fusion, &self.choice(fusion, fusion.splits));
            needed.iter().for_each(|i| self.readers[i] = std::mem::take(&mut readers[i]));
            used.extend(&needed);
        }
        // Of what isn't part of that, all that could read it.
        for i in 0..self.of.len() {
            for way in &self.of[i] {
                for r in way.reads.iter().filter(|r| !used.contains(**r)) {
                    self.readers[*r].insert(i);
                }
            }
        }
    }

    /// The cheapest way for each class, and of parts the one that cuts them out of a whole.
    fn choice(&self, fusion: &Fusion, splits: &[Split]) -> Vec<usize> {
        let n = self.of.len();
        let (mut closure, mut seconds): (Vec<Bits>, Vec<f64>) = (Vec::new(), Vec::new());
        let mut chosen = Vec::with_capacity(n);
        for i in 0..n {
            let all = |way: &Way| {
                let mut all = Bits::default();
                way.reads.iter().for_each(|r| all.extend(&closure[*r]));
                all
            };
            let total = |way: &Way| way.cost.seconds + all(way).iter().map(|c| seconds[c]).sum::<f64>();
            let whole = |way: &Way| splits.iter().any(|s| s.is_cut_by(i, &way.reads));
            // Rules go to the better form: of equal costs it is what a rule has made.
            let rank = |way: &Way| (!whole(way), total(way), fusion.originals.contains(&way.term));
            let best = self.of[i].iter().enumerate().min_by(|(_, a), (_, b)| {
                let (a, b) = (rank(a), rank(b));
                a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2))
            });
            let (place, mut below, own) = match best {
                Some((place, way)) => (place, all(way), way.cost.seconds),
                None => (0, Bits::default(), 0.0),
            };
            below.insert(i);
            closure.push(below);
            seconds.push(own);
            chosen.push(place);
        }
        chosen
    }

    /// What a choice needs, and what reads it.
    fn uses(&self, fusion: &Fusion, chosen: &[usize]) -> (Bits, Vec<Bits>) {
        let mut needed: Bits = fusion.root_places().collect();
        let mut readers = vec![Bits::default(); self.of.len()];
        for i in (0..self.of.len()).rev() {
            let Some(way) = self.of[i].get(chosen[i]) else { continue };
            if needed.contains(i) {
                way.reads.iter().for_each(|r| {
                    needed.insert(*r);
                    readers[*r].insert(i);
                });
            }
        }
        (needed, readers)
    }
}

impl Fusion<'_> {
    /// The terms of class number `i` as they are, and whether the class will be folded into a constant.
    fn seeds(&self, i: usize, fixed: &[bool]) -> (Vec<Way>, bool) {
        let class = self.order.class(i);
        let known = &self.egraph[class];
        let mut ways = Vec::new();
        for term in &known.nodes {
            let Some(reads) = self.order.operands_before(self.egraph, term, i) else { continue };
            let operator = term.op().is_some_and(|op| !matches!(op, Op::KernelOp(_)));
            if known.data.fixed && operator && reads.iter().all(|r| fixed[*r]) {
                // Any way will do.
                return (vec![free(term, reads)], true);
            }
            let useless = |s: &Split| {
                s.inner && matches!(reads[..], [whole] if whole == s.whole) && s.parts.contains(&i)
            };
            if !self.splits.iter().any(useless) {
                ways.extend(self.seed(class, term, reads));
            }
        }
        (ways, false)
    }

    pub fn cost(&self, kernel: &Kernel, inputs: &[Id]) -> Cost {
        let fixed = |i: usize| self.egraph[inputs[i]].data.fixed;
        cost::of_kernel(kernel, self.machine, &fixed)
    }

    /// A term by itself.
    fn seed(&self, class: Id, term: &Term, reads: Vec<usize>) -> Option<Way> {
        let Head::Op { op, outs, .. } = term.head() else { return Some(free(term, reads)) };
        let inputs: Vec<Id> = term.operands.iter().map(|id| self.egraph.find(*id)).collect();
        let mut ins = term.operands.iter().map(|id| &self.egraph[*id].data.outs[0]);
        let kernel = match op {
            Op::KernelOp(op) if !self.originals.contains(term) && !self.runs(&op.kernel) => return None,
            Op::KernelOp(op) => op.kernel.clone(),
            Op::Reshape(_) | Op::Slice(_) if is_view_op(op, ins.clone().next()?) => {
                let kernel = view_op(op, ins.next()?, &outs[0]);
                let kernel = kernel.map(|kernel| Rc::new(Bound { kernel, inputs, outputs: vec![class] }));
                return Some(Way { kernel, ..free(term, reads) });
            }
            op => describe_op(op, ins, outs)?,
        };
        let cost = self.cost(&kernel, &inputs);
        let kernel = Some(Rc::new(Bound { kernel, inputs, outputs: vec![class; outs.len()] }));
        Some(Way { term: term.clone(), reads, cost, kernel, absorbed: Bits::default(), view: false })
    }
}

/// A term that costs nothing: a view, a value from outside, a constant.
fn free(term: &Term, mut reads: Vec<usize>) -> Way {
    reads.sort_unstable();
    reads.dedup();
    let cost = Cost::default();
    Way { term: term.clone(), reads, cost, kernel: None, absorbed: Bits::default(), view: true }
}
