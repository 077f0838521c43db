//! Operators that move elements without computing, and computing on either side of a move.

use super::{New, Numerics, Rule};
use crate::egraph::analysis::View;
use crate::egraph::language::Id;
use tcc_ir::ops::{Reduce, Reshape, Slice, Transpose};
use tcc_ir::{Dim, Op, Shape};

use Numerics::{Exact, Reassociate};

pub const RULES: &[Rule] = &[
    Rule { name: "move-of-nothing", numerics: Exact, apply: nothing },
    Rule { name: "reshape-twice", numerics: Exact, apply: reshape_twice },
    Rule { name: "transpose-twice", numerics: Exact, apply: transpose_twice },
    // f(reshape(x), y) is reshape(f(x, y)), with y reshaped too where it must be: a view between two maps keeps them
    // from being one kernel.
    Rule { name: "compute-before-reshape", numerics: Exact, apply: compute_before_reshape },
    // f(transpose(x), y) is transpose(f(x, y)): transposes meet and cancel.
    Rule { name: "compute-before-transpose", numerics: Exact, apply: compute_before_transpose },
    Rule { name: "reduce-before-transpose", numerics: Reassociate, apply: reduce_before_transpose },
    // A part of one operand of a concatenation needs none of the others.
    Rule { name: "slice-of-concat", numerics: Exact, apply: slice_of_concat },
    Rule { name: "concat-twice", numerics: Exact, apply: concat_twice },
    // Neighbours that are put together again.
    Rule { name: "concat-of-slices", numerics: Exact, apply: concat_of_slices },
    // What was there before the padding.
    Rule { name: "slice-of-pad", numerics: Exact, apply: slice_of_pad },
];

fn nothing(view: View, op: &Op, ins: &[Id]) -> Option<New> {
    let moves = match op {
        Op::Reshape(_) => true,
        Op::Transpose(t) => t.perm.is_sorted(),
        Op::Slice(s) => s.starts.iter().all(|d| d.is_const(0)) && s.steps.iter().all(|d| d.is_const(1)),
        _ => false,
    };
    // The type of the whole is compared where the classes are made one.
    moves.then(|| view.tensor(ins[0]))??;
    let same = match op {
        Op::Reshape(r) => r.dims == view.tensor(ins[0])?.shape,
        Op::Slice(s) => s.sizes == view.tensor(ins[0])?.shape,
        _ => true,
    };
    same.then(|| ins[0].into())
}

fn reshape_twice(view: View, op: &Op, ins: &[Id]) -> Option<New> {
    let Op::Reshape(_) = op else { return None };
    let (_, inner) = view.ops(ins[0]).find(|(inner, _)| matches!(inner, Op::Reshape(_)))?;
    Some(New::op(op.clone(), [inner[0].into()]))
}

fn transpose_twice(view: View, op: &Op, ins: &[Id]) -> Option<New> {
    let Op::Transpose(second) = op else { return None };
    view.ops(ins[0]).find_map(|(inner, inner_ins)| {
        let Op::Transpose(first) = inner else { return None };
        let perm = second.perm.iter().map(|a| first.perm[*a]).collect();
        Some(New::op(Transpose { perm }, [inner_ins[0].into()]))
    })
}

fn reshaped(x: impl Into<New>, dims: Shape) -> New {
    New::op(Reshape { dims }, [x.into()])
}

fn compute_before_reshape(view: View, op: &Op, ins: &[Id]) -> Option<New> {
    if !op.is_elementwise() {
        return None;
    }
    ins.iter().enumerate().find_map(|(i, reshaped_operand)| {
        let to = &view.tensor(*reshaped_operand)?.shape;
        let (_, inner) = view.ops(*reshaped_operand).find(|(o, x)| {
            // Kernels read through axes of extent one as they are.
            matches!(o, Op::Reshape(_)) && view.tensor(x[0]).is_some_and(|t| !same_but_units(&t.shape, to))
        })?;
        let from = &view.tensor(inner[0])?.shape;
        let operands = ins
            .iter()
            .enumerate()
            .map(|(j, y)| if i == j { Some(inner[0].into()) } else { before_reshape(view, *y, from, to) });
        let operands: Vec<New> = operands.collect::<Option<_>>()?;
        Some(reshaped(New::Op(op.clone(), operands), to.clone()))
    })
}

