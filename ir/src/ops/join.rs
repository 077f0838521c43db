//! Types of values that are one of several: results of branches, loop-carried values, elements of sequences.

use crate::graph::Graph;
use crate::op::{InferCx, Mismatch};
use crate::types::{Cmp, Dim, Symbol, TensorType, Type};

/// An extent that differs between the elements of a sequence, or isn't known before an optional is looked into.
/// Stands in the type inside `Sequence` and `Optional` only; operators that take the element out give it a symbol of
/// its own.
pub fn varying() -> Dim {
    Dim::symbol(Symbol::new("_"))
}

/// Whether it is [`varying`].
pub(crate) fn is_varying(d: &Dim) -> bool {
    d.as_symbol().is_some_and(|s| &*s.name == "_")
}

/// The narrowest type that both are of; None when element types or kinds differ. `differ` gives the extent of an axis
/// where the outermost tensors differ; tensors of different rank give `Unranked`.
pub fn join(a: &Type, b: &Type, differ: &mut dyn FnMut(usize, &Dim, &Dim) -> Dim) -> Option<Type> {
    match (a, b) {
        (Type::Tensor(a), Type::Tensor(b)) if a.dtype == b.dtype => Some(if a.rank() == b.rank() {
            let pairs = a.shape.iter().zip(&b.shape).enumerate();
            Type::tensor(a.dtype, pairs.map(|(i, (x, y))| if x == y { x.clone() } else { differ(i, x, y) }))
        } else {
            Type::Unranked(a.dtype)
        }),
        (Type::Unranked(d), Type::Tensor(TensorType { dtype, .. }) | Type::Unranked(dtype))
        | (Type::Tensor(TensorType { dtype, .. }), Type::Unranked(d))
            if d == dtype =>
        {
            Some(Type::Unranked(*d))
        }
        (Type::Sequence(a), Type::Sequence(b)) => Some(Type::Sequence(Box::new(join_elements(a, b)?))),
        (Type::Optional(a), Type::Optional(b)) => Some(Type::Optional(Box::new(join_elements(a, b)?))),
        _ => None,
    }
}

/// The element type of a sequence that holds elements of both types.
pub fn join_elements(a: &Type, b: &Type) -> Option<Type> {
    join(a, b, &mut |_, _, _| varying())
}

/// As [`join_elements`], with a message for element types that don't mix.
pub(super) fn element_type(a: &Type, b: &Type) -> Result<Type, Mismatch> {
    join_elements(a, b).ok_or_else(|| Mismatch::new(format!("{a} and {b} can't be elements of one sequence")))
}

/// The type of an element taken out of a sequence or optional, as output `output` of a node: extents that vary become
/// symbols.
pub(super) fn open(cx: &mut InferCx, element: &Type, output: usize) -> Type {
    let mut ty = element.clone();
    if let Type::Tensor(t) = &mut ty {
        for (axis, d) in t.shape.iter_mut().enumerate().filter(|(_, d)| is_varying(d)) {
            *d = cx.fresh_dim(output, axis, 0, None);
        }
    }
    ty
}

/// Whether a dim mentions a symbol that only the region gives a meaning to.
pub(super) fn is_local(d: &Dim, region: &Graph) -> bool {
    let mut local = false;
    d.visit_symbols(&mut |s| local |= region.symbol_source(s).is_some());
    local
}

/// The type of a region's value as its output `output` of the node around it: extents that mean nothing outside
/// become symbols.
pub(super) fn outside(
    cx: &mut InferCx,
    ty: &Type,
    regions: &[&Graph],
    output: usize,
    first_axis: usize,
) -> Type {
    let mut ty = ty.clone();
    let local = |d: &Dim| regions.iter().any(|g| is_local(d, g));
    match &mut ty {
        Type::Tensor(t) => {
            for (axis, d) in t.shape.iter_mut().enumerate().filter(|(_, d)| local(d)) {
                *d = fresh(cx, output, first_axis + axis, d, d);
            }
        }
        nested => nested.map_dims(&mut |d| if local(d) { varying() } else { d.clone() }),
    }
    ty
}

/// A symbol for an extent that is one of two.
pub(super) fn fresh(cx: &mut InferCx, output: usize, axis: usize, a: &Dim, b: &Dim) -> Dim {
    let ((al, ah), (bl, bh)) = (a.bounds(), b.bounds());
    let lo = al.zip(bl).map_or(0, |(x, y)| x.min(y).max(0));
    cx.fresh_dim(output, axis, lo, ah.zip(bh).map(|(x, y)| x.max(y)))
}

/// Requires that a value of type `given` can be passed to a region's input of type `want`. Extents that the region
/// names itself may be anything.
pub(super) fn fits(
    cx: &mut InferCx,
    given: &Type,
    want: &Type,
    region: &Graph,
    what: &str,
) -> Result<(), Mismatch> {
    let mismatch = || Mismatch::new(format!("{what} is {given}, the region takes {want}"));
    match (given, want) {
        (Type::Tensor(g), Type::Tensor(w)) if g.dtype == w.dtype && g.rank() == w.rank() => {
            for (x, y) in g.shape.iter().zip(&w.shape).filter(|(_, y)| !is_local(y, region)) {
                cx.require(Cmp::Eq, x, y, what)?;
            }
            Ok(())
        }
        (Type::Tensor(TensorType { dtype, .. }) | Type::Unranked(dtype), Type::Unranked(w)) if dtype == w => {
            Ok(())
        }
        (Type::Sequence(g), Type::Sequence(w)) | (Type::Optional(g), Type::Optional(w))
            if holds(g, w, region) =>
        {
            Ok(())
        }
        _ => Err(mismatch()),
    }
}

/// Whether every `given` is a `want`, for types inside a sequence or optional.
fn holds(given: &Type, want: &Type, region: &Graph) -> bool {
    match (given, want) {
        (Type::Tensor(g), Type::Tensor(w)) => {
            let mut pairs = g.shape.iter().zip(&w.shape);
            let extents = pairs.all(|(x, y)| x == y || is_varying(y) || is_local(y, region));
            g.dtype == w.dtype && g.rank() == w.rank() && extents
        }
        (Type::Tensor(TensorType { dtype, .. }) | Type::Unranked(dtype), Type::Unranked(w)) => dtype == w,
        (Type::Sequence(g), Type::Sequence(w)) | (Type::Optional(g), Type::Optional(w)) => {
            holds(g, w, region)
        }
        _ => false,
    }
}

/// Whether every value of type `given` is one of type `want`, for nested types and equal extents.
pub(super) fn is_a(given: &Type, want: &Type, region: &Graph) -> bool {
    holds(given, want, region)
}

/// Requires one element of the given type: a flag or a count. Any rank will do.
pub(super) fn single(
    cx: &mut InferCx,
    fact: &crate::op::Fact,
    dtype: crate::types::DType,
    what: &str,
) -> Result<(), Mismatch> {
    let t = fact.tensor()?;
    if t.dtype != dtype {
        return Err(Mismatch::new(format!("{what} should be one {dtype}, is {t}")));
    }
    cx.require(Cmp::Eq, &t.n_elements(), &Dim::from(1), &format!("{what} should have one element"))
}
