//! Constant folding with the reference evaluator, and sizes that are known symbolically.

use crate::attempt::attempt;
use crate::cse::is_random;
use crate::pass::{Changed, Context, Pass, Regions};
use tcc_ir::graph::SymbolSource;
use tcc_ir::ops::{Constant, Sizes};
use tcc_ir::tensor::n_elements;
use tcc_ir::{
    DType, Diagnostic, Dim, EvalCx, EvalError, Graph, Node, NodeId, Op, Tensor, Type, Value, ValueId,
};

pub const PASS: Pass = Pass {
    name: "fold",
    summary: "Evaluate nodes whose operands are constants, and integer tensors whose elements are known sizes.",
    required: false,
    regions: Regions::InnerFirst,
    run,
};

/// Where no rule looks for integers of few bits any more.
pub const WIDEN: Pass = Pass {
    name: "fold-widened",
    summary: "Evaluate nodes whose operands are constants, also those that widen many integers of 8 bits, which `fold` leaves.",
    required: false,
    regions: Regions::InnerFirst,
    run: widen,
};

/// What folding may cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FoldLimits {
    /// Elements read and written by the evaluator, for one application of the pass.
    pub steps: u64,
    /// Or so many times all elements of the graph's constants, if that is more: rewriting changes large weights too.
    pub passes: u64,
    /// Results up to this size are always worth keeping.
    pub small_bytes: u64,
    /// The same for integers of 8 bits that are widened.
    pub widened_bytes: u64,
    /// Larger ones only when they take the place of operands at least as large (products: a quarter as large), and up to this.
    pub large_bytes: u64,
}

impl Default for FoldLimits {
    fn default() -> Self {
        FoldLimits {
            steps: 1 << 26,
            passes: 64,
            small_bytes: 1 << 16,
            widened_bytes: 1 << 16,
            large_bytes: 1 << 28,
        }
    }
}

/// Results of operators that kernels compute for nothing are kept up to this size only.
pub(crate) const FREE_BYTES: u64 = 1 << 10;

fn run(graph: &mut Graph, cx: &Context) -> Result<Changed, Diagnostic> {
    fold_within(
        graph,
        FoldLimits { widened_bytes: FREE_BYTES.min(cx.options.fold.small_bytes), ..cx.options.fold },
    )
}

fn widen(graph: &mut Graph, cx: &Context) -> Result<Changed, Diagnostic> {
    fold_within(graph, cx.options.fold)
}

fn fold_within(graph: &mut Graph, mut limits: FoldLimits) -> Result<Changed, Diagnostic> {
    // Mostly all goes well; if not, step by step.
    limits.steps = limits.steps.max(limits.passes.saturating_mul(n_constants(graph)));
    let at_once = attempt(graph, |graph| fold_all(graph, limits, &mut |graph, edit| Some(edit(graph))));
    let changed = at_once.unwrap_or_else(|| fold_all(graph, limits, &mut |graph, edit| attempt(graph, edit)));
    Ok(Changed::when(changed))
}

/// Elements of all constants.
fn n_constants(graph: &Graph) -> u64 {
    let elements = graph.nodes().map(|(_, node)| match &node.op {
        Op::Constant(c) => c.value.n_elements() as u64,
        _ => 0,
    });
    elements.sum()
}

/// Makes an edit, now or on trial.
type Apply = dyn FnMut(&mut Graph, &mut dyn FnMut(&mut Graph) -> bool) -> Option<bool>;

fn fold_all(graph: &mut Graph, limits: FoldLimits, apply: &mut Apply) -> bool {
    let ids: Vec<NodeId> = graph.nodes().map(|(id, _)| id).collect();
    let mut fold = Fold { uses: graph.use_counts(), limits };
    let mut changed = false;
    for id in ids {
        let Some(ops) = fold.node(graph, id) else { continue };
        let outputs = graph.node(id).outputs.clone();
        let done = apply(graph, &mut |graph| {
            let loc = graph.node(id).loc.clone();
            for (old, op) in outputs.iter().zip(&ops) {
                let new = graph.insert(id, op.clone(), &[], &loc).expect("constants need nothing")[0];
                graph.replace_uses(*old, new);
            }
            graph.erase(id);
            true
        });
        if done == Some(true) {
            let first_new = graph.n_values() - outputs.len();
            fold.uses.resize(graph.n_values(), 0);
            for (i, old) in outputs.iter().enumerate() {
                fold.uses[first_new + i] = fold.uses[old.0 as usize];
            }
            changed = true;
        }
    }
    changed
}

