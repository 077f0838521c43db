//! What is known of a class: the types of its results, and its value when that is a constant.

use super::language::{Head, Id, Term};
use super::machine::Machine;
use crate::fold::{FREE_BYTES, FoldLimits, is_free, room, widens};
use egg::DidMerge;
use tcc_ir::ops::Constant;
use tcc_ir::tensor::n_elements;
use tcc_ir::{EvalCx, EvalError, Graph, Op, Tensor, TensorType, Type, Value};

/// The analysis. It needs no machine itself: that is for rules that offer kernels.
#[derive(Clone, Default, Debug)]
pub struct Facts {
    pub machine: Machine,
}

pub type EGraph = egg::EGraph<Term, Facts>;

/// What is known of one class.
#[derive(Clone, Debug)]
pub struct Known {
    pub outs: Vec<Type>,
    pub constant: Option<Tensor>,
    /// Depends on constants only, and `fold` makes one of it: not so of large integers of 8 bits that are widened, which
    /// `fold-widened` folds later.
    pub fixed: bool,
}

impl egg::Analysis<Term> for Facts {
    type Data = Known;

    fn make(egraph: &mut EGraph, term: &Term, _: Id) -> Known {
        let fixed = term.op().is_some_and(|op| folds(egraph, op, term));
        let constant = match term.head() {
            Head::Op { op: Op::Constant(c), .. } => Some(c.value.clone()),
            Head::Op { op, outs, checks } if fixed && checks.is_empty() => {
                evaluate(egraph, op, outs, &term.operands)
            }
            _ => None,
        };
        Known { outs: term.head().outs().to_vec(), constant, fixed }
    }

    /// Equal values have equal types: a rule that says otherwise is wrong.
    fn merge(&mut self, a: &mut Known, b: Known) -> DidMerge {
        debug_assert_eq!(a.outs, b.outs, "a rule made values of different types equal");
        let before = (a.constant.is_some(), a.fixed);
        let other = (b.constant.is_some(), b.fixed);
        a.constant = a.constant.take().or(b.constant);
        a.fixed |= b.fixed;
        let after = (a.constant.is_some(), a.fixed);
        DidMerge(before != after, other != after)
    }

    /// A class whose value is known is that constant.
    fn modify(egraph: &mut EGraph, id: Id) {
        let known = &egraph[id].data;
        let Some(value) = known.constant.clone() else { return };
        let outs = known.outs.clone();
        let head = Head::Op { op: Constant { value }.into(), outs, checks: vec![] };
        let constant = egraph.add(Term::new(head, []));
        egraph.union(id, constant);
    }
}

/// Whether `fold` will make a constant of a term: it keeps what is small or not larger than its operands.
fn folds(egraph: &EGraph, op: &Op, term: &Term) -> bool {
    if matches!(op, Op::Constant(_)) {
        return true;
    }
    let bytes = |ty: &Type| ty.as_tensor()?.n_bytes().as_const().and_then(|n| u64::try_from(n).ok());
    let total = |types: &[Type]| types.iter().map(bytes).sum::<Option<u64>>();
    let Some(made) = total(term.head().outs()) else { return false };
    let limits = FoldLimits::default();
    if matches!(op, Op::KernelOp(_)) || !term.operands.iter().all(|id| egraph[*id].data.fixed) {
        return false;
    }
    let ins = term.operands.iter().flat_map(|id| &egraph[*id].data.outs);
    if is_free(op) || widens(op, ins, term.head().outs()) {
        return made <= FREE_BYTES;
    }
    let read = term.operands.iter().map(|id| total(&egraph[*id].data.outs)).sum::<Option<u64>>();
    made <= limits.small_bytes || read.is_some_and(|read| made <= room(op, read).min(limits.large_bytes))
}

/// Elements of a constant at most that is evaluated here, so that rules see its value. What is larger is folded
/// once everything is chosen.
const MAX_ELEMENTS: usize = 4096;

