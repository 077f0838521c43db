//! Optimiser steps: Momentum, Adagrad and Adam. Inputs are the learning rate, the number of updates so far, then as many
//! values as there are tensors of each kind; outputs likewise.

use tcc_ir::ops::{BinaryKind, UnaryKind};
use tcc_ir::{Cmp, DType, ValueId};

use super::Entry;
use crate::onnx::node::{ImportError, NodeCx, Result};

const fn training(op_type: &'static str, import: super::ImportFn) -> Entry {
    Entry { domain: "ai.onnx.preview.training", op_type, since: 1, import }
}

pub(super) const TABLE: &[Entry] =
    &[training("Adagrad", adagrad), training("Adam", adam), training("Momentum", momentum)];

fn adagrad(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let (norm, decay, epsilon) =
        (cx.float("norm_coefficient", 0.0)?, cx.float("decay_factor", 0.0)?, cx.float("epsilon", 1e-6)?);
    for_each_tensor::<3>(cx, &mut |cx, rate, count, [x, gradient, squares]| {
        let decayed = cx.binary_scalar(BinaryKind::Mul, count, decay)?;
        let divisor = cx.binary_scalar(BinaryKind::Add, decayed, 1.0)?;
        let rate = cx.binary(BinaryKind::Div, rate, divisor)?;
        let gradient = regularised(cx, gradient, x, norm)?;
        let square = cx.binary(BinaryKind::Mul, gradient, gradient)?;
        let squares = cx.binary(BinaryKind::Add, squares, square)?;
        let root = cx.unary(UnaryKind::Sqrt, squares)?;
        let root = cx.binary_scalar(BinaryKind::Add, root, epsilon)?;
        let step = cx.binary(BinaryKind::Mul, rate, gradient)?;
        let step = cx.binary(BinaryKind::Div, step, root)?;
        Ok(vec![cx.binary(BinaryKind::Sub, x, step)?, squares])
    })
}

fn adam(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let (norm, norm_post) = (cx.float("norm_coefficient", 0.0)?, cx.float("norm_coefficient_post", 0.0)?);
    let (alpha, beta) = (cx.float("alpha", f64::from(0.9f32))?, cx.float("beta", f64::from(0.999f32))?);
    let epsilon = cx.float("epsilon", 1e-6)?;
    for_each_tensor::<4>(cx, &mut |cx, rate, count, [x, gradient, mean, square]| {
        let gradient = regularised(cx, gradient, x, norm)?;
        let mean = moving(cx, mean, gradient, alpha)?;
        let squared = cx.binary(BinaryKind::Mul, gradient, gradient)?;
        let square = moving(cx, square, squared, beta)?;
        let root = cx.unary(UnaryKind::Sqrt, square)?;
        let root = cx.binary_scalar(BinaryKind::Add, root, epsilon)?;
        // Corrects the bias of both averages, except before the first update.
        let left = one_minus_power(cx, beta, count)?;
        let left = cx.unary(UnaryKind::Sqrt, left)?;
        let corrected = cx.binary(BinaryKind::Mul, rate, left)?;
        let right = one_minus_power(cx, alpha, count)?;
        let corrected = cx.binary(BinaryKind::Div, corrected, right)?;
        let rate = after_first(cx, count, corrected, rate)?;
        let step = cx.binary(BinaryKind::Div, mean, root)?;
        let step = cx.binary(BinaryKind::Mul, rate, step)?;
        let x = cx.binary(BinaryKind::Sub, x, step)?;
        Ok(vec![cx.binary_scalar(BinaryKind::Mul, x, 1.0 - norm_post)?, mean, square])
    })
}

