//! Loops that aren't any.

use crate::attempt::attempt_each;
use crate::inline_if::{replace, splice_checked};
use crate::pass::{Changed, Context, Pass, Regions};
use tcc_ir::ops::{Constant, Loop, Reshape};
use tcc_ir::{DType, Diagnostic, Dim, Graph, Node, NodeId, Op, Tensor, ValueId};

pub const PASS: Pass = Pass {
    name: "inline-loop",
    summary: "Replace a `loop` of one iteration by its body.",
    required: false,
    regions: Regions::InnerFirst,
    run,
};

fn run(graph: &mut Graph, _: &Context) -> Result<Changed, Diagnostic> {
    Ok(attempt_each(graph, |op| matches!(op, Op::Loop(_)), inline))
}

fn inline(graph: &mut Graph, id: NodeId) -> bool {
    let Node { op: Op::Loop(op), inputs, loc, .. } = graph.node(id).clone() else { return false };
    let Loop { body, n_carried, has_trip, has_cond } = op;
    let is = |graph: &Graph, control: usize, wanted: i128| {
        graph.constant_of(inputs[control]).is_some_and(|c| c.ints().first() == Some(&wanted))
    };
    let begins = !has_cond || is(graph, usize::from(has_trip), 1);
    if !(has_trip && is(graph, 0, 1) && begins) {
        return false;
    }
    let mut scalar = |dtype: DType, value: i128| {
        let op = Constant { value: Tensor::scalar_int(dtype, value) };
        graph.insert(id, op, &[], &loc).expect("a constant fits")[0]
    };
    let mut args = vec![scalar(DType::I64, 0), scalar(DType::Bool, 1)];
    args.extend_from_slice(&inputs[1 + usize::from(has_cond)..]);
    let Some(outputs) = splice_checked(graph, id, &body, &args) else { return false };
    // After the next condition come the carried values, then what is stacked: as many as there are iterations.
    let results: Option<Vec<ValueId>> = outputs[1..]
        .iter()
        .enumerate()
        .map(|(at, value)| if at < n_carried { Some(*value) } else { alone_in_a_stack(graph, id, *value) })
        .collect();
    results.is_some_and(|results| replace(graph, id, &results))
}

/// A value with a new first axis of extent 1.
fn alone_in_a_stack(graph: &mut Graph, before: NodeId, value: ValueId) -> Option<ValueId> {
    let shape = &graph.ty(value).as_tensor()?.shape;
    let dims = std::iter::once(Dim::from(1)).chain(shape.iter().cloned()).collect();
    let loc = graph.node(before).loc.clone();
    Some(graph.insert(before, Reshape { dims }, &[value], &loc).ok()?[0])
}
