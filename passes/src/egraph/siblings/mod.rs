//! Siblings: products of one operand with constants are parts of one wider product.
//!
//! contract(x, w1), contract(x, w2).. are slices of contract(x, concat(w1, w2, ..)); and what is computed alike of all
//! parts, such as a bias, an activation or another shape, is a slice of what is computed so of the whole. All of
//! that is exact, and only adds terms. Whether the whole is cheaper is a question to all of its parts at once: the
//! caller solves for both.

mod lift;

use super::analysis::{EGraph, View};
use super::fusion::Way;
use super::language::Id;
use super::order::Order;
use super::rules::{self, New};
use indexmap::{IndexMap, IndexSet};
use tcc_ir::ops::{Concat, Contract, Slice};
use tcc_ir::{DType, Dim, Op};

/// How statistics call it.
pub const NAME: &str = "siblings";

/// Values that stem from one product at most: what is alike can be alike in many equal ways.
const MAX_WHOLES: usize = 32;

/// A class that others are parts of.
#[derive(Clone, Debug)]
pub struct Whole {
    pub class: Id,
    /// In order, without gaps.
    pub parts: Vec<Id>,
    /// The axis that is cut, and the extents of the parts along it.
    axis: usize,
    extents: Vec<i64>,
    /// The product that it stems from.
    pub family: usize,
    /// All that reads the parts are parts of other wholes: nothing needs to be cut here.
    inner: bool,
}

impl Whole {
    fn is_cut_like(&self, other: &Whole, egraph: &EGraph) -> bool {
        let parts = || self.parts.iter().zip(&other.parts);
        (self.axis, &self.extents) == (other.axis, &other.extents)
            && parts().all(|(a, b)| egraph.find(*a) == egraph.find(*b))
    }
}

/// Adds the whole of each group of products among `classes`, and what follows it. `roots` are read from outside.
pub fn merge(egraph: &mut EGraph, classes: &[Id], roots: &[Id]) -> Vec<Whole> {
    let mut wholes = Vec::new();
    for (family, group) in groups(View(egraph), classes).into_iter().enumerate() {
        let first = wholes.len();
        wholes.extend(group.whole(egraph, family));
        let mut next = first;
        while next < wholes.len() && wholes.len() < first + MAX_WHOLES {
            let made = lift::all(egraph, &wholes[first..], &wholes[next]);
            for whole in made {
                // Equal parts make equal wholes.
                match wholes[first..].iter().find(|w| w.is_cut_like(&whole, egraph)) {
                    Some(known) => {
                        egraph.union(known.class, whole.class);
                    }
                    None => wholes.push(whole),
                }
            }
            egraph.rebuild();
            next += 1;
        }
        let cut: IndexSet<Id> =
            wholes[first..].iter().flat_map(|w| &w.parts).map(|p| egraph.find(*p)).collect();
        let escapes = |part: &Id| {
            let part = egraph.find(*part);
            let mut readers = egraph[part].parents().map(|p| egraph.find(p));
            roots.iter().any(|r| egraph.find(*r) == part) || readers.any(|r| !cut.contains(&r))
        };
        for whole in &mut wholes[first..] {
            whole.inner = !whole.parts.iter().any(escapes);
        }
    }
    wholes
}

/// What siblings have in common.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Kind {
    op: Op,
    shared: Id,
    /// Which operand is the constant, its free axis, and its other extents.
    operand: usize,
    axis: usize,
    rest: Vec<Dim>,
    dtype: DType,
    /// The axis of the result that the free axis becomes.
    result: usize,
}

struct Group {
    kind: Kind,
    /// Products, their constants and the extents of the free axes.
    members: Vec<(Id, Id, i64)>,
}

fn groups(view: View, classes: &[Id]) -> Vec<Group> {
    let mut found: IndexMap<Kind, Vec<(Id, Id, i64)>> = IndexMap::new();
    for class in classes {
        let Some((kind, constant, extent)) = product(view, *class) else { continue };
        let members = found.entry(kind).or_default();
        if members.iter().all(|(_, known, _)| *known != constant) {
            members.push((*class, constant, extent));
        }
    }
    found.retain(|_, members| members.len() > 1);
    found.into_iter().map(|(kind, members)| Group { kind, members }).collect()
}

/// The class as a product with a constant that nothing else uses.
fn product(view: View, class: Id) -> Option<(Kind, Id, i64)> {
    view.ops(class).find_map(|(op, ins)| {
        let operand = match op {
            Op::Contract(_) | Op::Conv(_) => ins.iter().position(|id| view.fixed(*id))?,
            _ => return None,
        };
        let (shared, constant) = (*ins.get(1 - operand)?, ins[operand]);
        if view.fixed(shared) || view.shared(constant) {
            return None;
        }
        let w = view.tensor(constant)?;
        let (axis, result) = match op {
            Op::Contract(c) => free_axis(c, operand, view.tensor(ins[0])?.rank(), w.rank())?,
            // The first axis of the weights is the result's channels.
            Op::Conv(conv) if operand == 1 && conv.groups == 1 => (0, 1),
            _ => return None,
        };
        let extent = w.shape[axis].as_const()?;
        let mut rest = w.shape.clone();
        rest.remove(axis);
        Some((Kind { op: op.clone(), shared, operand, axis, rest, dtype: w.dtype, result }, constant, extent))
    })
}

