//! Where the elements of a moved tensor come from: what the movement operators share.
//!
//! Most of them are separable: the linear position of an element in the operand is a sum of one contribution an
//! output axis, so a table an axis ([`AxisMap`]) says everything. Evaluation and symbolic elements both follow
//! these positions, so that an operator has one index formula.

use super::broadcast::strides;
use crate::op::{EvalError, Fact, InferCx, Mismatch};
use crate::types::{Cmp, DType, Dim};

/// What each index along one output axis adds to the linear position in the operand; None: outside of it.
pub type AxisMap = Vec<Option<usize>>;

/// The map of an axis that is kept as it is: `extent` steps of `stride`.
pub fn kept_axis(extent: usize, stride: usize) -> AxisMap {
    (0..extent).map(|i| Some(i * stride)).collect()
}

/// The maps of all axes of `shape`, kept as they are.
pub fn kept_axes(shape: &[usize]) -> Vec<AxisMap> {
    shape.iter().zip(strides(shape)).map(|(n, s)| kept_axis(*n, s)).collect()
}

/// Positions in the operand in row-major order of the output whose axes have the given maps.
pub fn walk(maps: Vec<AxisMap>) -> impl Iterator<Item = Option<usize>> {
    let mut index = vec![0usize; maps.len()];
    let mut done = maps.iter().any(Vec::is_empty);
    std::iter::from_fn(move || {
        if done {
            return None;
        }
        let position = maps.iter().zip(&index).try_fold(0, |sum, (map, i)| Some(sum + map[*i]?));
        match (0..maps.len()).rev().find(|a| index[*a] + 1 < maps[*a].len()) {
            Some(axis) => {
                index[axis] += 1;
                index[axis + 1..].fill(0);
            }
            None => done = true,
        }
        Some(position)
    })
}

/// As [`walk`], for maps in which nothing is outside.
pub fn walk_inside(maps: Vec<AxisMap>) -> impl Iterator<Item = usize> {
    walk(maps).map(|p| p.expect("these maps stay inside the operand"))
}

/// The symbolic elements of operands at places (operand, linear position), if they are known.
pub fn pick_elems(ins: &[Fact], places: impl IntoIterator<Item = (usize, usize)>) -> Option<Vec<Dim>> {
    places.into_iter().map(|(operand, position)| elem(&ins[operand], position)).collect()
}

fn elem(fact: &Fact, position: usize) -> Option<Dim> {
    if let Some(elems) = fact.elems {
        return elems.get(position).cloned();
    }
    let constant = fact.constant.filter(|c| c.dtype().is_int() || c.dtype() == DType::Bool)?;
    let v = constant.gather_linear(Vec::new(), [position]).ints()[0];
    i64::try_from(v).ok().map(Dim::from)
}

/// The elements of an integer operand when all of them are constants.
pub fn known_ints(fact: &Fact) -> Option<Vec<i128>> {
    match (fact.constant, fact.elems) {
        (Some(c), _) => Some(c.ints()),
        (None, Some(elems)) => elems.iter().map(|d| d.as_const().map(i128::from)).collect(),
        (None, None) => None,
    }
}

/// The value of a size attribute where it must be known at compile time.
pub fn known_dim(d: &Dim) -> Result<i64, EvalError> {
    d.as_const().ok_or_else(|| EvalError::new(format!("{d} isn't a constant")))
}

/// Index into an axis; negative ones count from its end.
///
/// # Errors
/// An index outside -extent..extent.
pub fn wrap_index(index: i128, extent: usize) -> Result<usize, EvalError> {
    let n = extent as i128;
    let wrapped = if index < 0 { index + n } else { index };
    usize::try_from(wrapped).ok().filter(|i| *i < extent).ok_or_else(|| {
        EvalError::new(format!("index {index} is out of range for an axis of extent {extent}"))
    })
}

/// The axis must be one of a tensor of this rank.
pub fn check_axis(axis: usize, rank: usize) -> Result<(), Mismatch> {
    if axis < rank {
        Ok(())
    } else {
        Err(Mismatch::new(format!("there is no axis {axis} in a tensor of rank {rank}")))
    }
}

/// An operand that holds indices: a tensor of an integer type.
pub fn check_indices(dtype: DType) -> Result<(), Mismatch> {
    if dtype.is_int() { Ok(()) } else { Err(Mismatch::new(format!("indices must be integers, not {dtype}"))) }
}

/// An axis that indices of this shape address must have elements, unless there are no indices. Compiled code looks at an
/// index before it uses it, but the place that it takes instead of one out of range must exist.
pub fn check_addressed(cx: &mut InferCx, extent: &Dim, indices: &[Dim]) {
    let wanted = Dim::product(indices.iter().cloned()).minimum(&Dim::from(1));
    cx.check(Cmp::Le, &wanted, extent, "an index into an axis without elements");
}

/// Two operands must have one element type.
pub fn check_same_dtype(a: DType, b: DType) -> Result<(), Mismatch> {
    if a == b { Ok(()) } else { Err(Mismatch::new(format!("operands have element types {a} and {b}"))) }
}

/// One attribute entry an axis.
pub fn check_entries(name: &str, n: usize, rank: usize) -> Result<(), Mismatch> {
    if n == rank { Ok(()) } else { Err(Mismatch::new(format!("{n} {name} for a tensor of rank {rank}"))) }
}

/// `a` where `cmp(x, 0)`, else `b`.
pub fn select_by_sign(cmp: Cmp, x: &Dim, a: &Dim, b: &Dim) -> Dim {
    Dim::select(cmp, x, &Dim::from(0), a, b)
}
