//! Losses of classification.

use tcc_ir::ops::{GatherElements, Reduce, ReduceKind, UnaryKind};
use tcc_ir::{Cmp, DType, Dim, Tensor, ValueId};

use super::pool::size_as;
use super::precision::compute_type;
use super::softmax::log_softmax;
use super::{Entry, onnx};
use crate::onnx::node::{ImportError, NodeCx, Result};

pub(super) const TABLE: &[Entry] = &[
    onnx("NegativeLogLikelihoodLoss", 12, |cx| {
        let scores = cx.input(0)?;
        let wide = compute_type(cx.dtype(scores)?);
        let log_prob = cx.cast(scores, wide)?;
        let loss = negative_log_likelihood(cx, log_prob)?;
        Ok(vec![cx.cast(loss, cx.dtype(scores)?)?])
    }),
    onnx("SoftmaxCrossEntropyLoss", 12, |cx| {
        let scores = cx.input(0)?;
        let dtype = cx.dtype(scores)?;
        if cx.rank(scores)? < 2 {
            return Err(ImportError::invalid("the scores have no axis of classes"));
        }
        let wide = cx.cast(scores, compute_type(dtype))?;
        let log_prob = log_softmax(cx, wide, vec![1])?;
        let loss = negative_log_likelihood(cx, log_prob)?;
        Ok(vec![cx.cast(loss, dtype)?, cx.cast(log_prob, dtype)?])
    }),
];

/// The loss by the node's inputs 1 (classes) and 2 (weights) and its attributes. `log_prob` is [N, classes, ..].
fn negative_log_likelihood(cx: &mut NodeCx, log_prob: ValueId) -> Result<ValueId> {
    let (target, weights) = (cx.input(1)?, cx.optional_input(2));
    let reduction = cx.string("reduction", "mean")?;
    let ignored = cx.opt_int("ignore_index")?;
    let (dims, target_dims) = (cx.shape(log_prob)?, cx.shape(target)?);
    if dims.len() < 2 || target_dims.len() + 1 != dims.len() {
        return Err(ImportError::invalid(format!(
            "scores of rank {} with classes of rank {}",
            dims.len(),
            target_dims.len()
        )));
    }
    let dtype = cx.dtype(log_prob)?;
    let mut class = cx.cast(target, DType::I64)?;
    let mut is_ignored = None;
    if let Some(ignored) = ignored {
        let ignored = cx.constant(Tensor::scalar_int(DType::I64, ignored.into()));
        let hit = cx.compare(Cmp::Eq, class, ignored)?;
        let zero = cx.zero(DType::I64);
        class = cx.select(hit, zero, class)?;
        is_ignored = Some(hit);
    }
    let mut apart = target_dims.clone();
    apart.insert(1, Dim::from(1));
    let index = cx.reshape(class, apart)?;
    let picked = cx.add(GatherElements { axis: 1 }, &[log_prob, index])?;
    let picked = cx.reshape(picked, target_dims.clone())?;
    let mut loss = cx.unary(UnaryKind::Neg, picked)?;
    let zero = cx.zero(dtype);
    let weight = match weights {
        Some(weights) => {
            let weights = cx.cast(weights, dtype)?;
            Some(cx.gather(weights, class, 0)?)
        }
        None if is_ignored.is_some() => {
            let one = cx.scalar(dtype, 1.0)?;
            Some(cx.broadcast(one, target_dims.clone())?)
        }
        None => None,
    };
    let weight = match (weight, is_ignored) {
        (Some(weight), Some(is_ignored)) => Some(cx.select(is_ignored, zero, weight)?),
        (weight, _) => weight,
    };
    if let Some(weight) = weight {
        loss = cx.times(loss, weight)?;
    }
    if let Some(is_ignored) = is_ignored {
        // Also where the score is infinite.
        loss = cx.select(is_ignored, zero, loss)?;
    }
    let axes: Vec<usize> = (0..target_dims.len()).collect();
    let sum = Reduce { kind: ReduceKind::Sum, axes, keepdims: false };
    match reduction {
        "none" => Ok(loss),
        "sum" => cx.add(sum, &[loss]),
        "mean" => {
            let total = cx.add(sum.clone(), &[loss])?;
            let count = match weight {
                Some(weight) => cx.add(sum, &[weight])?,
                None => size_as(cx, Dim::product(target_dims), dtype)?,
            };
            cx.over(total, count)
        }
        mode => Err(ImportError::invalid(format!("reduction is `{mode}`"))),
    }
}