/// The first axis that only this operand has, and its place in the result.
fn free_axis(c: &Contract, operand: usize, lhs_rank: usize, rank: usize) -> Option<(usize, usize)> {
    let batch = c.lhs_batch.len();
    if operand == 0 {
        Some((*c.lhs_free(rank).first()?, batch))
    } else {
        Some((*c.rhs_free(rank).first()?, batch + c.lhs_free(lhs_rank).len()))
    }
}

impl Group {
    fn whole(&self, egraph: &mut EGraph, family: usize) -> Option<Whole> {
        let constants = self.members.iter().map(|(_, constant, _)| New::from(*constant));
        let all = rules::add(egraph, &New::op(Concat { axis: self.kind.axis }, constants))?;
        // One that would be put together at run time is no gain.
        if !View(egraph).fixed(all) {
            return None;
        }
        let mut operands = [New::from(self.kind.shared), New::from(all)];
        if self.kind.operand == 0 {
            operands.swap(0, 1);
        }
        let cut = Cut {
            axis: self.kind.result,
            extents: self.members.iter().map(|(_, _, extent)| *extent).collect(),
            parts: self.members.iter().map(|(class, ..)| *class).collect(),
            family,
        };
        cut.of(egraph, &New::op(self.kind.op.clone(), operands))
    }
}

/// How something is to be cut into parts.
struct Cut {
    axis: usize,
    extents: Vec<i64>,
    parts: Vec<Id>,
    family: usize,
}

impl Cut {
    /// Adds the whole, and makes the parts slices of it. None when they don't fit.
    fn of(self, egraph: &mut EGraph, whole: &New) -> Option<Whole> {
        let class = rules::add(egraph, whole)?;
        let ty = View(egraph).tensor(class)?.clone();
        let mut start = 0;
        let mut slices = Vec::with_capacity(self.parts.len());
        for (part, extent) in self.parts.iter().zip(&self.extents) {
            let mut starts = vec![Dim::from(0); ty.rank()];
            let mut sizes = ty.shape.clone();
            (starts[self.axis], sizes[self.axis]) = (Dim::from(start), Dim::from(*extent));
            let steps = vec![Dim::from(1); ty.rank()];
            let slice = rules::add(egraph, &New::op(Slice { starts, sizes, steps }, [class.into()]))?;
            if egraph[slice].data.outs != egraph[*part].data.outs {
                return None;
            }
            slices.push(slice);
            start += extent;
        }
        self.parts.iter().zip(slices).for_each(|(part, slice)| {
            egraph.union(*part, slice);
        });
        egraph.rebuild();
        let parts = self.parts.iter().map(|part| egraph.find(*part)).collect();
        Some(Whole {
            class: egraph.find(class),
            parts,
            axis: self.axis,
            extents: self.extents,
            family: self.family,
            inner: false,
        })
    }
}

/// A whole, by places in the order of classes.
#[derive(Clone, Debug)]
pub struct Split {
    pub whole: usize,
    pub parts: Vec<usize>,
    pub family: usize,
    pub inner: bool,
}

impl Split {
    /// Whether a term for class `part` that reads these classes cuts it out of the whole.
    pub fn is_cut_by(&self, part: usize, reads: &[usize]) -> bool {
        *reads == [self.whole] && self.parts.contains(&part)
    }
}

/// The products that are computed by themselves although they are parts of one whose other parts are used. Of a family
/// that isn't used, none are.
pub fn alone(splits: &[Split], ways: &[(usize, &Way)]) -> Vec<usize> {
    let family_reads =
        |family: usize, way: &Way| splits.iter().any(|s| s.family == family && way.reads.contains(&s.whole));
    let by_itself = |family: usize, part: usize| {
        ways.iter()
            .any(|(class, way)| (*class == part || way.absorbed.contains(part)) && !family_reads(family, way))
    };
    let mut first = IndexMap::new();
    splits.iter().for_each(|s| {
        first.entry(s.family).or_insert(s);
    });
    let of = |s: &Split| s.parts.iter().copied().filter(|p| by_itself(s.family, *p)).collect::<Vec<_>>();
    let found = first.values().map(|s| (of(s), s.parts.len()));
    found.filter(|(alone, n)| alone.len() < *n).flat_map(|(alone, _)| alone).collect()
}

/// Those of which whole and parts have a place, parts behind the whole.
pub fn splits(wholes: &[Whole], egraph: &EGraph, order: &Order) -> Vec<Split> {
    let mut seen = IndexSet::new();
    let place = |id: &Id| order.index(egraph.find(*id));
    let found = wholes.iter().filter_map(|w| {
        let whole = place(&w.class)?;
        let parts: Vec<usize> = w.parts.iter().map(place).collect::<Option<_>>()?;
        let later = parts.iter().all(|p| *p > whole);
        (later && seen.insert(whole)).then_some(Split { whole, parts, family: w.family, inner: w.inner })
    });
    found.collect()
}
