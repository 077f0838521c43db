//! The language of the e-graph: the IR's own operators, applied to classes.
//!
//! A term's head says everything but its operands: the operator with its attributes (a fused kernel is an operator
//! too), the types of its results and the run-time checks that go with it. So nothing about operators is defined a
//! second time, and two terms are one only when all of that agrees.

use smallvec::SmallVec;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem::Discriminant;
use std::sync::Arc;
use tcc_ir::graph::Check;
use tcc_ir::{Op, Type, ValueId};

pub use egg::Id;

/// What a term is, without its operands.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Head {
    /// A value that comes from outside of the region.
    Value(ValueId, Type),
    Op {
        op: Op,
        outs: Vec<Type>,
        checks: Vec<Check>,
    },
    /// One of several results of its operand.
    Result(usize, Type),
}

impl Head {
    /// Types of the results.
    pub fn outs(&self) -> &[Type] {
        match self {
            Head::Value(_, ty) | Head::Result(_, ty) => std::slice::from_ref(ty),
            Head::Op { outs, .. } => outs,
        }
    }
}

/// A head that is cheap to copy, hash and compare: kernels are large.
#[derive(Clone)]
pub struct Shared(Arc<(u64, Head)>);

impl Shared {
    fn new(head: Head) -> Self {
        // The standard hasher with its fixed keys: equal heads hash equal in every run.
        let mut hasher = DefaultHasher::new();
        head.hash(&mut hasher);
        Shared(Arc::new((hasher.finish(), head)))
    }
}

impl PartialEq for Shared {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || *self.0 == *other.0
    }
}

impl Eq for Shared {}

impl PartialOrd for Shared {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Shared {
    fn cmp(&self, other: &Self) -> Ordering {
        if Arc::ptr_eq(&self.0, &other.0) { Ordering::Equal } else { self.0.1.cmp(&other.0.1) }
    }
}

impl Hash for Shared {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.0.hash(state);
    }
}

/// An e-node.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term {
    head: Shared,
    pub operands: SmallVec<[Id; 4]>,
}

impl Term {
    pub fn new(head: Head, operands: impl IntoIterator<Item = Id>) -> Self {
        Term { head: Shared::new(head), operands: operands.into_iter().collect() }
    }

    pub fn head(&self) -> &Head {
        &self.head.0.1
    }

    /// The operator; None for values from outside and results of others.
    pub fn op(&self) -> Option<&Op> {
        match self.head() {
            Head::Op { op, .. } => Some(op),
            Head::Value(..) | Head::Result(..) => None,
        }
    }

    pub fn checks(&self) -> &[Check] {
        match self.head() {
            Head::Op { checks, .. } => checks,
            Head::Value(..) | Head::Result(..) => &[],
        }
    }
}

impl fmt::Debug for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}{:?}", self.operands)
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.head() {
            Head::Value(v, _) => write!(f, "%{}", v.0),
            Head::Result(i, _) => write!(f, "result {i}"),
            Head::Op { op: Op::KernelOp(k), .. } => write!(f, "kernel @{}", k.kernel.name),
            Head::Op { op, .. } => f.write_str(op.name()),
        }
    }
}

/// Which terms may match each other.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    Value,
    Result,
    Op(Discriminant<Op>),
}

impl egg::Language for Term {
    type Discriminant = Kind;

    fn discriminant(&self) -> Kind {
        match self.head() {
            Head::Value(..) => Kind::Value,
            Head::Result(..) => Kind::Result,
            Head::Op { op, .. } => Kind::Op(std::mem::discriminant(op)),
        }
    }

    fn matches(&self, other: &Self) -> bool {
        self.head == other.head && self.operands.len() == other.operands.len()
    }

    fn children(&self) -> &[Id] {
        &self.operands
    }

    fn children_mut(&mut self) -> &mut [Id] {
        &mut self.operands
    }
}