fn same_but_units(a: &[Dim], b: &[Dim]) -> bool {
    let long = |d: &&Dim| !d.is_const(1);
    a.iter().filter(long).eq(b.iter().filter(long))
}

/// An operand of a result of shape `to`, for the same result in the shape `from`.
fn before_reshape(view: View, y: Id, from: &[Dim], to: &[Dim]) -> Option<New> {
    let shape = &view.tensor(y)?.shape;
    if shape == to {
        return Some(reshaped(y, from.to_vec()));
    }
    if shape.iter().all(|d| d.is_const(1)) {
        return Some(if shape.is_empty() { y.into() } else { reshaped(y, vec![]) });
    }
    // It broadcasts along leading axes only, and the axes that it has are the same on both sides.
    let alike = from.iter().rev().zip(to.iter().rev()).take_while(|(a, b)| a == b).count();
    let own = shape.iter().skip_while(|d| d.is_const(1)).count();
    let fits = own <= alike && shape.len() <= to.len();
    fits.then(|| {
        if shape.len() <= from.len() { y.into() } else { reshaped(y, shape[shape.len() - own..].to_vec()) }
    })
}

fn inverse(perm: &[usize]) -> Vec<usize> {
    let mut inverse = vec![0; perm.len()];
    perm.iter().enumerate().for_each(|(i, p)| inverse[*p] = i);
    inverse
}

fn compute_before_transpose(view: View, op: &Op, ins: &[Id]) -> Option<New> {
    if !op.is_elementwise() {
        return None;
    }
    let perm = ins.iter().flat_map(|x| view.ops(*x)).find_map(|(o, _)| match o {
        Op::Transpose(t) if !t.perm.is_sorted() => Some(&t.perm),
        _ => None,
    })?;
    let operands = ins.iter().map(|y| {
        let shape = &view.tensor(*y)?.shape;
        if shape.iter().all(|d| d.is_const(1)) {
            return Some(if shape.is_empty() { (*y).into() } else { reshaped(*y, vec![]) });
        }
        let undone = view.ops(*y).find_map(|(o, x)| match o {
            Op::Transpose(t) if t.perm == *perm => Some(x[0]),
            _ => None,
        });
        match undone {
            Some(x) => Some(x.into()),
            // Moving a constant costs nothing at run time.
            None if view.fixed(*y) && shape.len() <= perm.len() => {
                let mut full = vec![Dim::from(1); perm.len() - shape.len()];
                full.extend(shape.iter().cloned());
                Some(New::op(Transpose { perm: inverse(perm) }, [reshaped(*y, full)]))
            }
            None => None,
        }
    });
    let operands: Vec<New> = operands.collect::<Option<_>>()?;
    Some(New::op(Transpose { perm: perm.clone() }, [New::Op(op.clone(), operands)]))
}

fn reduce_before_transpose(view: View, op: &Op, ins: &[Id]) -> Option<New> {
    let Op::Reduce(reduce) = op else { return None };
    let (perm, x) = view.ops(ins[0]).find_map(|(o, x)| match o {
        Op::Transpose(t) => Some((&t.perm, x[0])),
        _ => None,
    })?;
    let mut axes: Vec<usize> = reduce.axes.iter().map(|a| perm[*a]).collect();
    axes.sort_unstable();
    let inner = New::op(Reduce { axes: axes.clone(), ..reduce.clone() }, [x.into()]);
    let perm = if reduce.keepdims {
        perm.clone()
    } else {
        // The axes that are left, numbered anew.
        let left = perm.iter().filter(|a| !axes.contains(a));
        left.map(|a| a - axes.iter().filter(|gone| *gone < a).count()).collect()
    };
    Some(New::op(Transpose { perm }, [inner]))
}

/// The first and the last place that a slice takes along an axis, as numbers; None when it takes nothing.
fn range(slice: &Slice, axis: usize) -> Option<(i64, i64)> {
    let number = |d: &Dim| d.as_const();
    let (start, size) = (number(&slice.starts[axis])?, number(&slice.sizes[axis])?);
    let last = start.checked_add(number(&slice.steps[axis])?.checked_mul(size.checked_sub(1)?)?)?;
    (size > 0).then(|| (start.min(last), start.max(last)))
}