struct Fold {
    uses: Vec<usize>,
    limits: FoldLimits,
}

impl Fold {
    /// What to put in the place of each output of a node. None also when evaluation fails: such an error belongs to
    /// the run, and only to one that gets there. Nodes with run-time checks stay, because of the checks.
    fn node(&mut self, graph: &Graph, id: NodeId) -> Option<Vec<Op>> {
        let node = graph.node(id);
        let mut regions = false;
        node.op.visit_graphs(&mut |_| regions = true);
        let fixed = matches!(node.op, Op::Constant(_) | Op::KernelOp(_));
        if fixed || regions || is_random(&node.op) || !node.checks.is_empty() {
            return None;
        }
        if let Some(op) = known_elems(graph, node) {
            return (!matches!(op, Op::Sizes(_)) || !matches!(node.op, Op::Sizes(_))).then(|| vec![op]);
        }
        if matches!(node.op, Op::Sizes(_)) {
            return None;
        }
        let outs = self.evaluate(graph, node)?;
        self.worth_keeping(graph, node, &outs)
            .then(|| outs.into_iter().map(|value| Constant { value }.into()).collect())
    }

    fn evaluate(&mut self, graph: &Graph, node: &Node) -> Option<Vec<Tensor>> {
        let ins: Vec<Tensor> = node.inputs.iter().map(|v| self.operand(graph, *v)).collect::<Option<_>>()?;
        let types: Vec<Type> = node.outputs.iter().map(|v| graph.ty(*v).clone()).collect();
        self.limits.steps = self.limits.steps.checked_sub(steps(node, &ins, &types)?)?;
        let ins: Vec<Value> = ins.into_iter().map(Value::Tensor).collect();
        let no_region = |_: &Graph, _: &[Value]| Err(EvalError::new("a region"));
        let outs = node.op.eval(&EvalCx::new(&|_| None, &types, &no_region), &ins).ok()?;
        let outs = outs.into_iter().zip(&types).map(|(out, ty)| match out {
            Value::Tensor(t) if agrees(&t, ty) => Some(t),
            _ => None,
        });
        outs.collect()
    }

    /// A constant operand, or one that is a constant but for an operator that isn't folded because it is free.
    fn operand(&mut self, graph: &Graph, value: ValueId) -> Option<Tensor> {
        if let Some(constant) = graph.constant_of(value) {
            return Some(constant.clone());
        }
        let (_, node) = graph.producer(value)?;
        if !is_free(&node.op) || !node.checks.is_empty() {
            return None;
        }
        self.evaluate(graph, node)?.pop()
    }

    fn worth_keeping(&self, graph: &Graph, node: &Node, outs: &[Tensor]) -> bool {
        let made: u64 = outs.iter().map(n_bytes).sum();
        if is_free(&node.op) {
            return made <= FREE_BYTES;
        }
        let ty = |v: &ValueId| graph.ty(*v);
        if widens(&node.op, node.inputs.iter().map(ty), node.outputs.iter().map(ty)) {
            return made <= self.limits.widened_bytes;
        }
        // Operands that nothing else uses go when the result comes.
        let only_here = |v: &&ValueId| self.uses[v.0 as usize] == 1;
        let freed: u64 =
            node.inputs.iter().filter(only_here).filter_map(|v| graph.constant_of(*v)).map(n_bytes).sum();
        made <= self.limits.small_bytes || made <= room(&node.op, freed).min(self.limits.large_bytes)
    }
}

/// Bytes that a result may have in the place of operands of so many. Products take longer than reading them does.
pub(crate) fn room(op: &Op, freed: u64) -> u64 {
    if matches!(op, Op::Contract(_)) { freed.saturating_mul(4) } else { freed }
}

