//! Kernels of several results: what runs over the same data in the same loops is read once for all of them.
//!
//! Such a kernel is a term of several results, and the classes that it computes are results of it. Whether it is
//! cheaper than kernels of one result each is a question to all of them at once: the caller solves for both.

use super::analysis::EGraph;
use super::bits::Bits;
use super::extract::Solution;
use super::fusion::{Fusion, Ways, are_too_large, union};
use super::language::{Head, Id, Term};
use super::products::has_product;
use crate::kernels::compose::Bound;
use crate::kernels::results::{join_results, without_result};
use indexmap::IndexMap;
use std::rc::Rc;
use tcc_ir::graph::Check;
use tcc_ir::kernel::Kernel;
use tcc_ir::ops::KernelOp;
use tcc_ir::{Op, Type, ValueId};

/// How statistics call it.
pub const NAME: &str = "several results";

/// Kernels that are made and looked at, in a region.
const MAX_TRIES: usize = 512;
/// Results of a kernel at most.
const MAX_RESULTS: usize = 4;
/// The share of what the kernels take by themselves that one for all must stay below.
const WORTH: f64 = 0.99;

/// The classes that must be computed before each class, however indirectly, by place.
struct Closures(IndexMap<usize, Bits>);

impl Closures {
    /// Of what reads these classes.
    fn below(&self, reads: &Bits) -> Bits {
        let mut all = reads.clone();
        reads.iter().filter_map(|r| self.0.get(&r)).for_each(|c| all.extend(c));
        all
    }

    /// Results of one kernel need what any of them needs, and so does what stands on one of them.
    fn join(&mut self, part: &Part) {
        let below = self.below(&part.reads);
        for closure in self.0.values_mut().filter(|c| c.meets(&part.results)) {
            closure.extend(&below);
            closure.extend(&part.results);
        }
        part.results.iter().for_each(|class| {
            self.0.insert(class, below.clone());
        });
    }
}

/// A kernel of the solution, or several as one.
#[derive(Clone)]
struct Part {
    bound: Bound<Id>,
    /// The kernels of one result each that it came of.
    single: Vec<Rc<Bound<Id>>>,
    seconds: f64,
    checks: Vec<Check>,
    /// Classes that it computes for others, by place.
    results: Bits,
    /// What it reads, but for constants.
    reads: Bits,
}

/// Kernels of several results that take less time than those of a solution that they stand for: their terms, and the
/// classes that are their results.
///
/// `behind` tells the classes that values from outside depend on.
pub fn find(
    fusion: &Fusion,
    (ways, solution): (&Ways, &Solution),
    behind: &IndexMap<ValueId, Vec<Id>>,
) -> Vec<(Term, Vec<Id>)> {
    let (mut parts, mut closures) = parts(fusion, (ways, solution), behind);
    let mut tries = 0;
    // What came of a pair, by the results of both.
    let mut known: IndexMap<(Bits, Bits), Option<Part>> = IndexMap::new();
    loop {
        let mut best: Option<(f64, usize, usize)> = None;
        for (j, later) in parts.iter().enumerate() {
            for (i, earlier) in parts[..j].iter().enumerate() {
                if !earlier.reads.meets(&later.reads) && !earlier.results.meets(&later.reads) {
                    continue;
                }
                let pair = (earlier.results.clone(), later.results.clone());
                if !known.contains_key(&pair) {
                    if tries == MAX_TRIES {
                        continue;
                    }
                    tries += 1;
                    known.insert(pair.clone(), earlier.with(later, fusion));
                }
                let Some(joined) = known[&pair].as_ref().filter(|part| part.stands(&closures)) else {
                    continue;
                };
                let gain = earlier.seconds + later.seconds - joined.seconds;
                if best.is_none_or(|(most, ..)| gain > most) {
                    best = Some((gain, i, j));
                }
            }
        }
        let Some((_, i, j)) = best else { break };
        let pair = (parts[i].results.clone(), parts[j].results.clone());
        let Some(joined) = known.swap_remove(&pair).flatten() else { break };
        closures.join(&joined);
        known.retain(|(a, b), _| !a.meets(&joined.results) && !b.meets(&joined.results));
        parts.remove(j);
        parts[i] = joined;
    }
    let mut needed: Bits = fusion.root_places().collect();
    parts.iter().for_each(|part| needed.extend(&part.reads));
    // What a view or the like is cut of.
    solution.ways(ways).iter().filter(|(_, way)| !way.is_kernel()).for_each(|(_, way)| {
        needed.extend(&way.reads.iter().copied().collect());
    });
    let several = parts.into_iter().filter(|part| part.bound.outputs.len() > 1);
    let several = several.map(|part| part.without_unused(fusion, &needed));
    several.map(|part| (part.term(fusion), part.bound.outputs.clone())).collect()
}

