//! Grouping into kernels: every operator that has a loop nest becomes a kernel, then maps are taken into what
//! reads them and into what they read.
//!
//! This is the seam of equality saturation: a pass that chooses groups by cost replaces `group`, on the same
//! compositions.

use crate::kernels::compose::{Bound, append_consumer, inline_producer, is_map};
use crate::kernels::describe;
use crate::pass::{Changed, Context, Pass, Regions};
use indexmap::IndexMap;
use tcc_ir::graph::{Graph, NodeId, ValueId};
use tcc_ir::kernel::Scalar;
use tcc_ir::ops::KernelOp;
use tcc_ir::{Diagnostic, Op};

pub const KERNELS: Pass = Pass {
    name: "kernels",
    summary: "Turn every operator that has a loop nest into a kernel.",
    required: true,
    regions: Regions::InnerFirst,
    run: kernels,
};

pub const PASS: Pass = Pass {
    name: "fuse",
    summary: "Compose kernels: maps into their consumers, and into the stores of their producers.",
    required: false,
    regions: Regions::InnerFirst,
    run: group,
};

fn kernels(graph: &mut Graph, _cx: &Context) -> Result<Changed, Diagnostic> {
    let found: Vec<(NodeId, tcc_ir::kernel::Kernel, Vec<ValueId>)> = graph
        .nodes()
        .filter_map(|(id, node)| describe(graph, node).map(|k| (id, k, node.inputs.clone())))
        .collect();
    let changed = Changed::when(!found.is_empty());
    for (id, kernel, inputs) in found {
        graph.set_node(id, Op::from(KernelOp { kernel }), inputs);
    }
    Ok(changed)
}

/// Expressions beyond which a kernel takes in no more: compile time grows faster than memory traffic shrinks.
const MAX_EXPRS: usize = 400;

fn group(graph: &mut Graph, _cx: &Context) -> Result<Changed, Diagnostic> {
    let mut changed = Changed::No;
    let order: Vec<NodeId> = graph.nodes().map(|(id, _)| id).collect();
    let mut uses: IndexMap<ValueId, usize> =
        graph.use_counts().into_iter().enumerate().map(|(i, n)| (ValueId(i as u32), n)).collect();
    for id in order {
        while let Some(next) = absorb_one(graph, id, &uses) {
            changed = Changed::Yes;
            let (absorbed, bound) = next;
            let checks = graph.node(absorbed).checks.clone();
            let loc = graph.node(absorbed).loc.clone();
            for v in graph.node(absorbed).inputs.clone() {
                uses[&v] -= 1;
            }
            for v in graph.node(id).inputs.clone() {
                uses[&v] -= 1;
            }
            for v in &bound.inputs {
                uses[v] += 1;
            }
            let outputs_unused = graph.node(absorbed).outputs.iter().all(|v| uses[v] == 0);
            graph.set_node(id, Op::from(KernelOp { kernel: bound.kernel }), bound.inputs);
            graph.add_checks(id, checks);
            graph.add_loc(id, &loc);
            if outputs_unused {
                graph.erase(absorbed);
            } else {
                // Another consumer still reads it: it keeps its operands.
                for v in graph.node(absorbed).inputs.clone() {
                    uses[&v] += 1;
                }
            }
        }
    }
    Ok(changed)
}

/// A producer of `id` that can be composed with it, and the result.
fn absorb_one(
    graph: &Graph,
    id: NodeId,
    uses: &IndexMap<ValueId, usize>,
) -> Option<(NodeId, Bound<ValueId>)> {
    let consumer = bound(graph, id)?;
    consumer.inputs.iter().find_map(|value| {
        let (from, _) = graph.producer(*value)?;
        let producer = bound(graph, from)?;
        if producer.kernel.exprs.len() + consumer.kernel.exprs.len() > MAX_EXPRS {
            return None;
        }
        let single = uses[value] == 1;
        let composed = if is_map(&producer.kernel)
            && (single || is_cheap(&producer))
            && !multiplies_work(&consumer, &producer, *value)
        {
            inline_producer(&consumer, &producer, *value)
        } else if single {
            append_consumer(&producer, &consumer, *value)
        } else {
            None
        };
        composed.map(|c| (from, c))
    })
}

fn bound(graph: &Graph, id: NodeId) -> Option<Bound<ValueId>> {
    let node = graph.node(id);
    match &node.op {
        Op::KernelOp(op) => Some(Bound {
            kernel: op.kernel.clone(),
            inputs: node.inputs.clone(),
            outputs: node.outputs.clone(),
        }),
        _ => None,
    }
}

/// A map that is no more work than the load that it replaces: index arithmetic and constants.
fn is_cheap(producer: &Bound<ValueId>) -> bool {
    let loads = producer.kernel.exprs.iter().filter(|e| matches!(e, Scalar::Load { .. })).count();
    let work = producer
        .kernel
        .exprs
        .iter()
        .any(|e| matches!(e, Scalar::Unary(..) | Scalar::Select(..) | Scalar::Check { .. }));
    loads <= 1 && !work && producer.kernel.exprs.len() <= 12
}

/// Whether inlining would evaluate the producer's elements many times: the consumer accumulates over axes that its
/// load of `value` doesn't run along, or loads it more than once.
fn multiplies_work(consumer: &Bound<ValueId>, producer: &Bound<ValueId>, value: ValueId) -> bool {
    let kernel = &consumer.kernel;
    let trivial = !producer.kernel.exprs.iter().any(|e| {
        matches!(
            e,
            Scalar::Unary(..)
                | Scalar::Select(..)
                | Scalar::Check { .. }
                | Scalar::Load { guard: Some(_), .. }
        )
    });
    let at = consumer.inputs.iter().position(|v| *v == value);
    let buffer =
        at.and_then(|at| kernel.buffers_of(tcc_ir::kernel::BufferKind::Input).nth(at)).map(|(id, _)| id);
    let loads: Vec<_> = kernel
        .exprs
        .iter()
        .filter_map(|e| match e {
            Scalar::Load { buffer: b, index, .. } if Some(*b) == buffer => Some(index),
            _ => None,
        })
        .collect();
    // A contraction's operands are packed or streamed by its schedule: only index arithmetic may go into them.
    let contracts = kernel.stages.iter().any(|s| {
        s.accs
            .iter()
            .any(|a| matches!(kernel.expr(a.value), Scalar::Binary(tcc_ir::ops::BinaryKind::Mul, ..)))
    });
    if contracts {
        return !(trivial && arithmetic_free(producer));
    }
    let elements = producer.kernel.buffer(producer.kernel.stages[0].stores[0].buffer).ty.n_elements();
    loads.iter().any(|index| {
        let points = tcc_ir::Dim::product(
            kernel
                .stages
                .iter()
                .flat_map(|s| s.axes.iter().chain(&s.reduce))
                .chain(&kernel.outer)
                .map(|a| kernel.extent(*a).clone()),
        );
        let _ = index;
        kernel.stages.len() == 1 && points != elements && !trivial
    }) || (loads.len() > 1 && !trivial)
}

/// Whether a producer's value is a bare load: a movement of elements.
fn arithmetic_free(producer: &Bound<ValueId>) -> bool {
    let store = &producer.kernel.stages[0].stores[0];
    matches!(producer.kernel.expr(store.value), Scalar::Load { guard: None, .. })
}
