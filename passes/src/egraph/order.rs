//! Classes in an order in which operands come before what reads them.

use super::analysis::EGraph;
use super::language::{Id, Term};
use indexmap::IndexSet;

/// The classes that the roots can be computed from, operands first. Where classes compute each other, some term
/// comes before its operands: such a term isn't used.
pub struct Order {
    classes: IndexSet<Id>,
}

impl Order {
    pub fn new(egraph: &EGraph, roots: &[Id]) -> Order {
        let mut order = Order { classes: IndexSet::new() };
        let mut entered = IndexSet::new();
        for root in roots {
            order.visit(egraph, egraph.find(*root), &mut entered);
        }
        order
    }

    fn visit(&mut self, egraph: &EGraph, root: Id, entered: &mut IndexSet<Id>) {
        // A stack of its own: chains of operators can be long.
        let mut stack = vec![(root, 0)];
        entered.insert(root);
        while let Some((class, next)) = stack.pop() {
            let operands = egraph[class].nodes.iter().flat_map(|t| t.operands.iter());
            let mut classes = operands.map(|id| egraph.find(*id)).enumerate().skip(next);
            let unseen = classes.find(|(_, id)| !entered.contains(id));
            match unseen {
                Some((i, id)) => {
                    stack.push((class, i + 1));
                    entered.insert(id);
                    stack.push((id, 0));
                }
                None => {
                    self.classes.insert(class);
                }
            }
        }
    }

    pub fn len(&self) -> usize {
        self.classes.len()
    }

    pub fn class(&self, i: usize) -> Id {
        self.classes[i]
    }

    pub fn index(&self, class: Id) -> Option<usize> {
        self.classes.get_index_of(&class)
    }

    /// The places of a term's operands, if all come before place `i`.
    pub fn operands_before(&self, egraph: &EGraph, term: &Term, i: usize) -> Option<Vec<usize>> {
        let place = |id: &Id| self.index(egraph.find(*id)).filter(|at| *at < i);
        term.operands.iter().map(place).collect()
    }
}
