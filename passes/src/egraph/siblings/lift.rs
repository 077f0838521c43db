//! What is computed alike of all parts, computed of the whole.

use super::{Cut, Whole};
use crate::egraph::analysis::{EGraph, View};
use crate::egraph::language::Id;
use crate::egraph::rules::New;
use indexmap::IndexSet;
use tcc_ir::ops::{Concat, Reshape};
use tcc_ir::{Dim, Op};

/// Everything that is computed alike of the parts of `whole`. `family` is what is whole already.
pub fn all(egraph: &mut EGraph, family: &[Whole], whole: &Whole) -> Vec<Whole> {
    let found: Vec<(New, Cut)> = readers(View(egraph), whole.parts[0])
        .into_iter()
        .filter_map(|first| lifted(View(egraph), family, whole, first))
        .collect();
    found.into_iter().filter_map(|(new, cut)| cut.of(egraph, &new)).collect()
}

/// A term that reads a class.
#[derive(Clone, Copy)]
struct Reader<'a> {
    class: Id,
    op: &'a Op,
    operands: &'a [Id],
}

fn readers(view: View, id: Id) -> Vec<Reader> {
    let id = view.0.find(id);
    let classes: IndexSet<Id> = view.0[id].parents().map(|p| view.0.find(p)).collect();
    let of = |class: Id| {
        let ops = view.ops(class).filter(move |(_, operands)| operands.contains(&id));
        ops.map(move |(op, operands)| Reader { class, op, operands })
    };
    classes.into_iter().flat_map(of).collect()
}

/// What `first` computes of the first part, for the whole.
fn lifted(view: View, family: &[Whole], whole: &Whole, first: Reader) -> Option<(New, Cut)> {
    let alike = Alike { view, family, whole, first };
    match first.op {
        Op::Reshape(_) => alike.reshape(),
        op if op.is_elementwise() => alike.elementwise(),
        _ => None,
    }
}

struct Alike<'a> {
    view: View<'a>,
    family: &'a [Whole],
    whole: &'a Whole,
    first: Reader<'a>,
}

impl<'a> Alike<'a> {
    /// One reader of each part that `fits`.
    fn of_each_part(&self, fits: impl Fn(usize, &Reader<'a>) -> bool) -> Option<Vec<Reader<'a>>> {
        let rest = (1..self.whole.parts.len())
            .map(|j| readers(self.view, self.whole.parts[j]).into_iter().find(|r| fits(j, r)));
        let rest: Option<Vec<Reader>> = rest.collect();
        Some(std::iter::once(self.first).chain(rest?).collect())
    }

    fn cut(&self, axis: usize, extents: Vec<i64>, found: &[Reader]) -> Cut {
        Cut { axis, extents, parts: found.iter().map(|r| r.class).collect(), family: self.whole.family }
    }

    fn elementwise(&self) -> Option<(New, Cut)> {
        let Reader { class, op, operands } = self.first;
        let (view, whole) = (self.view, self.whole);
        // The result is cut as the part is.
        if view.tensor(class)?.shape != view.tensor(whole.parts[0])?.shape {
            return None;
        }
        let found = self.of_each_part(|j, r| {
            let pairs = || operands.iter().zip(r.operands);
            *r.op == *op
                && pairs().len() == operands.len()
                && pairs().all(|(a, b)| self.operand(&[(0, *a), (j, *b)]).is_some())
        })?;
        let operands = (0..operands.len()).map(|k| {
            let column: Vec<(usize, Id)> =
                found.iter().enumerate().map(|(j, r)| (j, r.operands[k])).collect();
            self.operand(&column)
        });
        let operands: Vec<New> = operands.collect::<Option<_>>()?;
        Some((New::Op(op.clone(), operands), self.cut(whole.axis, whole.extents.clone(), &found)))
    }

    /// One operand of the readers of these parts, for the whole.
    fn operand(&self, column: &[(usize, Id)]) -> Option<New> {
        let (view, cut) = (self.view, self.whole);
        let cut_so = |w: &&Whole| w.axis == cut.axis && w.extents == cut.extents;
        let is_part = |w: &&Whole| column.iter().all(|(j, id)| view.0.find(w.parts[*j]) == *id);
        if let Some(w) = self.family.iter().filter(cut_so).find(is_part) {
            return Some(w.class.into());
        }
        let rank = view.tensor(cut.parts[0])?.rank();
        // The axis that is cut, of an operand that is broadcast along those before.
        let axis = |id: Id| Some((cut.axis + view.tensor(id)?.rank()).checked_sub(rank));
        let (_, first) = column[0];
        let extent = |id: Id, axis: usize| view.tensor(id).and_then(|t| t.shape[axis].as_const());
        let along = axis(first)?.filter(|a| extent(first, *a) != Some(1));
        if along.is_none() && column.iter().all(|(_, id)| *id == first) {
            return Some(first.into());
        }
        let along = along?;
        let fits = |(j, id): &(usize, Id)| {
            view.fixed(*id) && axis(*id) == Some(Some(along)) && extent(*id, along) == Some(cut.extents[*j])
        };
        let parts = || column.iter().map(|(_, id)| New::from(*id));
        column.iter().all(fits).then(|| New::op(Concat { axis: along }, parts()))
    }

    fn reshape(&self) -> Option<(New, Cut)> {
        let view = self.view;
        let shape = |id: Id| view.tensor(id).map(|t| &t.shape);
        let to = shape(self.first.class)?;
        let axis = reshaped_axis(shape(self.whole.parts[0])?, self.whole.axis, to)?;
        let fits = |j: usize, class: Id| {
            let (from, other) = (shape(self.whole.parts[j])?, shape(class)?);
            let same = other.len() == to.len() && (0..to.len()).all(|i| i == axis || other[i] == to[i]);
            (same && reshaped_axis(from, self.whole.axis, other) == Some(axis))
                .then(|| other[axis].as_const())?
        };
        let found = self.of_each_part(|j, r| matches!(r.op, Op::Reshape(_)) && fits(j, r.class).is_some())?;
        let extents: Vec<i64> =
            found.iter().enumerate().map(|(j, r)| fits(j, r.class)).collect::<Option<_>>()?;
        let mut dims = to.clone();
        dims[axis] = Dim::from(extents.iter().sum::<i64>());
        let new = New::op(Reshape { dims }, [self.whole.class.into()]);
        Some((new, self.cut(axis, extents, &found)))
    }
}

/// The axis that is left of `axis` when a shape becomes another one: what lies outside and inside of it stays there.
fn reshaped_axis(from: &[Dim], axis: usize, to: &[Dim]) -> Option<usize> {
    let product = |dims: &[Dim]| Dim::product(dims.iter().cloned());
    let outer = product(&from[..axis]);
    let inside = product(&from[axis..]);
    let found = (0..to.len()).find(|at| !to[*at].is_const(1) && product(&to[..*at]) == outer)?;
    (product(&to[found..]) == inside).then_some(found)
}
