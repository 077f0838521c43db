//! Rules for operators that move elements without computing.

use super::{Rewrite, Rule, source};
use tcc_ir::ops::{Reshape, Slice, Transpose};
use tcc_ir::{DType, Dim, Graph, Node, NodeId, Op, Type, ValueId};

pub const RULES: &[Rule] = &[
    // Neither moves nor converts anything.
    Rule { name: "movement-of-nothing", apply: nothing },
    Rule { name: "concat-of-one", apply: concat_of_one },
    // The last of two in a row decides.
    Rule { name: "reshape-of-reshape", apply: reshape_of_reshape },
    Rule { name: "broadcast-of-broadcast", apply: broadcast_of_broadcast },
    Rule { name: "transpose-of-transpose", apply: transpose_of_transpose },
    Rule { name: "slice-of-slice", apply: slice_of_slice },
    Rule { name: "cast-of-cast", apply: cast_of_cast },
    // A reshape costs nothing.
    Rule { name: "transpose-is-reshape", apply: transpose_is_reshape },
    Rule { name: "broadcast-is-reshape", apply: broadcast_is_reshape },
    // Elementwise operators broadcast by themselves.
    Rule { name: "elementwise-of-broadcast", apply: elementwise_of_broadcast },
];

fn nothing(graph: &Graph, node: &Node) -> Option<Rewrite> {
    let x = *node.inputs.first()?;
    let zero = |dims: &[Dim]| dims.iter().all(|d| d.is_const(0));
    let same = graph.ty(x) == graph.ty(*node.outputs.first()?);
    let moves_nothing = match &node.op {
        Op::Reshape(_) | Op::Broadcast(_) | Op::Cast(_) | Op::Bitcast(_) => true,
        Op::Transpose(op) => op.perm.iter().copied().eq(0..op.perm.len()),
        Op::Slice(op) => zero(&op.starts) && op.steps.iter().all(|d| d.is_const(1)),
        Op::Pad(op) => zero(&op.before) && zero(&op.after),
        _ => false,
    };
    (moves_nothing && same).then_some(Rewrite::Value(x))
}

fn concat_of_one(_: &Graph, node: &Node) -> Option<Rewrite> {
    match (&node.op, &node.inputs[..]) {
        (Op::Concat(_), [x]) => Some(Rewrite::Value(*x)),
        _ => None,
    }
}

/// The node that makes a node's only input.
fn before<'a>(graph: &'a Graph, node: &Node) -> Option<(NodeId, &'a Node)> {
    source(graph, *node.inputs.first()?)
}

fn reshape_of_reshape(graph: &Graph, node: &Node) -> Option<Rewrite> {
    let (id, inner) = before(graph, node)?;
    match (&node.op, &inner.op) {
        (Op::Reshape(op), Op::Reshape(_)) => Rewrite::node(op.clone(), inner.inputs.clone(), vec![id]),
        _ => None,
    }
}

fn broadcast_of_broadcast(graph: &Graph, node: &Node) -> Option<Rewrite> {
    let (id, inner) = before(graph, node)?;
    match (&node.op, &inner.op) {
        (Op::Broadcast(op), Op::Broadcast(_)) => Rewrite::node(op.clone(), inner.inputs.clone(), vec![id]),
        _ => None,
    }
}

fn transpose_of_transpose(graph: &Graph, node: &Node) -> Option<Rewrite> {
    let (id, inner) = before(graph, node)?;
    match (&node.op, &inner.op) {
        (Op::Transpose(second), Op::Transpose(first)) => {
            let perm = second.perm.iter().map(|a| first.perm[*a]).collect();
            Rewrite::node(Transpose { perm }, inner.inputs.clone(), vec![id])
        }
        _ => None,
    }
}

/// Element `i` of the second is element `start2 + i * step2` of the first.
fn slice_of_slice(graph: &Graph, node: &Node) -> Option<Rewrite> {
    let (id, inner) = before(graph, node)?;
    let (Op::Slice(second), Op::Slice(first)) = (&node.op, &inner.op) else { return None };
    let axes = 0..first.starts.len();
    let scaled = |by: &[Dim], axis: usize| by[axis].clone() * first.steps[axis].clone();
    let starts = axes.clone().map(|a| first.starts[a].clone() + scaled(&second.starts, a)).collect();
    let steps = axes.map(|a| scaled(&second.steps, a)).collect();
    Rewrite::node(Slice { starts, sizes: second.sizes.clone(), steps }, inner.inputs.clone(), vec![id])
}

