//! Operators as kernels: the one place where an operator's loop nest is described.
//!
//! [`describe`] gives the kernel of a node, or says that the node isn't one: a view, control flow, or work of the
//! runtime's own library. Compositions of kernels are in
//! [`compose`], [`rows`] and [`results`]; which of them pay is decided by the e-graph.

mod conv;
mod elementwise;
mod indexing;
mod movement;
mod reduce;
mod top_k;
mod window;

pub mod compose;
pub mod results;
pub mod rows;
mod view;
pub mod winograd;

use crate::pass::{Changed, Context, Pass, Regions};
use tcc_ir::graph::{Graph, Node, NodeId};
use tcc_ir::kernel::{BufferId, Builder, ExprId, Kernel};
use tcc_ir::ops::KernelOp;
use tcc_ir::{DType, Diagnostic, Dim, Op, TensorType, Type};

pub use view::{contiguous, is_view, is_view_op, view_op};

pub const PASS: Pass = Pass {
    name: "kernels",
    summary: "Turn every operator that has a loop nest into a kernel.",
    required: true,
    regions: Regions::InnerFirst,
    run,
};

fn run(graph: &mut Graph, _: &Context) -> Result<Changed, Diagnostic> {
    let found: Vec<(NodeId, Kernel)> = graph
        .nodes()
        .filter(|(_, node)| !is_view(graph, node))
        .filter_map(|(id, node)| Some((id, describe(graph, node)?)))
        .collect();
    let changed = Changed::when(!found.is_empty());
    for (id, kernel) in found {
        let inputs = graph.node(id).inputs.clone();
        graph.set_node(id, Op::from(KernelOp { kernel }), inputs);
    }
    Ok(changed)
}

/// The types of a node's operands and results.
pub struct Operands<'a> {
    pub ins: Vec<&'a TensorType>,
    pub outs: Vec<&'a TensorType>,
}

impl<'a> Operands<'a> {
    /// None when an operand or result isn't a tensor of numbers or bools.
    fn of(ins: impl IntoIterator<Item = &'a Type>, outs: impl IntoIterator<Item = &'a Type>) -> Option<Self> {
        let numeric =
            |ty: &'a Type| ty.as_tensor().filter(|t| t.dtype != DType::String && !t.dtype.is_complex());
        Some(Operands {
            ins: ins.into_iter().map(numeric).collect::<Option<_>>()?,
            outs: outs.into_iter().map(numeric).collect::<Option<_>>()?,
        })
    }
}

/// The kernel that computes a node, with its operands in the node's order. None for what isn't a kernel.
pub fn describe(graph: &Graph, node: &Node) -> Option<Kernel> {
    let ty = |v: &tcc_ir::ValueId| graph.ty(*v);
    describe_op(&node.op, node.inputs.iter().map(ty), node.outputs.iter().map(ty))
}

/// As [`describe`], of an operator with these types of operands and results.
pub fn describe_op<'a>(
    op: &Op,
    ins: impl IntoIterator<Item = &'a Type>,
    outs: impl IntoIterator<Item = &'a Type>,
) -> Option<Kernel> {
    let io = Operands::of(ins, outs)?;
    match op {
        Op::Unary(op) => Some(elementwise::map(&io, op.kind.name(), |b, v| b.unary(op.kind, v[0]))),
        Op::Binary(op) => Some(elementwise::map(&io, op.kind.name(), |b, v| b.binary(op.kind, v[0], v[1]))),
        Op::Compare(op) => Some(elementwise::map(&io, op.cmp.name(), |b, v| b.compare(op.cmp, v[0], v[1]))),
        Op::Select(_) => Some(elementwise::map(&io, "select", |b, v| b.select(v[0], v[1], v[2]))),
        Op::Cast(op) => Some(elementwise::cast(&io, op)),
        Op::Bitcast(op) => {
            Some(elementwise::map(&io, "bitcast", |b, v| elementwise::bitcast(b, op.to, v[0])))
        }
        Op::Sizes(op) => Some(elementwise::sizes(&io, op)),
        Op::Iota(op) => Some(movement::iota(&io, op)),
        Op::Broadcast(_) => Some(elementwise::map(&io, "broadcast", |_, v| v[0])),
        Op::Transpose(op) => Some(movement::transpose(&io, op)),
        Op::Slice(op) => Some(movement::slice(&io, op)),
        Op::Pad(op) => Some(movement::pad(&io, op)),
        Op::Concat(op) => Some(movement::concat(&io, op)),
        Op::Gather(op) => Some(indexing::gather(&io, op)),
        Op::GatherElements(op) => Some(indexing::gather_elements(&io, op)),
        Op::GatherNd(op) => Some(indexing::gather_nd(&io, op)),
        Op::ScatterElements(op) => Some(indexing::scatter_elements(&io, op)),
        Op::ScatterNd(op) => Some(indexing::scatter_nd(&io, op)),
        Op::Reduce(op) => Some(reduce::reduce(&io, op)),
        Op::ArgReduce(op) => Some(reduce::arg_reduce(&io, op)),
        Op::Cumulative(op) => Some(reduce::cumulative(&io, op)),
        Op::TopK(op) => top_k::top_k(&io, op),
        Op::Contract(op) => Some(reduce::contract(&io, op)),
        Op::Conv(op) => Some(conv::conv(&io, op)),
        Op::ConvTranspose(op) => Some(conv::conv_transpose(&io, op)),
        Op::Window(op) => Some(window::window(&io, op)),
        // Views, constants, and kernels already.
        Op::Constant(_) | Op::Reshape(_) | Op::KernelOp(_) => None,
        // Control flow.
        Op::If(_) | Op::Loop(_) => None,
        // The runtime's library: sizes or contents that only the data decides.
        _ => None,
    }
}

/// Index of an operand that is broadcast to a result, given the position in the result.
///
/// Where it can't be told whether an extent is 1 or the result's, the position is cut off at the operand's end,
/// which is right for both.
pub fn broadcast_index(b: &mut Builder, from: &[Dim], to: &[Dim], at: &[ExprId]) -> Vec<ExprId> {
    let lead = to.len() - from.len();
    from.iter()
        .enumerate()
        .map(|(i, n)| match n {
            n if *n == to[lead + i] => at[lead + i],
            n if n.is_const(1) => b.int(0),
            n => {
                let last = n.clone() - 1.into();
                let last = b.dim(&last);
                b.binary(tcc_ir::ops::BinaryKind::Min, at[lead + i], last)
            }
        })
        .collect()
}

/// Declares a node's operands as buffers.
fn buffers(b: &mut Builder, io: &Operands) -> (Vec<BufferId>, Vec<BufferId>) {
    (io.ins.iter().map(|t| b.input(t)).collect(), io.outs.iter().map(|t| b.output(t)).collect())
}

/// The type that sums and products of elements are accumulated in.
fn accumulator(dtype: DType) -> DType {
    if dtype.is_float() && dtype != DType::F64 { DType::F32 } else { dtype }
}
