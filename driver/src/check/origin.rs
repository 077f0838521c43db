//! What the outputs of a graph are made of, as far as it decides how closely they can be compared.

use tcc_ir::graph::Graph;
use tcc_ir::ops::{Constant, CumulativeKind, ReduceKind, WindowKind};
use tcc_ir::{NodeId, Op, Tensor, Value, ValueId};

/// What an output depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Numbers that are drawn: another generator gives others.
    pub random: bool,
    /// Sums of many terms, whose order and width of accumulation are the implementation's.
    pub summed: bool,
}

impl Origin {
    fn and(self, other: Origin) -> Origin {
        Origin { random: self.random || other.random, summed: self.summed || other.summed }
    }
}

/// The origin of each output, in order. Of control flow all results have the origin of everything in its bodies.
pub fn of_outputs(graph: &Graph) -> Vec<Origin> {
    let mut origins = vec![Origin::default(); graph.n_values()];
    for (_, node) in graph.nodes() {
        let inputs = node.inputs.iter().map(|input| origins[input.0 as usize]);
        let origin = inputs.fold(of_op(&node.op), Origin::and);
        for output in &node.outputs {
            origins[output.0 as usize] = origin;
        }
    }
    graph.outputs().iter().map(|output| origins[output.0 as usize]).collect()
}

fn of_op(op: &Op) -> Origin {
    let summed = match op {
        Op::Contract(_) | Op::Conv(_) | Op::ConvTranspose(_) => true,
        Op::Reduce(op) => matches!(op.kind, ReduceKind::Sum | ReduceKind::Prod),
        Op::Window(op) => op.kind == WindowKind::Sum,
        Op::Cumulative(op) => matches!(op.kind, CumulativeKind::Sum | CumulativeKind::Prod),
        _ => false,
    };
    let mut origin = Origin { random: op.is_random(), summed };
    op.visit_graphs(&mut |region| {
        origin = region.nodes().fold(origin, |origin, (_, node)| origin.and(of_op(&node.op)));
    });
    origin
}

/// The nodes of the graph itself, not of bodies, that draw numbers.
pub fn draws(graph: &Graph) -> Vec<NodeId> {
    graph.nodes().filter(|(_, node)| node.op.is_random()).map(|(id, _)| id).collect()
}

/// The graph with what the nodes of [`draws`] draw as further outputs.
pub fn with_draws_as_outputs(graph: &Graph) -> Graph {
    let mut graph = graph.clone();
    let kept = graph.outputs().iter().copied().zip(graph.output_names().iter().cloned());
    let mut outputs: Vec<(ValueId, String)> = kept.collect();
    for (number, node) in draws(&graph).into_iter().enumerate() {
        outputs.push((graph.node(node).outputs[0], format!("drawn {number}")));
    }
    graph.set_outputs(outputs);
    graph
}

/// The graph with `drawn` in the place of the nodes of [`draws`].
pub fn with_draws(graph: &Graph, drawn: &[Value]) -> Graph {
    let mut graph = graph.clone();
    for (node, value) in draws(&graph).into_iter().zip(drawn) {
        let (loc, old) = (graph.node(node).loc.clone(), graph.node(node).outputs[0]);
        let constant = Constant { value: tensor(value) };
        if let Ok(new) = graph.insert(node, constant, &[], &loc) {
            graph.replace_uses(old, new[0]);
            graph.erase(node);
        }
    }
    graph
}

fn tensor(value: &Value) -> Tensor {
    value.as_tensor().cloned().unwrap_or_else(|| Tensor::from_i64s(&[]))
}