/// A conversion that loses nothing can be skipped by the next one.
fn cast_of_cast(graph: &Graph, node: &Node) -> Option<Rewrite> {
    let (id, inner) = before(graph, node)?;
    let (Op::Cast(second), Op::Cast(first)) = (&node.op, &inner.op) else { return None };
    let from = graph.ty(inner.inputs[0]).as_tensor()?.dtype;
    // Integers wrap where floats saturate: the kind must not change and change back.
    let same_kind = from.is_float() == first.to.is_float() || second.to.is_float();
    let exact = keeps_all(from, first.to) && same_kind && second.to != DType::String;
    exact.then(|| Rewrite::node(second.clone(), inner.inputs.clone(), vec![id]))?
}

/// Whether every value of `from` is one of `to`.
fn keeps_all(from: DType, to: DType) -> bool {
    if from == DType::String || to == DType::String || from.is_complex() || to.is_complex() {
        return false;
    }
    // (digits of the significand, smallest and largest exponent) of the floats that are wider than others.
    let format = |d: DType| match d {
        DType::F64 => Some((53, -1074, 1024)),
        DType::F32 => Some((24, -149, 128)),
        DType::F16 => Some((11, -24, 16)),
        DType::BF16 => Some((8, -133, 128)),
        _ => None,
    };
    match (from.is_float(), to.is_float()) {
        (true, true) => match (format(from), format(to)) {
            (Some(a), Some(b)) => a.0 <= b.0 && a.1 >= b.1 && a.2 <= b.2,
            (None, Some(_)) => matches!(to, DType::F32 | DType::F64),
            _ => from == to,
        },
        (false, true) => format(to).is_some_and(|(digits, ..)| from.bits() <= digits),
        (false, false) => match (from.int_range(), to.int_range()) {
            (Some(a), Some(b)) => b.0 <= a.0 && a.1 <= b.1,
            _ => false,
        },
        (true, false) => false,
    }
}

/// Axes of extent 1 may stand anywhere.
fn transpose_is_reshape(graph: &Graph, node: &Node) -> Option<Rewrite> {
    let Op::Transpose(op) = &node.op else { return None };
    let x = graph.ty(node.inputs[0]).as_tensor()?;
    let moved: Vec<usize> = op.perm.iter().copied().filter(|a| !x.shape[*a].is_const(1)).collect();
    moved.is_sorted().then(|| as_reshape(graph, node))?
}

fn broadcast_is_reshape(graph: &Graph, node: &Node) -> Option<Rewrite> {
    let Op::Broadcast(op) = &node.op else { return None };
    let x = graph.ty(node.inputs[0]).as_tensor()?;
    let (added, kept) = op.dims.split_at(op.dims.len() - x.rank());
    (kept == x.shape && added.iter().all(|d| d.is_const(1))).then(|| as_reshape(graph, node))?
}

/// A reshape to the type that the node has.
fn as_reshape(graph: &Graph, node: &Node) -> Option<Rewrite> {
    let dims = graph.ty(node.outputs[0]).as_tensor()?.shape.clone();
    Rewrite::node(Reshape { dims }, node.inputs.clone(), vec![])
}

/// Where another operand gives the shape, broadcasting one explicitly is of no use.
fn elementwise_of_broadcast(graph: &Graph, node: &Node) -> Option<Rewrite> {
    if !node.op.is_elementwise() || node.inputs.len() < 2 {
        return None;
    }
    let (mut inputs, mut through) = (node.inputs.clone(), Vec::new());
    for i in 0..inputs.len() {
        let Some((id, inner)) = source(graph, inputs[i]) else { continue };
        if !matches!(inner.op, Op::Broadcast(_)) {
            continue;
        }
        let mut tried = inputs.clone();
        tried[i] = inner.inputs[0];
        if covered(graph, &tried, graph.ty(node.outputs[0])) {
            inputs = tried;
            through.push(id);
        }
    }
    (!through.is_empty()).then(|| Rewrite::node(node.op.clone(), inputs, through))?
}

/// Whether each axis of the output has its extent from some operand, so that the others need no broadcast.
fn covered(graph: &Graph, inputs: &[ValueId], out: &Type) -> bool {
    let Some(out) = out.as_tensor() else { return false };
    (0..out.rank()).all(|back| {
        let extent = &out.shape[out.rank() - 1 - back];
        inputs.iter().any(|v| {
            let shape = graph.ty(*v).as_tensor().map(|t| &t.shape[..]).unwrap_or_default();
            shape.len().checked_sub(back + 1).is_some_and(|axis| shape[axis] == *extent)
        })
    })
}