fn momentum(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let required = |name: &str| {
        cx.opt_float(name)?.ok_or_else(|| ImportError::invalid(format!("attribute `{name}` is missing")))
    };
    let (norm, alpha, beta) = (required("norm_coefficient")?, required("alpha")?, required("beta")?);
    let is_nesterov = match cx.string("mode", "")? {
        "standard" => false,
        "nesterov" => true,
        other => return Err(ImportError::invalid(format!("mode `{other}` is unknown"))),
    };
    for_each_tensor::<3>(cx, &mut |cx, rate, count, [x, gradient, velocity]| {
        let gradient = regularised(cx, gradient, x, norm)?;
        let dtype = cx.dtype(rate)?;
        let (beta, one) = (cx.scalar(dtype, beta)?, cx.scalar(dtype, 1.0)?);
        let beta = after_first(cx, count, beta, one)?;
        let kept = cx.binary_scalar(BinaryKind::Mul, velocity, alpha)?;
        let added = cx.binary(BinaryKind::Mul, gradient, beta)?;
        let velocity = cx.binary(BinaryKind::Add, kept, added)?;
        let direction = if is_nesterov {
            let ahead = cx.binary_scalar(BinaryKind::Mul, velocity, alpha)?;
            cx.binary(BinaryKind::Add, gradient, ahead)?
        } else {
            velocity
        };
        let step = cx.binary(BinaryKind::Mul, direction, rate)?;
        Ok(vec![cx.binary(BinaryKind::Sub, x, step)?, velocity])
    })
}

/// Calls `step` for each tensor with its `N` inputs, and puts the outputs in the operator's order. The learning rate and
/// the number of updates come as scalars of the tensor's type.
fn for_each_tensor<const N: usize>(
    cx: &mut NodeCx,
    step: &mut dyn FnMut(&mut NodeCx, ValueId, ValueId, [ValueId; N]) -> Result<Vec<ValueId>>,
) -> Result<Vec<ValueId>> {
    let inputs = cx.inputs()?;
    let Some((&[rate, count], tensors)) = inputs.split_first_chunk() else {
        return Err(ImportError::invalid("the learning rate and the number of updates are missing"));
    };
    if tensors.is_empty() || !tensors.len().is_multiple_of(N) {
        return Err(ImportError::invalid(format!("{} tensors aren't in groups of {N}", tensors.len())));
    }
    let n_tensors = tensors.len() / N;
    let rate = cx.to_scalar(rate, "the learning rate")?;
    let count = cx.to_scalar(count, "the number of updates")?;
    let mut outputs = vec![Vec::new(); N - 1];
    for index in 0..n_tensors {
        let own = std::array::from_fn(|kind| tensors[kind * n_tensors + index]);
        let dtype = cx.dtype(own[0])?;
        let (rate, count) = (cx.cast(rate, dtype)?, cx.cast(count, dtype)?);
        for (all, value) in outputs.iter_mut().zip(step(cx, rate, count, own)?) {
            all.push(value);
        }
    }
    Ok(outputs.concat())
}

/// The gradient with that of the square norm.
fn regularised(cx: &mut NodeCx, gradient: ValueId, x: ValueId, norm: f64) -> Result<ValueId> {
    let weight = cx.binary_scalar(BinaryKind::Mul, x, norm)?;
    cx.binary(BinaryKind::Add, weight, gradient)
}

fn moving(cx: &mut NodeCx, average: ValueId, next: ValueId, keep: f64) -> Result<ValueId> {
    let kept = cx.binary_scalar(BinaryKind::Mul, average, keep)?;
    let added = cx.binary_scalar(BinaryKind::Mul, next, 1.0 - keep)?;
    cx.binary(BinaryKind::Add, kept, added)
}

fn one_minus_power(cx: &mut NodeCx, base: f64, exponent: ValueId) -> Result<ValueId> {
    let dtype: DType = cx.dtype(exponent)?;
    let (base, one) = (cx.scalar(dtype, base)?, cx.scalar(dtype, 1.0)?);
    let power = cx.binary(BinaryKind::Pow, base, exponent)?;
    cx.binary(BinaryKind::Sub, one, power)
}

/// `then` where there was an update before.
fn after_first(cx: &mut NodeCx, count: ValueId, then: ValueId, otherwise: ValueId) -> Result<ValueId> {
    let zero = cx.scalar(cx.dtype(count)?, 0.0)?;
    let is_later = cx.compare(Cmp::Gt, count, zero)?;
    cx.select(is_later, then, otherwise)
}
