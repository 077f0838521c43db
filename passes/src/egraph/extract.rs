//! Choosing one way for each class that is needed. Shared values are paid once.

use super::analysis::EGraph;
use super::bits::Bits;
use super::fusion::{Way, Ways};
use super::language::Id;
use super::order::Order;
use super::region::Choice;
use super::siblings::Split;
use indexmap::{IndexMap, IndexSet};

/// Rounds over all classes in which single choices are improved.
const ROUNDS: usize = 4;

/// A choice of a way for each class, by place in the order.
#[derive(Clone)]
pub struct Solution {
    chosen: Vec<usize>,
    pub seconds: f64,
    pub needed: Vec<bool>,
}

/// The cheapest solution that is found: the best ways by estimate, then single choices are changed as long as that
/// makes the whole cheaper.
///
/// Parts of one whole change together: all of a family read their wholes, or none does.
pub fn solve(ways: &Ways, roots: &[usize], splits: &[Split]) -> Option<Solution> {
    let mut best = improved(ways, roots, total(ways, vec![0; ways.of.len()], roots)?);
    let families: IndexSet<usize> = splits.iter().map(|s| s.family).collect();
    for _ in 0..ROUNDS {
        let before = best.seconds;
        for family in &families {
            let whole = |class: usize| splits.iter().any(|s| s.whole == class && s.family == *family);
            for tried in [with(ways, &best.chosen, whole), without(ways, &best.chosen, whole)] {
                if tried == best.chosen {
                    continue;
                }
                let other = total(ways, tried, roots).map(|start| improved(ways, roots, start));
                best = best.or_cheaper(other);
            }
        }
        if best.seconds >= before {
            break;
        }
    }
    Some(best)
}

/// The solution with single choices changed as long as that makes it cheaper.
fn improved(ways: &Ways, roots: &[usize], mut best: Solution) -> Solution {
    for _ in 0..ROUNDS {
        let before = best.seconds;
        for class in (0..ways.of.len()).rev() {
            // What several read pays only if all of them read it, or none.
            let alone = |other: usize| other == class;
            for tried in [with(ways, &best.chosen, alone), without(ways, &best.chosen, alone)] {
                if tried != best.chosen {
                    best = best.or_cheaper(total(ways, tried, roots));
                }
            }
            if !best.needed[class] {
                continue;
            }
            for way in 0..ways.of[class].len() {
                if way != best.chosen[class] {
                    let mut tried = best.chosen.clone();
                    tried[class] = way;
                    best = best.or_cheaper(total(ways, tried, roots));
                }
            }
        }
        if best.seconds >= before {
            break;
        }
    }
    best
}

/// The choice, but of the ways that read a whole the best one of each class that has any.
fn with(ways: &Ways, chosen: &[usize], whole: impl Fn(usize) -> bool) -> Vec<usize> {
    let reads = |way: &Way| way.reads.iter().any(|r| whole(*r));
    let of = |(class, found): (usize, &Vec<Way>)| found.iter().position(reads).unwrap_or(chosen[class]);
    ways.of.iter().enumerate().map(of).collect()
}

/// The choice, but of the ways that need no whole the best one of each class that has any.
fn without(ways: &Ways, chosen: &[usize], whole: impl Fn(usize) -> bool) -> Vec<usize> {
    let mut free: Vec<bool> = Vec::with_capacity(chosen.len());
    let mut picked = Vec::with_capacity(chosen.len());
    for (class, found) in ways.of.iter().enumerate() {
        let fits = |way: &usize| found.get(*way).is_some_and(|way| way.reads.iter().all(|r| free[*r]));
        let way = std::iter::once(chosen[class]).chain(0..found.len()).find(fits);
        free.push(way.is_some() && !whole(class));
        picked.push(way.unwrap_or(chosen[class]));
    }
    picked
}

/// What a choice costs. None when a class that is needed has no way.
fn total(ways: &Ways, chosen: Vec<usize>, roots: &[usize]) -> Option<Solution> {
    let mut needed = vec![false; ways.of.len()];
    roots.iter().for_each(|r| needed[*r] = true);
    let mut seconds = 0.0;
    // Ways read classes that stand before their own.
    for class in (0..ways.of.len()).rev() {
        if needed[class] {
            let way = ways.of[class].get(chosen[class])?;
            seconds += way.cost.seconds;
            way.reads.iter().for_each(|r| needed[*r] = true);
        }
    }
    Some(Solution { chosen, seconds, needed })
}

impl Solution {
    /// The other one if it is cheaper, by more than numbers are off.
    fn or_cheaper(self, other: Option<Solution>) -> Solution {
        match other {
            Some(other) if other.seconds < self.seconds * (1.0 - 1e-9) => other,
            _ => self,
        }
    }

    /// The classes that are computed, also those within kernels.
    pub fn computed(&self, ways: &Ways) -> Vec<usize> {
        let mut all = Bits::default();
        for (class, way) in self.ways(ways) {
            all.insert(class);
            all.extend(&way.absorbed);
        }
        all.iter().collect()
    }

    /// The ways that are used, with their places.
    pub fn ways<'w>(&self, ways: &'w Ways) -> Vec<(usize, &'w Way)> {
        let used = (0..self.chosen.len()).filter(|i| self.needed[*i]);
        used.map(|i| (i, &ways.of[i][self.chosen[i]])).collect()
    }

    /// The terms chosen, for classes as they are in `egraph`.
    pub fn terms(&self, ways: &Ways, order: &Order, egraph: &EGraph) -> Choice {
        let mut choice: IndexMap<Id, super::language::Term> = IndexMap::new();
        for (i, way) in self.ways(ways) {
            let mut term = way.term.clone();
            term.operands.iter_mut().for_each(|o| *o = egraph.find(*o));
            choice.entry(egraph.find(order.class(i))).or_insert(term);
        }
        choice
    }
}
