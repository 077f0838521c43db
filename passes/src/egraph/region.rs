//! A part of a graph as an e-graph, and back.

use super::analysis::{EGraph, Facts};
use super::language::{Head, Id, Term};
use super::machine::Machine;
use crate::pass::Changed;
use indexmap::{IndexMap, IndexSet};
use tcc_ir::graph::{Check, SymbolSource};
use tcc_ir::{Graph, Loc, NodeId, Op, ValueId};

/// Some nodes of a graph as classes.
pub struct Region {
    pub egraph: EGraph,
    /// Values that something outside of the region uses.
    pub roots: Vec<ValueId>,
    nodes: Vec<NodeId>,
    class: IndexMap<ValueId, Id>,
    /// The term that each node became.
    terms: Vec<Term>,
}

/// The term that is to compute each class that is needed.
pub type Choice = IndexMap<Id, Term>;

impl Region {
    /// The e-graph of these nodes, which stand in program order and have one output each.
    pub fn new(graph: &Graph, nodes: &[NodeId], machine: &Machine) -> Region {
        let mut region = Region {
            egraph: EGraph::new(Facts { machine: *machine }),
            roots: Vec::new(),
            nodes: nodes.to_vec(),
            class: IndexMap::new(),
            terms: Vec::new(),
        };
        for id in nodes {
            let node = graph.node(*id);
            let operands: Vec<Id> = node.inputs.iter().map(|v| region.operand(graph, *v)).collect();
            let outs = node.outputs.iter().map(|v| graph.ty(*v).clone()).collect();
            let head = Head::Op { op: node.op.clone(), outs, checks: node.checks.clone() };
            let term = Term::new(head, operands);
            let class = region.egraph.add(term.clone());
            region.terms.push(term);
            region.class.insert(node.outputs[0], class);
        }
        region.egraph.rebuild();
        region.roots = region.used_outside(graph);
        region
    }

    /// The class of a value that a node of the region reads.
    fn operand(&mut self, graph: &Graph, v: ValueId) -> Id {
        if let Some(id) = self.class.get(&v) {
            return *id;
        }
        let ty = graph.ty(v).clone();
        let term = match graph.producer(v) {
            Some((_, node)) if matches!(node.op, Op::Constant(_)) => {
                let head = Head::Op { op: node.op.clone(), outs: vec![ty], checks: node.checks.clone() };
                Term::new(head, [])
            }
            _ => Term::new(Head::Value(v, ty), []),
        };
        let id = self.egraph.add(term);
        self.class.insert(v, id);
        id
    }

    fn used_outside(&self, graph: &Graph) -> Vec<ValueId> {
        let inside: IndexSet<NodeId> = self.nodes.iter().copied().collect();
        let mut used: IndexSet<ValueId> = graph.outputs().iter().copied().collect();
        for (_, source) in graph.symbols() {
            if let SymbolSource::Axis { value, .. } | SymbolSource::Elem { value, .. } = source {
                used.insert(*value);
            }
        }
        for (_, node) in graph.nodes().filter(|(id, _)| !inside.contains(id)) {
            used.extend(&node.inputs);
        }
        self.nodes.iter().map(|id| graph.node(*id).outputs[0]).filter(|v| used.contains(v)).collect()
    }

    /// The classes that each value from outside depends on: what computes it may read what the region makes.
    pub fn behind(&self, graph: &Graph) -> IndexMap<ValueId, Vec<Id>> {
        let dependences = graph.dependences();
        let backwards = petgraph::visit::Reversed(&dependences);
        let inside: IndexMap<NodeId, Id> =
            self.nodes.iter().map(|id| (*id, self.find(graph.node(*id).outputs[0]))).collect();
        let of = |v: &ValueId| {
            let (producer, _) = graph.producer(*v).filter(|(id, _)| !inside.contains_key(id))?;
            let mut found = Vec::new();
            let mut walk = petgraph::visit::Dfs::new(backwards, producer);
            while let Some(node) = walk.next(backwards) {
                found.extend(inside.get(&node));
            }
            (!found.is_empty()).then_some((*v, found))
        };
        self.class.keys().filter_map(of).collect()
    }

    /// The class of a value that the region makes or reads.
    #[cfg(test)]
    pub fn class_of(&self, v: ValueId) -> Option<Id> {
        self.class.get(&v).map(|id| self.egraph.find(*id))
    }

    /// The class of a value, as it is now.
    pub fn find(&self, v: ValueId) -> Id {
        self.egraph.find(self.class[&v])
    }

    pub fn root_classes(&self) -> Vec<Id> {
        let classes: IndexSet<Id> = self.roots.iter().map(|v| self.find(*v)).collect();
        classes.into_iter().collect()
    }

    /// The terms that the graph came with, as they are now.
    pub fn originals(&self) -> IndexSet<Term> {
        self.terms.iter().map(|term| self.canonical(term)).collect()
    }

    fn canonical(&self, term: &Term) -> Term {
        let mut term = term.clone();
        term.operands.iter_mut().for_each(|o| *o = self.egraph.find(*o));
        term
    }

    fn class_of_node(&self, node: usize) -> Id {
        self.egraph.lookup(self.terms[node].clone()).expect("the term was added")
    }