/// The kernels of a solution, operands first.
fn parts(
    fusion: &Fusion,
    (ways, solution): (&Ways, &Solution),
    behind: &IndexMap<ValueId, Vec<Id>>,
) -> (Vec<Part>, Closures) {
    let mut closures = Closures(IndexMap::new());
    let mut parts = Vec::new();
    for (class, way) in solution.ways(ways) {
        let mut below = closures.below(&way.reads.iter().copied().collect());
        if let Head::Value(v, _) = way.term.head()
            && let Some(classes) = behind.get(v)
        {
            below.extend(&classes.iter().filter_map(|id| fusion.order.index(*id)).collect());
        }
        closures.0.insert(class, below);
        if let (Some(bound), true) = (&way.kernel, way.is_kernel())
            && bound.outputs.len() == 1
            && let Some(reads) = reads_of(fusion, &bound.inputs)
        {
            let bound = Bound { outputs: vec![fusion.order.class(class)], ..(**bound).clone() };
            let (seconds, checks) = (way.cost.seconds, way.term.checks().to_vec());
            let single = vec![Rc::new(bound.clone())];
            parts.push(Part {
                bound,
                single,
                seconds,
                checks,
                results: [class].into_iter().collect(),
                reads,
            });
        }
    }
    // A value from outside may stand on what comes later here.
    let sweeps = if behind.is_empty() { 0 } else { parts.len() };
    for _ in 0..sweeps {
        let before = closures.0.clone();
        for closure in closures.0.values_mut() {
            let own: Vec<usize> = closure.iter().collect();
            own.iter().filter_map(|r| before.get(r)).for_each(|c| closure.extend(c));
        }
        if closures.0 == before {
            break;
        }
    }
    (parts, closures)
}

/// The places of a kernel's operands that aren't constants.
fn reads_of(fusion: &Fusion, inputs: &[Id]) -> Option<Bits> {
    let varies = |id: &&Id| !fusion.egraph[**id].data.fixed;
    inputs.iter().filter(varies).map(|id| fusion.order.index(*id)).collect()
}

impl Part {
    /// Both as one kernel, if that takes less time. `later` may read what this one makes.
    fn with(&self, later: &Part, fusion: &Fusion) -> Option<Part> {
        if self.bound.outputs.len() + later.bound.outputs.len() > MAX_RESULTS {
            return None;
        }
        let second = self.inside(later, fusion)?;
        if are_too_large(&second.kernel, &self.bound.kernel) {
            return None;
        }
        let mut bound = join_results(&self.bound, &second)?;
        // The schedule of products has one sum.
        let products = has_product(&self.bound.kernel) || has_product(&second.kernel);
        if products && bound.kernel.stages.iter().any(|stage| stage.accs.len() > 1) {
            return None;
        }
        bound.kernel = Kernel { name: bound.kernel.name.clone(), ..bound.kernel.canonical() };
        let seconds = fusion.cost(&bound.kernel, &bound.inputs).seconds;
        if seconds >= (self.seconds + later.seconds) * WORTH || !fusion.holds(&bound.kernel) {
            return None;
        }
        let reads = reads_of(fusion, &bound.inputs)?;
        let mut results = self.results.clone();
        results.extend(&later.results);
        let single = self.single.iter().chain(&later.single).cloned().collect();
        let checks = union(&self.checks, &later.checks);
        Some(Part { bound, single, seconds, checks, results, reads })
    }

    /// Whether nothing that it needs stands on one of its results.
    fn stands(&self, closures: &Closures) -> bool {
        !closures.below(&self.reads).meets(&self.results)
    }

    /// The kernel of `later` with what it reads of this one's results computed inside.
    fn inside(&self, later: &Part, fusion: &Fusion) -> Option<Bound<Id>> {
        let mut bound = later.bound.clone();
        // The last ones may stand on those before.
        for maker in self.single.iter().rev() {
            let &[value] = &maker.outputs[..] else { return None };
            if bound.inputs.contains(&value) {
                bound = fusion.compose(&bound, maker, value)?;
            }
        }
        Some(bound)
    }

    /// The kernel without results that nothing needs.
    fn without_unused(mut self, fusion: &Fusion, needed: &Bits) -> Part {
        let unused = |id: &Id| fusion.order.index(*id).is_some_and(|place| !needed.contains(place));
        while let Some(at) = self.bound.outputs.iter().position(unused)
            && self.bound.outputs.len() > 1
        {
            self.bound = without_result(&self.bound, at);
        }
        self
    }

    fn term(&self, fusion: &Fusion) -> Term {
        let out = |id: &Id| fusion.egraph[*id].data.outs.first().cloned();
        let outs = self.bound.outputs.iter().filter_map(out).collect();
        let op = Op::from(KernelOp { kernel: self.bound.kernel.clone() });
        Term::new(Head::Op { op, outs, checks: self.checks.clone() }, self.bound.inputs.iter().copied())
    }
}

/// Adds the terms; what they compute are results of them.
pub fn add(egraph: &mut EGraph, found: Vec<(Term, Vec<Id>)>) {
    for (term, results) in found {
        let outs: Vec<Type> = term.head().outs().to_vec();
        let whole = egraph.add(term);
        for (i, (class, ty)) in results.into_iter().zip(outs).enumerate() {
            let result = egraph.add(Term::new(Head::Result(i, ty), [whole]));
            egraph.union(class, result);
        }
    }
    egraph.rebuild();
}