/// Operators whose results kernels make up as they go instead of loading them.
pub(crate) fn is_free(op: &Op) -> bool {
    matches!(op.name(), "broadcast" | "iota")
}

/// Whether an operator widens integers of 8 bits, as they are in the weights of quantized models: rules make products of
/// integers of those. What runs along one axis are zero points.
pub(crate) fn widens<'t>(
    op: &Op,
    ins: impl IntoIterator<Item = &'t Type>,
    outs: impl IntoIterator<Item = &'t Type>,
) -> bool {
    let narrow = ins.into_iter().next().and_then(Type::as_tensor).is_some_and(|t| {
        matches!(t.dtype, DType::I8 | DType::U8) && t.shape.iter().filter(|d| !d.is_const(1)).count() > 1
    });
    let wide = outs.into_iter().next().and_then(Type::as_tensor).is_some_and(|t| t.dtype.size() > 1);
    matches!(op, Op::Cast(_)) && narrow && wide
}

/// The node's only output as a constant or `sizes`, when all its elements are known.
fn known_elems(graph: &Graph, node: &Node) -> Option<Op> {
    let [out] = node.outputs[..] else { return None };
    let elems = graph.value(out).elems.as_ref()?;
    let ty = graph.ty(out).as_tensor()?;
    let shape = ty.static_shape()?;
    if let Some(values) = elems.iter().map(Dim::as_const).collect::<Option<Vec<i64>>>() {
        let value = Tensor::from_ints(ty.dtype, shape, values.into_iter().map(i128::from));
        return Some(Constant { value }.into());
    }
    // Elements of narrow types wrap, sizes don't: these agree only where nothing has been wrapped on the way.
    let wide = matches!(ty.dtype, DType::I64 | DType::U64 | DType::I32 | DType::U32 | DType::Bool);
    let mut own = false;
    for elem in elems {
        elem.visit_symbols(&mut |s| {
            own |= matches!(graph.symbol_source(s), Some(SymbolSource::Elem { value, .. }) if value == out);
        });
    }
    (wide && !own).then(|| Sizes { dtype: ty.dtype, shape, elems: elems.clone() }.into())
}

/// A bound on the elements that evaluation reads and writes; None beyond all limits.
fn steps(node: &Node, ins: &[Tensor], outs: &[Type]) -> Option<u64> {
    let read = ins.iter().map(|t| t.n_elements() as u64).sum::<u64>();
    // Sizes that aren't known before the evaluation are those of selections: not larger than the operands.
    let written = outs
        .iter()
        .map(|ty| match ty.as_tensor()?.static_shape() {
            // The indices along an axis are listed, even where there are no elements.
            Some(shape) => u64::try_from(shape.iter().copied().fold(n_elements(&shape)?, usize::max)).ok(),
            None => Some(read),
        })
        .sum::<Option<u64>>()?;
    let each = per_output(node, ins)?;
    written.checked_mul(each)?.checked_add(read)
}

/// Elements that go into one element of the output; None for operators whose work isn't bounded by their operands.
fn per_output(node: &Node, ins: &[Tensor]) -> Option<u64> {
    let product = |extents: &[usize]| u64::try_from(n_elements(extents)?).ok();
    match &node.op {
        Op::Contract(op) => product(&op.lhs.iter().map(|a| ins[0].shape()[*a]).collect::<Vec<_>>()),
        Op::Conv(_) => product(&ins[1].shape()[1..]),
        Op::ConvTranspose(_) => product(ins[1].shape()),
        Op::Window(op) => product(&op.window),
        Op::Nms(_) | Op::Unique(_) => None,
        _ => Some(1),
    }
}

fn n_bytes(t: &Tensor) -> u64 {
    let text: usize = t.strings().iter().map(|s| s.len() + size_of::<String>()).sum();
    (t.bytes().len() + text) as u64
}

/// Whether a result is of the type that inference gave: element type, rank, and the extents that it knows.
fn agrees(t: &Tensor, ty: &Type) -> bool {
    let Some(want) = ty.as_tensor() else { return false };
    t.dtype() == want.dtype
        && t.rank() == want.rank()
        && t.shape().iter().zip(&want.shape).all(|(have, d)| d.as_const().is_none_or(|c| c == *have as i64))
}