    /// Makes the graph compute the roots as `choice` says, and tells whether that changes it.
    ///
    /// # Errors
    /// What doesn't fit; the graph is to be thrown away then.
    pub fn write(&self, graph: &mut Graph, choice: &Choice) -> Result<Changed, String> {
        let mut writer = Writer {
            region: self,
            originals: IndexMap::new(),
            members: IndexMap::new(),
            choice,
            values: IndexMap::new(),
        };
        for (i, (id, term)) in self.nodes.iter().zip(&self.terms).enumerate() {
            writer.originals.entry(self.canonical(term)).or_insert(*id);
            let class = self.egraph.find(self.class_of_node(i));
            writer.members.entry(class).or_default().push(*id);
        }
        let source = graph.clone();
        let mut changed = Changed::No;
        for root in &self.roots {
            let new = writer.value(graph, &source, self.find(*root), 0)?[0];
            if new != *root {
                graph.replace_uses(*root, new);
                changed = Changed::Yes;
            }
        }
        // What was replaced has no use left; users stand behind what they use.
        let mut uses = graph.use_counts();
        for id in self.nodes.iter().rev() {
            let node = graph.node(*id);
            if node.outputs.iter().all(|v| uses[v.0 as usize] == 0) {
                node.inputs.iter().for_each(|v| uses[v.0 as usize] -= 1);
                graph.erase(*id);
            }
        }
        graph.sort().map_err(|_| "values are computed from themselves")?;
        Ok(changed)
    }
}

struct Writer<'r> {
    region: &'r Region,
    /// Nodes that compute a term as it stands.
    originals: IndexMap<Term, NodeId>,
    /// Nodes that computed a class.
    members: IndexMap<Id, Vec<NodeId>>,
    choice: &'r Choice,
    values: IndexMap<Id, Vec<ValueId>>,
}

/// Terms that may stand on each other; a choice deeper than this has a cycle.
const MAX_DEPTH: usize = 4096;

impl Writer<'_> {
    /// The values of a class.
    fn value(
        &mut self,
        graph: &mut Graph,
        source: &Graph,
        class: Id,
        depth: usize,
    ) -> Result<Vec<ValueId>, String> {
        if let Some(done) = self.values.get(&class) {
            return Ok(done.clone());
        }
        if depth > MAX_DEPTH {
            return Err(format!("class {class} stands on itself"));
        }
        let term = self.choice.get(&class).ok_or_else(|| format!("nothing was chosen for class {class}"))?;
        let mut operands = Vec::with_capacity(term.operands.len());
        for id in &term.operands {
            operands.push(self.value(graph, source, self.region.egraph.find(*id), depth + 1)?);
        }
        let values = match term.head() {
            Head::Value(v, _) => vec![*v],
            Head::Result(i, _) => vec![operands[0][*i]],
            Head::Op { op, outs, checks } => {
                let inputs: Vec<ValueId> = operands.iter().map(|vs| vs[0]).collect();
                match self.original(source, class, term, &inputs) {
                    Some(there) => there,
                    None => {
                        let loc = self.origin(source, class, term);
                        let new =
                            graph.add(op.clone(), &inputs, &loc).map_err(|e| format!("{term}: {e:?}"))?;
                        if let Some((v, ty)) = new.iter().zip(outs).find(|(v, ty)| graph.ty(**v) != *ty) {
                            return Err(format!("{term} gives {} in place of {ty}", graph.ty(*v)));
                        }
                        if let Some((id, _)) = graph.producer(new[0]) {
                            graph.add_checks(id, checks.iter().cloned().collect::<Vec<Check>>());
                        }
                        new
                    }
                }
            }
        };
        self.values.insert(class, values.clone());
        Ok(values)
    }

    /// The results of a node that is the term already.
    fn original(&self, source: &Graph, class: Id, term: &Term, inputs: &[ValueId]) -> Option<Vec<ValueId>> {
        if let Some(Op::Constant(_)) = term.op() {
            let found =
                self.region.class.iter().find(|(v, id)| {
                    self.region.egraph.find(**id) == class && source.constant_of(**v).is_some()
                });
            return found.map(|(v, _)| vec![*v]);
        }
        let id = self.originals.get(term)?;
        let node = source.node(*id);
        (node.inputs == inputs).then(|| node.outputs.clone())
    }

    /// Where a new node comes from: the nodes between the class and the operands.
    fn origin(&self, source: &Graph, class: Id, term: &Term) -> Loc {
        let stops: IndexSet<Id> = term.operands.iter().map(|id| self.region.egraph.find(*id)).collect();
        let mut todo = vec![class];
        // What has several results is none of the graph's own: its results are.
        let result = |term: &Term| {
            matches!(term.head(), Head::Result(..)) && self.region.egraph.find(term.operands[0]) == class
        };
        todo.extend(self.choice.iter().filter(|(_, term)| result(term)).map(|(id, _)| *id));
        let mut seen: IndexSet<Id> = IndexSet::new();
        let mut nodes: IndexSet<NodeId> = IndexSet::new();
        while let Some(next) = todo.pop() {
            if !seen.insert(next) {
                continue;
            }
            let Some(node) = self.members.get(&next).and_then(|m| m.first()) else { continue };
            nodes.insert(*node);
            let operands = source.node(*node).inputs.iter();
            let operands = operands.filter_map(|v| self.region.class.get(v));
            todo.extend(operands.map(|id| self.region.egraph.find(*id)).filter(|id| !stops.contains(id)));
        }
        nodes.sort();
        nodes.iter().fold(Loc::default(), |loc, id| loc.merge(&source.node(*id).loc))
    }
}