fn evaluate(egraph: &EGraph, op: &Op, outs: &[Type], operands: &[Id]) -> Option<Tensor> {
    let moves = matches!(op, Op::Reshape(_) | Op::Transpose(_) | Op::Slice(_) | Op::Broadcast(_));
    if !op.is_elementwise() && !moves {
        return None;
    }
    // The indices along an axis are listed, even where there are no elements.
    let small = |shape: &[usize]| {
        n_elements(shape)
            .is_some_and(|n| shape.iter().all(|&extent| extent <= MAX_ELEMENTS) && n <= MAX_ELEMENTS)
    };
    let [Type::Tensor(out)] = outs else { return None };
    let shape = out.static_shape().filter(|shape| small(shape))?;
    let ins = operands.iter().map(|id| egraph[*id].data.constant.clone().filter(|t| small(t.shape())));
    let ins: Vec<Value> = ins.map(|t| t.map(Value::Tensor)).collect::<Option<_>>()?;
    let no_region = |_: &Graph, _: &[Value]| Err(EvalError::new("a region"));
    let made = op.eval(&EvalCx::new(&|_| None, outs, &no_region), &ins).ok()?;
    match &made[..] {
        [Value::Tensor(t)] if t.dtype() == out.dtype && t.shape() == shape => Some(t.clone()),
        _ => None,
    }
}

/// Constants up to this size may be there twice.
const SHARED_BYTES: i64 = 1 << 14;

/// Questions that rules ask about an e-graph.
#[derive(Clone, Copy)]
pub struct View<'a>(pub &'a EGraph);

impl<'a> View<'a> {
    pub fn machine(self) -> &'a Machine {
        &self.0.analysis.machine
    }

    /// Operators, with operands, that compute the class. Those with run-time checks aren't among them: rewriting
    /// would lose the checks.
    pub fn ops(self, id: Id) -> impl Iterator<Item = (&'a Op, &'a [Id])> {
        self.0[id]
            .nodes
            .iter()
            .filter(|t| t.checks().is_empty())
            .filter_map(|t| Some((t.op()?, &t.operands[..])))
    }

    /// The type of a class that is a tensor.
    pub fn tensor(self, id: Id) -> Option<&'a TensorType> {
        match &self.0[id].data.outs[..] {
            [ty] => ty.as_tensor(),
            _ => None,
        }
    }

    /// Whether the class depends on constants only, so that computing it costs nothing at run time.
    pub fn fixed(self, id: Id) -> bool {
        self.0[id].data.fixed
    }

    /// Whether a large constant has several readers: a changed copy for one of them would be kept beside it.
    pub fn shared(self, id: Id) -> bool {
        let bytes = self.tensor(id).and_then(|t| t.n_bytes().as_const()).unwrap_or(i64::MAX);
        let readers = self.0[id].parents().map(|p| self.0.find(p)).filter(|p| !self.fixed(*p));
        bytes > SHARED_BYTES && readers.collect::<indexmap::IndexSet<_>>().len() > 1
    }

    /// Whether one other class at most reads this one: what is done to it concerns nobody else.
    pub fn single(self, id: Id) -> bool {
        let mut readers = self.0[id].parents().map(|p| self.0.find(p));
        let first = readers.next();
        readers.all(|p| Some(p) == first)
    }

    pub fn constant(self, id: Id) -> Option<&'a Tensor> {
        self.0[id].data.constant.as_ref()
    }

    /// The one value that all elements of a constant have, as a scalar; also of a constant that is broadcast.
    pub fn uniform(self, id: Id) -> Option<Tensor> {
        if let Some(t) = self.constant(id) {
            let width = t.dtype().size();
            let mut elems = t.bytes().chunks_exact(width.max(1));
            let first = elems.next()?;
            return elems.all(|e| e == first).then(|| t.gather_linear(Vec::new(), [0]));
        }
        self.ops(id).find_map(|(op, ins)| match op {
            Op::Broadcast(_) | Op::Reshape(_) => self.constant(ins[0]).and_then(|_| self.uniform(ins[0])),
            _ => None,
        })
    }
}
