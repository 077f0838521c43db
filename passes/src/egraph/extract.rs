//! Choosing one way for each class that is needed. Shared values are paid once, which makes the cheapest choice hard to
//! find (Stepp, "Equality Saturation: Engineering Challenges and Applications", 2011, section 5.6): a greedy choice is
//! improved step by step, then part by part by branch and bound.

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

/// Classes with a choice that are solved exactly at once, and steps that this may take: ways that are tried, and classes
/// that are passed for it.
const PART: usize = 16;
pub const STEPS: usize = 1 << 16;

/// A choice of a way for each class, by place in the order.
#[derive(Clone)]
pub struct Solution {
    chosen: Vec<usize>,
    pub seconds: f64,
    pub needed: Vec<bool>,
    /// How many steps the search for it took in each part.
    pub steps: Vec<usize>,
}

/// The cheapest solution that is found: the best ways by estimate, then single choices are changed as long as that
/// makes the whole cheaper; last, classes that stand together change together, in all ways that could be cheaper.
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
    Some(exact_by_parts(ways, roots, best))
}

/// The solution with the best choices for each few classes that stand together, all others as they are.
fn exact_by_parts(ways: &Ways, roots: &[usize], mut best: Solution) -> Solution {
    let open: Vec<usize> = (0..ways.of.len()).rev().filter(|class| ways.of[*class].len() > 1).collect();
    let mut first = 0;
    let mut steps = Vec::new();
    while first < open.len() {
        let part = &open[first..open.len().min(first + PART)];
        let search = Search::new(ways, &best, part).run(roots);
        steps.push(STEPS - search.left);
        best = best.or_cheaper(search.found.and_then(|chosen| total(ways, chosen, roots)));
        // Each class is in a part with those on either side.
        first += PART / 2;
    }
    Solution { steps, ..best }
}

/// Branch and bound over the classes from the last one on: when a class is reached, all that read it are decided.
struct Search<'w> {
    ways: &'w Ways,
    /// Whether a class may change.
    open: Vec<bool>,
    chosen: Vec<usize>,
    needed: Vec<bool>,
    /// The cheapest way of each class that it may have.
    least: Vec<f64>,
    /// Steps that it may still take.
    left: usize,
    /// Seconds of the best choice, and that choice if it was found here.
    bound: f64,
    found: Option<Vec<usize>>,
}

impl<'w> Search<'w> {
    fn new(ways: &'w Ways, best: &Solution, part: &[usize]) -> Self {
        let mut open = vec![false; ways.of.len()];
        part.iter().for_each(|class| open[*class] = true);
        let least = |(class, found): (usize, &Vec<Way>)| {
            let all = found.iter().enumerate().filter(|(i, _)| open[class] || *i == best.chosen[class]);
            all.map(|(_, way)| way.cost.seconds).fold(f64::INFINITY, f64::min)
        };
        let least = ways.of.iter().enumerate().map(least).collect();
        let needed = vec![false; ways.of.len()];
        let (chosen, bound) = (best.chosen.clone(), best.seconds * (1.0 - 1e-9));
        Search { ways, open, chosen, needed, least, left: STEPS, bound, found: None }
    }

    /// Finds a cheaper choice, if there is one that is found in time.
    fn run(mut self, roots: &[usize]) -> Self {
        let mut rest = 0.0;
        for root in roots {
            if !std::mem::replace(&mut self.needed[*root], true) {
                rest += self.least[*root];
            }
        }
        self.descend(self.ways.of.len(), 0.0, rest);
        self
    }

    /// Takes so many steps, if there are as many left.
    fn step(&mut self, n: usize) -> bool {
        let left = self.left.checked_sub(n);
        self.left = left.unwrap_or(0);
        left.is_some()
    }

    /// Decides the classes before `end`. `seconds` is what is decided, `rest` what the needed ones among these take at least.
    fn descend(&mut self, end: usize, mut seconds: f64, mut rest: f64) {
        let mut marked: Vec<usize> = Vec::new();
        let mut class = end;
        loop {
            let next = (0..class).rev().find(|c| self.needed[*c]);
            if !self.step(class - next.unwrap_or(0)) {
                break;
            }
            let Some(next) = next else {
                if seconds < self.bound {
                    self.bound = seconds;
                    self.found = Some(self.chosen.clone());
                }
                break;
            };
            class = next;
            rest -= self.least[class];
            if self.open[class] {
                self.branch(class, seconds, rest);
                break;
            }
            let Some(way) = self.ways.of[class].get(self.chosen[class]) else { break };
            seconds += way.cost.seconds;
            rest += self.mark(way, &mut marked);
            if seconds + rest >= self.bound {
                break;
            }
        }
        marked.into_iter().for_each(|class| self.needed[class] = false);
    }

    /// Tries every way of an open class.
    fn branch(&mut self, class: usize, seconds: f64, rest: f64) {
        let before = self.chosen[class];
        for (i, way) in self.ways.of[class].iter().enumerate() {
            if !self.step(1) {
                break;
            }
            let mut marked = Vec::new();
            let (seconds, rest) = (seconds + way.cost.seconds, rest + self.mark(way, &mut marked));
            if seconds + rest < self.bound {
                self.chosen[class] = i;
                self.descend(class, seconds, rest);
            }
            marked.into_iter().for_each(|class| self.needed[class] = false);
        }
        self.chosen[class] = before;
    }

    /// Marks what a way reads; gives what the newly marked classes take at least.
    fn mark(&mut self, way: &Way, marked: &mut Vec<usize>) -> f64 {
        let mut more = 0.0;
        for read in &way.reads {
            if !std::mem::replace(&mut self.needed[*read], true) {
                marked.push(*read);
                more += self.least[*read];
            }
        }
        more
    }
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
    Some(Solution { chosen, seconds, needed, steps: Vec::new() })
}

impl Solution {
    /// The other one if it is cheaper, by more than numbers are off.
    fn or_cheaper(self, other: Option<Solution>) -> Solution {
        match other {
            Some(other) if other.seconds < self.seconds * (1.0 - 1e-9) => other,
            _ => self,
        }
    }

    /// Searches of a part that ran out of steps.
    pub fn cut_short(&self) -> usize {
        self.steps.iter().filter(|n| **n == STEPS).count()
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
