//! Kernels of several results: what runs over the same data in the same loops is read once for all of them.
//!
//! Such a kernel is a term of several results, and the classes that it computes are results of it. Whether it is
//! cheaper than kernels of one result each is a question to all of them at once: the caller solves for both.

use super::analysis::EGraph;
use super::bits::Bits;
use super::extract::Solution;
use super::fusion::{Fusion, MAX_EXPRS, Ways, union};
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
    reads: Bits,
    /// Classes that must be computed before, however indirectly.
    below: Bits,
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
    let mut parts = parts(fusion, (ways, solution), behind);
    let mut tries = 0;
    // What came of a pair, by the results of both.
    let mut known: IndexMap<(Bits, Bits), Option<Part>> = IndexMap::new();
    loop {
        let mut best: Option<(f64, usize, usize, Part)> = None;
        for (j, later) in parts.iter().enumerate() {
            for (i, earlier) in parts[..j].iter().enumerate() {
                let alike = earlier.reads.meets(&later.reads) || earlier.results.meets(&later.reads);
                if !alike {
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
                let Some(joined) = &known[&pair] else { continue };
                let gain = earlier.seconds + later.seconds - joined.seconds;
                if best.as_ref().is_none_or(|(most, ..)| gain > *most) {
                    best = Some((gain, i, j, joined.clone()));
                }
            }
        }
        let Some((_, i, j, joined)) = best else { break };
        // What stands on one of them stands on what the other reads from now on.
        for part in parts.iter_mut().filter(|part| part.below.meets(&joined.results)) {
            part.below.extend(&joined.below);
            part.below.extend(&joined.results);
        }
        known.retain(|_, made| made.is_none());
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
) -> Vec<Part> {
    let mut closures: IndexMap<usize, Bits> = IndexMap::new();
    let mut parts = Vec::new();
    for (class, way) in solution.ways(ways) {
        let reads: Bits = way.reads.iter().copied().collect();
        let mut below = reads.clone();
        way.reads.iter().filter_map(|r| closures.get(r)).for_each(|c| below.extend(c));
        if let Head::Value(v, _) = way.term.head()
            && let Some(classes) = behind.get(v)
        {
            let places = classes.iter().filter_map(|id| fusion.order.index(*id));
            below.extend(&places.collect());
        }
        if let (Some(bound), true) = (&way.kernel, way.is_kernel())
            && bound.outputs.len() == 1
        {
            let bound = Bound { outputs: vec![fusion.order.class(class)], ..(**bound).clone() };
            let (seconds, checks) = (way.cost.seconds, way.term.checks().to_vec());
            let results = [class].into_iter().collect();
            let single = vec![Rc::new(bound.clone())];
            parts.push(Part { bound, single, seconds, checks, results, reads, below: below.clone() });
        }
        closures.insert(class, below);
    }
    parts
}

impl Part {
    /// Both as one kernel, if that takes less time. `later` may read what this one makes.
    fn with(&self, later: &Part, fusion: &Fusion) -> Option<Part> {
        let n = self.bound.outputs.len() + later.bound.outputs.len();
        if n > MAX_RESULTS || self.below.meets(&later.results) {
            return None;
        }
        let second = if later.reads.meets(&self.results) {
            self.inside(later, fusion)?
        } else if later.below.meets(&self.results) {
            return None;
        } else {
            later.bound.clone()
        };
        if second.kernel.exprs.len() + self.bound.kernel.exprs.len() > MAX_EXPRS {
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
        if seconds >= (self.seconds + later.seconds) * WORTH {
            return None;
        }
        let places = bound.inputs.iter().map(|id| fusion.order.index(*id));
        let reads: Bits = places.collect::<Option<_>>()?;
        if reads.meets(&self.results) || reads.meets(&later.results) {
            return None;
        }
        let (mut results, mut below) = (self.results.clone(), self.below.clone());
        results.extend(&later.results);
        below.extend(&later.below);
        let single = self.single.iter().chain(&later.single).cloned().collect();
        let checks = union(&self.checks, &later.checks);
        Some(Part { bound, single, seconds, checks, results, reads, below })
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
        while let Some(at) = self.bound.outputs.iter().position(unused) {
            if self.bound.outputs.len() == 1 {
                break;
            }
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
