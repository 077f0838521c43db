//! Operators that move elements without computing, and computing on either side of a move.

use super::{New, Numerics, Rule};
use crate::egraph::analysis::View;
use crate::egraph::language::Id;
use tcc_ir::ops::{Reduce, Reshape, Transpose};
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
];

fn nothing(view: View, op: &Op, ins: &[Id]) -> Option<New> {
    let moves = match op {
        Op::Reshape(_) => true,
        Op::Transpose(t) => t.perm.is_sorted(),
        _ => false,
    };
    // The type of the whole is compared where the classes are made one.
    moves.then(|| view.tensor(ins[0]))??;
    let same = match op {
        Op::Reshape(r) => r.dims == view.tensor(ins[0])?.shape,
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
            matches!(o, Op::Reshape(_)) && view.tensor(x[0]).is_some_and(|t| t.shape != *to)
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
