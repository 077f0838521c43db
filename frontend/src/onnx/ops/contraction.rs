//! Sums of products over named axes: what MatMul and Einsum are made of.

use tcc_ir::ops::{BinaryKind, Contract, Reduce, ReduceKind};
use tcc_ir::{Cmp, DType, Dim, ValueId};

use crate::onnx::node::{ImportError, NodeCx, Result};

/// A value with a name for each of its axes.
#[derive(Clone, Debug)]
pub(super) struct Labelled {
    pub value: ValueId,
    pub labels: Vec<usize>,
}

impl Labelled {
    /// Drops the axes (of extent 1) for which `drop` says so.
    pub fn without(self, cx: &mut NodeCx, drop: impl Fn(usize) -> bool) -> Result<Labelled> {
        let dims = cx.shape(self.value)?;
        if !self.labels.iter().any(|&label| drop(label)) {
            return Ok(self);
        }
        let kept = || self.labels.iter().zip(&dims).filter(|(label, _)| !drop(**label));
        let value = cx.reshape(self.value, kept().map(|(_, dim)| dim.clone()).collect())?;
        Ok(Labelled { value, labels: kept().map(|(label, _)| *label).collect() })
    }

    /// The sum over the axes whose label isn't `kept`.
    pub fn sum_except(self, cx: &mut NodeCx, kept: impl Fn(usize) -> bool) -> Result<Labelled> {
        let axes: Vec<usize> = (0..self.labels.len()).filter(|&axis| !kept(self.labels[axis])).collect();
        if axes.is_empty() {
            return Ok(self);
        }
        let value = cx.add(Reduce { kind: ReduceKind::Sum, axes, keepdims: false }, &[self.value])?;
        Ok(Labelled { value, labels: self.labels.into_iter().filter(|&label| kept(label)).collect() })
    }

    /// The axes in the order of `labels`; each of them that the value lacks becomes an axis of extent 1.
    pub fn arranged(self, cx: &mut NodeCx, labels: &[usize]) -> Result<ValueId> {
        let position = |label: &usize| self.labels.iter().position(|own| own == label);
        let perm: Vec<usize> = labels.iter().filter_map(position).collect();
        let is_ordered = perm.iter().enumerate().all(|(index, &axis)| index == axis);
        let value = if is_ordered { self.value } else { cx.transpose(self.value, perm)? };
        if labels.len() == self.labels.len() {
            return Ok(value);
        }
        let mut own = cx.shape(value)?.into_iter();
        let dims = labels
            .iter()
            .map(|label| position(label).and_then(|_| own.next()).unwrap_or_else(|| Dim::from(1)))
            .collect();
        cx.reshape(value, dims)
    }
}

/// The product of `a` and `b`, summed over every label that isn't `kept`. Labels of both must have equal extents.
pub(super) fn contract(
    cx: &mut NodeCx,
    a: Labelled,
    b: Labelled,
    kept: impl Fn(usize) -> bool,
    out: DType,
) -> Result<Labelled> {
    // What only one of them has can be summed before.
    let (in_a, in_b) = (a.labels.clone(), b.labels.clone());
    let a = a.sum_except(cx, |label| kept(label) || in_b.contains(&label))?;
    let b = b.sum_except(cx, |label| kept(label) || in_a.contains(&label))?;
    let shared: Vec<usize> = a.labels.iter().copied().filter(|label| b.labels.contains(label)).collect();
    let at = |of: &Labelled, label: usize| {
        of.labels.iter().position(|&own| own == label).expect("a shared label is in both")
    };
    let axes = |of: &Labelled, is_batch: bool| -> Vec<usize> {
        shared.iter().filter(|&&label| kept(label) == is_batch).map(|&label| at(of, label)).collect()
    };
    let op = Contract {
        lhs_batch: axes(&a, true),
        rhs_batch: axes(&b, true),
        lhs: axes(&a, false),
        rhs: axes(&b, false),
        out,
    };
    let batch = op.lhs_batch.iter().map(|&axis| a.labels[axis]);
    let lhs_free = op.lhs_free(a.labels.len()).into_iter().map(|axis| a.labels[axis]);
    let rhs_free = op.rhs_free(b.labels.len()).into_iter().map(|axis| b.labels[axis]);
    let labels: Vec<usize> = batch.chain(lhs_free).chain(rhs_free).collect();
    let value = if op.lhs.is_empty() {
        let (a, b) = (a.arranged(cx, &labels)?, b.arranged(cx, &labels)?);
        let (a, b) = (cx.cast(a, out)?, cx.cast(b, out)?);
        cx.binary(BinaryKind::Mul, a, b)?
    } else {
        cx.add(op, &[a.value, b.value])?
    };
    Ok(Labelled { value, labels })
}

