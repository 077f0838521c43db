//! Rules for arithmetic.

use super::{Rewrite, Rule, source};
use tcc_ir::ops::{Binary, BinaryKind, Broadcast, Compare, Unary, UnaryKind};
use tcc_ir::{Cmp, DType, Graph, Node, Op, Tensor, ValueId};

pub const RULES: &[Rule] = &[
    // An operand that changes nothing: x * 1, x - 0, max(x, -inf), x & true.
    Rule { name: "neutral-operand", apply: neutral_operand },
    // max(x, x), x & x.
    Rule { name: "binary-of-equals", apply: binary_of_equals },
    // -(-x), !!x.
    Rule { name: "twice-undone", apply: twice_undone },
    // abs(abs(x)), floor(round(x)).
    Rule { name: "twice-as-once", apply: twice_as_once },
    // abs(-x).
    Rule { name: "abs-of-neg", apply: abs_of_neg },
    // a + (-b), a - (-b).
    Rule { name: "add-of-neg", apply: add_of_neg },
    // !(a == b), and !(a < b) where there is no NaN.
    Rule { name: "not-of-compare", apply: not_of_compare },
    // c ? x : x, true ? x : y.
    Rule { name: "select-of-known", apply: select_of_known },
    // So that equal sums are found equal.
    Rule { name: "constant-on-the-right", apply: constant_on_the_right },
];

/// The one value that all elements of a constant have, as a scalar; also of a constant that is broadcast.
fn uniform(graph: &Graph, value: ValueId) -> Option<Tensor> {
    let (_, node) = source(graph, value)?;
    match &node.op {
        Op::Constant(c) => {
            let t = &c.value;
            let width = t.dtype().size();
            let same = t.dtype() != DType::String && t.n_elements() > 0 && {
                let mut elems = t.bytes().chunks_exact(width);
                let first = elems.next();
                elems.all(|e| Some(e) == first)
            };
            same.then(|| t.gather_linear(Vec::new(), [0]))
        }
        Op::Broadcast(_) => uniform(graph, node.inputs[0]),
        _ => None,
    }
}

/// Which side a neutral operand may stand on.
#[derive(PartialEq, Eq)]
enum Side {
    Both,
    Right,
}

/// Whether `kind(x, c)` is `x` for every `x`, bit for bit, and on which side `c` may stand.
fn neutral(kind: BinaryKind, c: &Tensor) -> Option<Side> {
    let dtype = c.dtype();
    if dtype.is_float() {
        // Equality of bits: 0.0 and -0.0 are different here.
        let is = |v: f64| c.floats()[0].to_bits() == v.to_bits();
        return match kind {
            BinaryKind::Mul if is(1.0) => Some(Side::Both),
            BinaryKind::Add if is(-0.0) => Some(Side::Both),
            BinaryKind::Max if is(f64::NEG_INFINITY) => Some(Side::Both),
            BinaryKind::Min if is(f64::INFINITY) => Some(Side::Both),
            BinaryKind::Sub if is(0.0) => Some(Side::Right),
            BinaryKind::Div | BinaryKind::Pow if is(1.0) => Some(Side::Right),
            _ => None,
        };
    }
    let (lo, hi) = dtype.int_range()?;
    let c = c.ints()[0];
    let ones = if dtype.is_signed_int() { -1 } else { hi };
    match kind {
        BinaryKind::Mul if c == 1 => Some(Side::Both),
        BinaryKind::Add | BinaryKind::Or | BinaryKind::Xor if c == 0 => Some(Side::Both),
        BinaryKind::And if c == ones => Some(Side::Both),
        BinaryKind::Max if c == lo => Some(Side::Both),
        BinaryKind::Min if c == hi => Some(Side::Both),
        BinaryKind::Sub | BinaryKind::Shl | BinaryKind::Shr if c == 0 => Some(Side::Right),
        BinaryKind::Div | BinaryKind::Pow if c == 1 => Some(Side::Right),
        _ => None,
    }
}

fn neutral_operand(graph: &Graph, node: &Node) -> Option<Rewrite> {
    let Op::Binary(op) = &node.op else { return None };
    let (a, b) = (node.inputs[0], node.inputs[1]);
    if uniform(graph, b).is_some_and(|c| neutral(op.kind, &c).is_some()) {
        return Some(Rewrite::Value(a));
    }
    let left = uniform(graph, a).is_some_and(|c| neutral(op.kind, &c) == Some(Side::Both));
    left.then_some(Rewrite::Value(b))
}

fn binary_of_equals(_: &Graph, node: &Node) -> Option<Rewrite> {
    let Op::Binary(op) = &node.op else { return None };
    let same = matches!(op.kind, BinaryKind::Max | BinaryKind::Min | BinaryKind::And | BinaryKind::Or);
    (same && node.inputs[0] == node.inputs[1]).then(|| Rewrite::Value(node.inputs[0]))
}

