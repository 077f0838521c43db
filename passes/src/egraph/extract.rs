//! Choosing one way for each class that is needed. Shared values are paid once.

use super::analysis::EGraph;
use super::fusion::{Way, Ways};
use super::language::Id;
use super::order::Order;
use super::region::Choice;
use indexmap::IndexMap;

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
pub fn solve(ways: &Ways, roots: &[usize]) -> Option<Solution> {
    let mut best = total(ways, vec![0; ways.of.len()], roots)?;
    for _ in 0..ROUNDS {
        let before = best.seconds;
        for class in (0..ways.of.len()).rev() {
            if !best.needed[class] {
                continue;
            }
            for way in 0..ways.of[class].len() {
                if way == best.chosen[class] {
                    continue;
                }
                let mut tried = best.chosen.clone();
                tried[class] = way;
                if let Some(other) = total(ways, tried, roots)
                    && other.seconds < best.seconds * (1.0 - 1e-9)
                {
                    best = other;
                }
            }
        }
        if best.seconds >= before {
            break;
        }
    }
    Some(best)
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