/// The extent that two broadcast to, checked where it isn't known whether they do.
pub(super) fn common_extent(a: &Dim, b: &Dim) -> Result<Dim> {
    match (a.as_const(), b.as_const()) {
        _ if a == b || b.is_const(1) => Ok(a.clone()),
        _ if a.is_const(1) => Ok(b.clone()),
        (Some(_), Some(_)) => Err(ImportError::invalid(format!("sizes {a} and {b} don't broadcast"))),
        (Some(_), None) => Ok(a.clone()),
        (None, Some(_)) => Ok(b.clone()),
        (None, None) => Ok(Dim::select(Cmp::Eq, a, &Dim::from(1), b, a)),
    }
}

/// The matrix product with NumPy's rules: vectors stand for a row or column, the axes in front of the last two
/// broadcast.
pub(super) fn matmul(cx: &mut NodeCx, a: ValueId, b: ValueId, out: DType) -> Result<ValueId> {
    let (dims_a, dims_b) = (cx.shape(a)?, cx.shape(b)?);
    if dims_a.is_empty() || dims_b.is_empty() {
        return Err(ImportError::invalid("an operand of a matrix product has no dimensions"));
    }
    let lead = |dims: &[Dim]| dims.len().saturating_sub(2);
    let n_lead = lead(&dims_a).max(lead(&dims_b));
    // Leading axes are labelled by their place in the result, then come row, inner axis and column.
    let (row, inner, column) = (n_lead, n_lead + 1, n_lead + 2);
    let leading = |dims: &[Dim]| n_lead - lead(dims)..n_lead;
    let labels_a: Vec<usize> =
        leading(&dims_a).chain((dims_a.len() > 1).then_some(row)).chain([inner]).collect();
    let labels_b: Vec<usize> =
        leading(&dims_b).chain([inner]).chain((dims_b.len() > 1).then_some(column)).collect();
    let mut operands = [Labelled { value: a, labels: labels_a }, Labelled { value: b, labels: labels_b }];
    let extent = |dims: &[Dim], label: usize| {
        label.checked_sub(n_lead - lead(dims)).map_or_else(|| Dim::from(1), |axis| dims[axis].clone())
    };
    let common: Vec<Dim> = (0..n_lead)
        .map(|label| common_extent(&extent(&dims_a, label), &extent(&dims_b, label)))
        .collect::<Result<_>>()?;
    for (operand, dims) in operands.iter_mut().zip([&dims_a, &dims_b]) {
        let is_one = |label: usize| label < n_lead && extent(dims, label).is_const(1);
        let widened: Vec<Dim> = operand
            .labels
            .iter()
            .zip(dims)
            .map(|(&label, dim)| if label < n_lead && !is_one(label) { &common[label] } else { dim }.clone())
            .collect();
        let value = cx.broadcast(operand.value, widened)?;
        let wide = Labelled { value, labels: operand.labels.clone() };
        *operand = wide.without(cx, |label| is_one(label))?;
    }
    let [a, b] = operands;
    let result: Vec<usize> = (0..n_lead)
        .chain((dims_a.len() > 1).then_some(row))
        .chain((dims_b.len() > 1).then_some(column))
        .collect();
    contract(cx, a, b, |label| label != inner, out)?.arranged(cx, &result)
}
