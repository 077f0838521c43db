//! Operators that need no kernel: their result is memory of the operand.
//!
//! As kernels they are still described: others may read through them, so that a view of what is never in memory is
//! an index expression.

use super::{Operands, buffers, movement};
use tcc_ir::graph::{Graph, Node};
use tcc_ir::kernel::{Builder, ExprId, Kernel};
use tcc_ir::ops::Slice;
use tcc_ir::{Dim, Op, TensorType, Type};

/// Whether a node's result is memory of its operand.
pub fn is_view(graph: &Graph, node: &Node) -> bool {
    node.inputs.first().is_some_and(|x| is_view_op(&node.op, graph.ty(*x)))
}

/// As [`is_view`], of an operator with a first operand of this type.
pub fn is_view_op(op: &Op, x: &Type) -> bool {
    match op {
        Op::Reshape(_) => true,
        Op::Slice(slice) => x.as_tensor().is_some_and(|from| contiguous(slice, from).is_some()),
        _ => false,
    }
}

/// The element at which a slice begins, if it is one stretch of memory: along one axis it takes a part, along those
/// further in everything, and along those further out one place.
pub fn contiguous(op: &Slice, from: &TensorType) -> Option<Dim> {
    let one = |d: &Dim| d.is_const(1);
    let partial = op.sizes.iter().position(|n| !one(n)).unwrap_or(op.sizes.len());
    let whole = |axis: usize| op.sizes[axis] == from.shape[axis] && op.starts[axis].is_const(0);
    let in_order = |axis: usize| one(&op.steps[axis]);
    let fits = (partial..op.sizes.len()).all(|axis| in_order(axis) && (axis == partial || whole(axis)));
    if !fits {
        return None;
    }
    let stride = |axis: usize| Dim::product(from.shape[axis + 1..].iter().cloned());
    Some(Dim::sum((0..op.sizes.len()).map(|axis| op.starts[axis].clone() * stride(axis))))
}

/// The kernel that copies what a view shows, if its places are sums of positions: axes that are joined into one
/// would be divided out again for each element.
pub fn view_op(op: &Op, x: &Type, out: &Type) -> Option<Kernel> {
    let io = Operands::of([x], [out])?;
    match op {
        Op::Slice(op) => Some(movement::slice(&io, op)),
        Op::Reshape(_) => reshape(&io),
        _ => None,
    }
}

fn reshape(io: &Operands) -> Option<Kernel> {
    let (from, to) = (&io.ins[0].shape, &io.outs[0].shape);
    let parts = split(from, to)?;
    let mut b = Builder::new("reshape");
    let (ins, outs) = buffers(&mut b, io);
    let axes = b.axes(to);
    let at = b.all(&axes);
    let mut index: Vec<ExprId> = Vec::with_capacity(from.len());
    for part in parts {
        let mut place = None;
        for axis in part {
            place = Some(match place {
                None => at[axis],
                Some(outer) => {
                    let n = b.dim(&to[axis]);
                    let outer = b.mul(outer, n);
                    b.add(outer, at[axis])
                }
            });
        }
        index.push(place.unwrap_or_else(|| b.int(0)));
    }
    let v = b.load(ins[0], index);
    b.map_stage(axes, outs[0], at, v);
    Some(b.finish())
}

/// The axes of a reshaped tensor that each axis before is split into. None when axes are joined.
fn split(from: &[Dim], to: &[Dim]) -> Option<Vec<Vec<usize>>> {
    let mut rest = (0..to.len()).filter(|axis| !to[*axis].is_const(1)).peekable();
    let mut parts = Vec::with_capacity(from.len());
    for n in from {
        let (mut part, mut product) = (Vec::new(), Dim::from(1));
        while product != *n {
            let axis = rest.next()?;
            product = product * to[axis].clone();
            part.push(axis);
        }
        parts.push(part);
    }
    rest.peek().is_none().then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tcc_ir::DType;

    fn dims(extents: &[i64]) -> Vec<Dim> {
        extents.iter().map(|n| Dim::from(*n)).collect()
    }

    #[test]
    fn axes_are_split_and_not_joined() {
        assert_eq!(split(&dims(&[2, 12]), &dims(&[1, 2, 3, 4])), Some(vec![vec![1], vec![2, 3]]));
        assert_eq!(split(&dims(&[2, 1, 12]), &dims(&[2, 12, 1])), Some(vec![vec![0], vec![], vec![1]]));
        assert_eq!(split(&dims(&[2, 6]), &dims(&[4, 3])), None);
        assert_eq!(split(&dims(&[2, 6]), &dims(&[12])), None);
        assert_eq!(split(&dims(&[0, 6]), &dims(&[6, 0])), None);
    }

    #[test]
    fn stretches_of_memory() {
        let slice = |starts: &[i64], sizes: &[i64], steps: &[i64]| Slice {
            starts: dims(starts),
            sizes: dims(sizes),
            steps: dims(steps),
        };
        let from = TensorType::new(DType::F32, dims(&[4, 5, 6]));
        let place = |op: Slice| contiguous(&op, &from).and_then(|d| d.as_const());
        assert_eq!(place(slice(&[1, 0, 0], &[2, 5, 6], &[1, 1, 1])), Some(30));
        assert_eq!(place(slice(&[3, 2, 0], &[1, 2, 6], &[-1, 1, 1])), Some(102));
        assert_eq!(place(slice(&[3, 2, 5], &[1, 1, 1], &[1, 1, 1])), Some(107));
        assert_eq!(place(slice(&[0, 0, 1], &[4, 5, 2], &[1, 1, 1])), None);
        assert_eq!(place(slice(&[0, 0, 0], &[2, 5, 6], &[2, 1, 1])), None);
        assert_eq!(place(slice(&[0, 1, 0], &[2, 4, 6], &[1, 1, 1])), None);
    }
}