fn moved(slice: &Slice, axis: usize, by: i64, x: Id) -> New {
    let mut slice = slice.clone();
    slice.starts[axis] = slice.starts[axis].clone() - Dim::from(by);
    New::op(slice, [x.into()])
}

fn slice_of_concat(view: View, op: &Op, ins: &[Id]) -> Option<New> {
    let Op::Slice(slice) = op else { return None };
    view.ops(ins[0]).find_map(|(o, parts)| {
        let Op::Concat(concat) = o else { return None };
        let (first, last) = range(slice, concat.axis)?;
        let mut start = 0;
        for part in parts {
            let end = start + view.tensor(*part)?.shape[concat.axis].as_const()?;
            if start <= first && last < end {
                return Some(moved(slice, concat.axis, start, *part));
            }
            start = end;
        }
        None
    })
}

fn concat_twice(view: View, op: &Op, ins: &[Id]) -> Option<New> {
    let Op::Concat(outer) = op else { return None };
    ins.iter().enumerate().find_map(|(i, x)| {
        let (_, parts) = view.ops(*x).find(|(o, parts)| {
            matches!(o, Op::Concat(inner) if inner.axis == outer.axis) && !parts.contains(x)
        })?;
        // What depends on constants only is put together ahead.
        if view.fixed(*x) {
            return None;
        }
        let all = ins[..i].iter().chain(parts).chain(&ins[i + 1..]);
        Some(New::op(outer.clone(), all.map(|id| New::from(*id))))
    })
}

fn concat_of_slices(view: View, op: &Op, ins: &[Id]) -> Option<New> {
    let Op::Concat(concat) = op else { return None };
    let slices = |id: Id| {
        view.ops(id).filter_map(|(o, x)| match o {
            Op::Slice(slice) => Some((slice, x[0])),
            _ => None,
        })
    };
    let axis = concat.axis;
    (1..ins.len()).find_map(|i| {
        slices(ins[i - 1]).find_map(|(a, x)| {
            let next = a.starts[axis].clone() + a.sizes[axis].clone();
            let follows = |b: &Slice| {
                let same =
                    |of: fn(&Slice) -> &Vec<Dim>| (0..of(a).len()).all(|k| k == axis || of(a)[k] == of(b)[k]);
                b.starts[axis] == next
                    && a.steps[axis].is_const(1)
                    && b.steps[axis].is_const(1)
                    && same(|s| &s.starts)
                    && same(|s| &s.sizes)
                    && same(|s| &s.steps)
            };
            let (b, _) = slices(ins[i]).find(|(b, y)| *y == x && follows(b))?;
            let mut both = a.clone();
            both.sizes[axis] = both.sizes[axis].clone() + b.sizes[axis].clone();
            let both = New::op(both, [x.into()]);
            let (before, after) = (&ins[..i - 1], &ins[i + 1..]);
            if before.is_empty() && after.is_empty() {
                return Some(both);
            }
            let classes = |ids: &[Id]| ids.iter().map(|id| New::from(*id)).collect::<Vec<_>>();
            Some(New::op(concat.clone(), [classes(before), vec![both], classes(after)].concat()))
        })
    })
}

fn slice_of_pad(view: View, op: &Op, ins: &[Id]) -> Option<New> {
    let Op::Slice(slice) = op else { return None };
    view.ops(ins[0]).find_map(|(o, x)| {
        let Op::Pad(pad) = o else { return None };
        let shape = &view.tensor(x[0])?.shape;
        let mut inner = slice.clone();
        for axis in 0..shape.len() {
            let (before, after) = (pad.before[axis].as_const()?, pad.after[axis].as_const()?);
            if (before, after) == (0, 0) {
                continue;
            }
            let (first, last) = range(slice, axis)?;
            if before < 0 || after < 0 || first < before || last >= before + shape[axis].as_const()? {
                return None;
            }
            inner.starts[axis] = Dim::from(slice.starts[axis].as_const()? - before);
        }
        Some(New::op(inner, [x[0].into()]))
    })
}
