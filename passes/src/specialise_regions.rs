//! What bodies of `if` and `loop` know of the graph around them, and what of them nobody needs.

use crate::attempt::attempt_each;
use crate::pass::{Changed, Context, Pass, Regions};
use tcc_ir::graph::SymbolSource;
use tcc_ir::ops::{If, Loop};
use tcc_ir::{Diagnostic, Graph, Loc, NodeId, Op, ValueId};

pub const PASS: Pass = Pass {
    name: "specialise-regions",
    summary: "Move constants and known sizes into regions; remove operands and results without use.",
    required: false,
    regions: Regions::OuterFirst,
    run,
};

fn run(graph: &mut Graph, _: &Context) -> Result<Changed, Diagnostic> {
    Ok(attempt_each(
        graph,
        |op| !regions_of(op).is_empty(),
        |graph, id| {
            let informed = inform(graph, id);
            let smaller = drop_captures(graph, id) | drop_results(graph, id);
            informed | smaller
        },
    ))
}

/// Tells the regions of a node what is known of the values they capture.
fn inform(graph: &mut Graph, id: NodeId) -> bool {
    let (mut op, inputs) = (graph.node(id).op.clone(), graph.node(id).inputs.clone());
    let mut better = false;
    for (operand, input) in captures(&op, &inputs) {
        let info = graph.value(inputs[operand]);
        // Operators that need nothing can be had on the inside too.
        let source = graph.producer(inputs[operand]).map(|(_, node)| &node.op);
        let copied = source.filter(|op| matches!(op, Op::Constant(_) | Op::Sizes(_)));
        op.visit_graphs_mut(&mut |region| {
            let inside = region.inputs()[input];
            if let Some(tensor) = info.ty.as_tensor() {
                better |= region.bind_input_extents(input, &tensor.shape);
            }
            if let Some(elems) = &info.elems
                && region.value(inside).elems.as_ref() != Some(elems)
            {
                region.set_elems(inside, Some(elems.clone()));
                better = true;
            }
            if let Some(source) = copied
                && is_used(region, inside)
            {
                better |= copy_inside(region, inside, source);
            }
        });
    }
    graph.set_node(id, op, inputs);
    better
}

fn copy_inside(region: &mut Graph, inside: ValueId, source: &Op) -> bool {
    let first = region.nodes().next().map(|(id, _)| id);
    let copy = match first {
        Some(first) => region.insert(first, source.clone(), &[], &Loc::default()),
        None => region.add(source.clone(), &[], &Loc::default()),
    };
    let copy = copy.expect("the operator needs nothing")[0];
    region.replace_uses(inside, copy);
    true
}

/// Removes captures that no region uses.
fn drop_captures(graph: &mut Graph, id: NodeId) -> bool {
    let (mut op, mut inputs) = (graph.node(id).op.clone(), graph.node(id).inputs.clone());
    let unused: Vec<(usize, usize)> = captures(&op, &inputs)
        .into_iter()
        .filter(|(_, input)| regions_of(&op).iter().all(|region| !is_used(region, region.inputs()[*input])))
        .collect();
    for (operand, input) in unused.iter().rev() {
        op.visit_graphs_mut(&mut |region| region.remove_input(*input));
        inputs.remove(*operand);
    }
    graph.set_node(id, op, inputs);
    !unused.is_empty()
}

/// Removes results that nothing uses: those of branches, and what a loop stacks. Carried values stay.
fn drop_results(graph: &mut Graph, id: NodeId) -> bool {
    let (first, before) = match &graph.node(id).op {
        Op::If(_) => (0, 0),
        // The first output of a body is the condition.
        Op::Loop(op) => (op.n_carried, 1),
        _ => return false,
    };
    let uses = graph.use_counts();
    let outputs = graph.node(id).outputs.clone();
    let unused: Vec<usize> = (first..outputs.len()).filter(|i| uses[outputs[*i].0 as usize] == 0).collect();
    // A node without results is dead, and another pass removes it.
    if unused.is_empty() || unused.len() == outputs.len() {
        return false;
    }
    let (mut op, inputs) = (graph.node(id).op.clone(), graph.node(id).inputs.clone());
    for output in unused.iter().rev() {
        op.visit_graphs_mut(&mut |region| {
            let named = region.outputs().iter().copied().zip(region.output_names().to_vec());
            let mut kept: Vec<(ValueId, String)> = named.collect();
            kept.remove(before + output);
            region.set_outputs(kept);
        });
        graph.remove_node_output(id, *output);
    }
    graph.set_node(id, op, inputs);
    true
}

/// The captured values of a node with regions: (operand of the node, input of each of its regions).
fn captures(op: &Op, inputs: &[ValueId]) -> Vec<(usize, usize)> {
    match op {
        Op::If(If { .. }) => (1..inputs.len()).map(|operand| (operand, operand - 1)).collect(),
        Op::Loop(Loop { n_carried, has_trip, has_cond, .. }) => {
            let controls = usize::from(*has_trip) + usize::from(*has_cond);
            // The body begins with iteration and condition, whatever controls the loop has.
            (controls + n_carried..inputs.len()).map(|operand| (operand, operand - controls + 2)).collect()
        }
        _ => Vec::new(),
    }
}

fn regions_of(op: &Op) -> Vec<&Graph> {
    let mut regions = Vec::new();
    op.visit_graphs(&mut |region| regions.push(region));
    regions
}

fn is_used(region: &Graph, value: ValueId) -> bool {
    let extent_is_read = region.symbols().iter().any(
        |(_, source)| matches!(source, SymbolSource::Input { input, .. } if region.inputs()[*input] == value),
    );
    extent_is_read || region.use_counts()[value.0 as usize] > 0
}
