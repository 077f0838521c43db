//! Running the rules, within a budget of terms and rounds. Time is no part of it: what comes out must not depend on
//! how fast the machine is.

use super::analysis::{EGraph, Facts, View};
use super::language::{Id, Term};
use super::rules::{self, New, Numerics, RULES, Rule};
use egg::{
    Applier, Rewrite, Runner, SearchMatches, Searcher, SimpleScheduler, StopReason, Subst, Symbol, Var,
};
use std::time::Duration;

/// What saturation may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    pub rounds: usize,
    pub terms: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Budget { rounds: 12, terms: 8_000 }
    }
}

/// Why it stopped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Stop {
    /// No rule finds anything more.
    Saturated,
    Rounds,
    Terms,
}

impl Stop {
    pub fn name(self) -> &'static str {
        match self {
            Stop::Saturated => "saturated",
            Stop::Rounds => "limit of rounds",
            Stop::Terms => "limit of terms",
        }
    }
}

/// What saturation did.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub stop: Stop,
    pub rounds: usize,
    /// How often each rule made two classes one.
    pub fired: Vec<(&'static str, usize)>,
}

/// Applies the rules that `numerics` allows until nothing changes or the budget is spent.
pub fn saturate(egraph: EGraph, numerics: Numerics, budget: Budget) -> (EGraph, Outcome) {
    let allowed: Vec<&'static Rule> =
        RULES.iter().copied().flatten().filter(|rule| rule.numerics <= numerics).collect();
    let rewrites: Vec<Rewrite<Term, Facts>> = allowed.iter().copied().map(rewrite).collect();
    let runner = Runner::<Term, Facts, ()>::new(Facts::default())
        .with_egraph(egraph)
        .with_iter_limit(budget.rounds)
        .with_node_limit(budget.terms)
        .with_time_limit(Duration::MAX)
        .with_scheduler(SimpleScheduler)
        .run(&rewrites);
    let stop = match runner.stop_reason {
        Some(StopReason::Saturated) => Stop::Saturated,
        Some(StopReason::NodeLimit(_)) => Stop::Terms,
        _ => Stop::Rounds,
    };
    let fired = allowed.iter().map(|rule| {
        let name = Symbol::from(rule.name);
        (rule.name, runner.iterations.iter().filter_map(|i| i.applied.get(&name)).sum())
    });
    let fired = fired.filter(|(_, n)| *n > 0).collect();
    let outcome = Outcome { stop, rounds: runner.iterations.len(), fired };
    (runner.egraph, outcome)
}

fn rewrite(rule: &'static Rule) -> Rewrite<Term, Facts> {
    Rewrite::new(rule.name, Find(rule), Apply(rule)).expect("rules have no variables")
}

/// The terms that a rule offers for a class, without such as are there.
fn offers(rule: &Rule, egraph: &EGraph, class: Id) -> Vec<New> {
    let view = View(egraph);
    view.ops(class).filter_map(|(op, operands)| (rule.apply)(view, op, operands)).collect()
}

struct Find(&'static Rule);

impl Searcher<Term, Facts> for Find {
    fn search_eclass_with_limit(
        &self,
        egraph: &EGraph,
        class: Id,
        _: usize,
    ) -> Option<SearchMatches<'_, Term>> {
        let found = !offers(self.0, egraph, class).is_empty();
        found.then(|| SearchMatches { eclass: class, substs: vec![Subst::default()], ast: None })
    }

    fn vars(&self) -> Vec<Var> {
        vec![]
    }
}

struct Apply(&'static Rule);

impl Applier<Term, Facts> for Apply {
    fn apply_one(
        &self,
        egraph: &mut EGraph,
        class: Id,
        _: &Subst,
        _: Option<&egg::PatternAst<Term>>,
        _: Symbol,
    ) -> Vec<Id> {
        let mut changed = Vec::new();
        for new in offers(self.0, egraph, class) {
            let Some(id) = rules::add(egraph, &new) else { continue };
            let fits = egraph[id].data.outs == egraph[class].data.outs;
            if fits && egraph.union(class, id) {
                changed.push(id);
            }
        }
        changed
    }
}