/// The function of the node and that of the node before it, with the latter's operand.
fn unary_pair(graph: &Graph, node: &Node) -> Option<(UnaryKind, UnaryKind, ValueId)> {
    let Op::Unary(second) = &node.op else { return None };
    let (_, inner) = source(graph, node.inputs[0])?;
    let Op::Unary(first) = &inner.op else { return None };
    Some((second.kind, first.kind, inner.inputs[0]))
}

fn twice_undone(graph: &Graph, node: &Node) -> Option<Rewrite> {
    let (second, first, x) = unary_pair(graph, node)?;
    let undoes = second == first && matches!(first, UnaryKind::Neg | UnaryKind::Not);
    undoes.then_some(Rewrite::Value(x))
}

fn twice_as_once(graph: &Graph, node: &Node) -> Option<Rewrite> {
    use UnaryKind::{Abs, Ceil, Floor, Round, Sign, Trunc};
    let (second, first, _) = unary_pair(graph, node)?;
    let whole = |kind| matches!(kind, Ceil | Floor | Round | Trunc);
    let same = second == first && matches!(first, Abs | Sign);
    (same || (whole(second) && whole(first))).then(|| Rewrite::Value(node.inputs[0]))
}

fn abs_of_neg(graph: &Graph, node: &Node) -> Option<Rewrite> {
    match unary_pair(graph, node)? {
        (kind @ UnaryKind::Abs, UnaryKind::Neg, x) => {
            let (id, _) = source(graph, node.inputs[0])?;
            Rewrite::node(Unary { kind }, vec![x], vec![id])
        }
        _ => None,
    }
}

fn add_of_neg(graph: &Graph, node: &Node) -> Option<Rewrite> {
    let Op::Binary(op) = &node.op else { return None };
    let kind = match op.kind {
        BinaryKind::Add => BinaryKind::Sub,
        BinaryKind::Sub => BinaryKind::Add,
        _ => return None,
    };
    let negated = |v: ValueId| match source(graph, v)? {
        (id, Node { op: Op::Unary(Unary { kind: UnaryKind::Neg }), inputs, .. }) => Some((id, inputs[0])),
        _ => None,
    };
    let (a, b) = (node.inputs[0], node.inputs[1]);
    match (negated(a), negated(b)) {
        (_, Some((id, b))) => Rewrite::node(Binary { kind }, vec![a, b], vec![id]),
        // (-a) + b is b - a; (-a) - b would need one more.
        (Some((id, a)), None) if op.kind == BinaryKind::Add => {
            Rewrite::node(Binary { kind }, vec![b, a], vec![id])
        }
        _ => None,
    }
}

fn not_of_compare(graph: &Graph, node: &Node) -> Option<Rewrite> {
    let Op::Unary(Unary { kind: UnaryKind::Not }) = &node.op else { return None };
    let (id, inner) = source(graph, node.inputs[0])?;
    let Op::Compare(Compare { cmp }) = &inner.op else { return None };
    let opposite = match cmp {
        Cmp::Eq => Cmp::Ne,
        Cmp::Ne => Cmp::Eq,
        Cmp::Lt => Cmp::Ge,
        Cmp::Le => Cmp::Gt,
        Cmp::Gt => Cmp::Le,
        Cmp::Ge => Cmp::Lt,
    };
    // NaN is neither less nor not less.
    let total = !graph.ty(inner.inputs[0]).as_tensor()?.dtype.is_float();
    (total || matches!(cmp, Cmp::Eq | Cmp::Ne))
        .then(|| Rewrite::node(Compare { cmp: opposite }, inner.inputs.clone(), vec![id]))?
}

fn select_of_known(graph: &Graph, node: &Node) -> Option<Rewrite> {
    let (Op::Select(_), [cond, a, b]) = (&node.op, &node.inputs[..]) else { return None };
    let taken = if a == b {
        *a
    } else {
        let cond = uniform(graph, *cond)?.ints()[0] != 0;
        if cond { *a } else { *b }
    };
    let out = graph.ty(node.outputs[0]);
    if graph.ty(taken) == out {
        return Some(Rewrite::Value(taken));
    }
    Rewrite::node(Broadcast { dims: out.as_tensor()?.shape.clone() }, vec![taken], vec![])
}

fn constant_on_the_right(graph: &Graph, node: &Node) -> Option<Rewrite> {
    let Op::Binary(op) = &node.op else { return None };
    let (a, b) = (node.inputs[0], node.inputs[1]);
    let swap = op.kind.is_commutative() && graph.constant_of(a).is_some() && graph.constant_of(b).is_none();
    swap.then(|| Rewrite::node(op.clone(), vec![b, a], vec![]))?
}
