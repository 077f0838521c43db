//! Scaled dot product attention, with all masks of the operator's versions. Like its function body it rounds to the
//! operand's type between steps, or inside the softmax to the type that is asked for.

use tcc_ir::ops::{BinaryKind, Contract, Pad, PadMode, Reduce, ReduceKind, UnaryKind};
use tcc_ir::{Cmp, DType, Dim, ValueId};

use super::resize::dim_as_float;
use super::{Entry, onnx};
use crate::onnx::node::{ImportError, NodeCx, Result};

pub(super) const TABLE: &[Entry] = &[onnx("Attention", 23, attention)];

/// The sizes of the score tensor: [batch, heads, queries, keys].
struct Scores {
    dims: [Dim; 4],
    dtype: DType,
    /// How many keys come before the first query: a scalar, or [batch, 1, 1, 1].
    offset: ValueId,
}

fn attention(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let inputs = [cx.input(0)?, cx.input(1)?, cx.input(2)?];
    let ranks = [cx.rank(inputs[0])?, cx.rank(inputs[1])?, cx.rank(inputs[2])?];
    let heads = (cx.opt_int("q_num_heads")?, cx.opt_int("kv_num_heads")?);
    let split = match (ranks, heads) {
        ([3, 3, 3], (Some(of_q), Some(of_kv))) if of_q > 0 && of_kv > 0 => Some((of_q, of_kv)),
        ([3, 3, 3], _) => {
            return Err(ImportError::invalid("inputs of rank 3 need q_num_heads and kv_num_heads"));
        }
        ([4, 4, 4], (Some(_), _) | (_, Some(_))) if cx.opset() >= 25 => {
            return Err(ImportError::invalid("inputs of rank 4 have their number of heads already"));
        }
        ([4, 4, 4], _) => None,
        _ => return Err(ImportError::invalid(format!("query, key and value have ranks {ranks:?}"))),
    };
    let [q, k, v] = match split {
        Some((of_q, of_kv)) => [
            split_heads(cx, inputs[0], of_q)?,
            split_heads(cx, inputs[1], of_kv)?,
            split_heads(cx, inputs[2], of_kv)?,
        ],
        None => inputs,
    };
    let (past_k, past_v) = (cx.optional_input(4), cx.optional_input(5));
    let nonpad = cx.optional_input(6);
    let (k, v, n_past) = match (past_k, past_v) {
        (Some(past_k), Some(past_v)) => {
            let n_past = cx.shape(past_k)?.get(2).cloned();
            let n_past = n_past.ok_or_else(|| ImportError::invalid("past_key must have rank 4"))?;
            (cx.concat(&[past_k, k], 2)?, cx.concat(&[past_v, v], 2)?, Some(n_past))
        }
        (None, None) => (k, v, None),
        _ => return Err(ImportError::invalid("past_key and past_value must be given together")),
    };
    if n_past.is_some() && nonpad.is_some() {
        return Err(ImportError::invalid("nonpad_kv_seqlen can't be given with past_key"));
    }
    let (q_dims, k_dims, v_dims) = (cx.shape(q)?, cx.shape(k)?, cx.shape(v)?);
    let [batch, q_heads, n_queries, head_size] = &q_dims[..] else { unreachable!("rank 4") };
    let (kv_heads, n_keys, v_size) = (&k_dims[1], &k_dims[2], &v_dims[3]);
    let group = q_heads.floor_div(kv_heads);
    let dtype = cx.dtype(q)?;

    let scale = score_scale(cx, head_size, dtype)?;
    let scaled_q = cx.binary(BinaryKind::Mul, q, scale)?;
    let k_scale = cx.cast(scale, cx.dtype(k)?)?;
    let scaled_k = cx.binary(BinaryKind::Mul, k, k_scale)?;
    // The query heads that share a key head stand together.
    let grouped = [batch, kv_heads, &group, n_queries, head_size].map(Dim::clone).to_vec();
    let grouped_q = cx.reshape(scaled_q, grouped)?;
    let product = |lhs, rhs| Contract { lhs_batch: vec![0, 1], rhs_batch: vec![0, 1], lhs, rhs, out: dtype };
    let scores = cx.add(product(vec![4], vec![3]), &[grouped_q, scaled_k])?;
    let dims = [batch, q_heads, n_queries, n_keys].map(Dim::clone);
    let raw = cx.reshape(scores, dims.to_vec())?;
    let softcap = cx.float("softcap", 0.0)?;
    let capped = if softcap == 0.0 {
        raw
    } else {
        let part = cx.binary_scalar(BinaryKind::Div, raw, softcap)?;
        let part = cx.unary(UnaryKind::Tanh, part)?;
        cx.binary_scalar(BinaryKind::Mul, part, softcap)?
    };
    let offset = match (n_past, nonpad) {
        (Some(n_past), _) => {
            let n_past = cx.sizes(vec![n_past])?;
            cx.reshape(n_past, vec![])?
        }
        (None, Some(nonpad)) => {
            let nonpad = per_batch(cx, nonpad, batch)?;
            let n_queries = cx.sizes(vec![n_queries.clone()])?;
            cx.binary(BinaryKind::Sub, nonpad, n_queries)?
        }
        (None, None) => cx.scalar(DType::I64, 0.0)?,
    };
    let bias = bias(cx, &Scores { dims: dims.clone(), dtype, offset })?;
    let biased = match bias {
        Some(bias) => cx.binary(BinaryKind::Add, capped, bias)?,
        None => capped,
    };
    let biased = cx.broadcast(biased, dims.to_vec())?;
    let weights = guarded_softmax(cx, biased, bias, dtype)?;
    let grouped = [batch, kv_heads, &group, n_queries, n_keys].map(Dim::clone).to_vec();
    let grouped_weights = cx.reshape(weights, grouped)?;
    let y = cx.add(product(vec![4], vec![2]), &[grouped_weights, v])?;
    let y = cx.reshape(y, [batch, q_heads, n_queries, v_size].map(Dim::clone).to_vec())?;
    let y = match split {
        Some(_) => {
            let y = cx.transpose(y, vec![0, 2, 1, 3])?;
            cx.reshape(y, vec![batch.clone(), n_queries.clone(), q_heads.clone() * v_size.clone()])?
        }
        None => y,
    };
    let shown = match cx.int("qk_matmul_output_mode", 0)? {
        0 => raw,
        1 => capped,
        2 => biased,
        3 => weights,
        mode => return Err(ImportError::invalid(format!("qk_matmul_output_mode is {mode}"))),
    };
    Ok(vec![y, k, v, shown])
}

/// What both query and key are multiplied with: the root of the scale.
pub(super) fn score_scale(cx: &mut NodeCx, head_size: &Dim, dtype: DType) -> Result<ValueId> {
    if let Some(scale) = cx.opt_float("scale")? {
        return cx.scalar(dtype, scale.sqrt());
    }
    if let Some(size) = head_size.as_const() {
        return cx.scalar(dtype, (1.0 / (size as f64).sqrt()).sqrt());
    }
    let size = dim_as_float(cx, head_size)?;
    let scale = cx.binary_scalar(BinaryKind::Pow, size, -0.25)?;
    cx.cast(scale, dtype)
}

/// [batch, n, heads * size] as [batch, heads, n, size].
fn split_heads(cx: &mut NodeCx, x: ValueId, heads: i64) -> Result<ValueId> {
    let dims = cx.shape(x)?;
    let heads = Dim::from(heads);
    let apart = vec![dims[0].clone(), dims[1].clone(), heads.clone(), dims[2].floor_div(&heads)];
    let apart = cx.reshape(x, apart)?;
    cx.transpose(apart, vec![0, 2, 1, 3])
}

/// One number a sample as [batch, 1, 1, 1].
fn per_batch(cx: &mut NodeCx, x: ValueId, batch: &Dim) -> Result<ValueId> {
    let x = cx.cast(x, DType::I64)?;
    let one = Dim::from(1);
    cx.reshape(x, vec![batch.clone(), one.clone(), one.clone(), one])
}

/// What is added to the scores: the mask, and minus infinity where a key isn't to be seen.
fn bias(cx: &mut NodeCx, scores: &Scores) -> Result<Option<ValueId>> {
    let minus_infinity = cx.scalar(scores.dtype, f64::NEG_INFINITY)?;
    let zero = cx.scalar(scores.dtype, 0.0)?;
    let given = match cx.optional_input(3) {
        Some(mask) => {
            let mask = padded_mask(cx, mask, &scores.dims[3])?;
            Some(match cx.dtype(mask)? {
                DType::Bool => cx.select(mask, zero, minus_infinity)?,
                _ => cx.cast(mask, scores.dtype)?,
            })
        }
        None => None,
    };
    let Some(allowed) = allowed(cx, scores)? else { return Ok(given) };
    Ok(Some(cx.select(allowed, given.unwrap_or(zero), minus_infinity)?))
}

/// A mask may cover the first keys only; the others aren't seen.
fn padded_mask(cx: &mut NodeCx, mask: ValueId, n_keys: &Dim) -> Result<ValueId> {
    let ty = cx.tensor_type(mask)?;
    let Some(covered) = ty.shape.last() else { return Ok(mask) };
    if covered == n_keys {
        return Ok(mask);
    }
    let value = match ty.dtype {
        DType::Bool => cx.zero(DType::Bool),
        dtype => cx.scalar(dtype, f64::NEG_INFINITY)?,
    };
    let before = vec![Dim::from(0); ty.rank()];
    let mut after = before.clone();
    after[ty.rank() - 1] = n_keys.clone() - covered.clone();
    let padded = cx.add(Pad { before, after, mode: PadMode::Constant }, &[mask, value])?;
    cx.require(padded, Cmp::Le, covered, n_keys, "the mask is longer than the keys")?;
    Ok(padded)
}

/// Which keys a query may see by its place; `None`: all.
fn allowed(cx: &mut NodeCx, scores: &Scores) -> Result<Option<ValueId>> {
    let [batch, _, n_queries, n_keys] = &scores.dims;
    let one = Dim::from(1);
    let query = cx.iota(n_queries.clone(), DType::I64)?;
    let query = cx.reshape(query, vec![n_queries.clone(), one])?;
    let query = cx.binary(BinaryKind::Add, query, scores.offset)?;
    let key = cx.iota(n_keys.clone(), DType::I64)?;
    let mut conditions = Vec::new();
    if cx.flag("is_causal", false)? {
        conditions.push(cx.compare(Cmp::Le, key, query)?);
    }
    for (name, sign) in [("left_window_size", -1.0), ("right_window_size", 1.0)] {
        let width = match cx.int(name, -1)? {
            -1 => continue,
            width if width < -1 => return Err(ImportError::invalid(format!("{name} is {width}"))),
            width => width,
        };
        let limit = cx.binary_scalar(BinaryKind::Add, query, sign * width as f64)?;
        conditions.push(cx.compare(if sign < 0.0 { Cmp::Ge } else { Cmp::Le }, key, limit)?);
    }
    if let Some(nonpad) = cx.optional_input(6) {
        let nonpad = per_batch(cx, nonpad, batch)?;
        conditions.push(cx.compare(Cmp::Lt, key, nonpad)?);
    }
    let mut all = None;
    for condition in conditions {
        all = Some(match all {
            Some(others) => cx.binary(BinaryKind::And, others, condition)?,
            None => condition,
        });
    }
    Ok(all)
}

/// Softmax over the keys; a query that sees none has weights of 0.
fn guarded_softmax(cx: &mut NodeCx, scores: ValueId, bias: Option<ValueId>, dtype: DType) -> Result<ValueId> {
    let wide = cx.opt_dtype("softmax_precision")?.filter(|precision| precision.is_float()).unwrap_or(dtype);
    let scores = cx.cast(scores, wide)?;
    let weights = softmax(cx, scores)?;
    let weights = cx.cast(weights, dtype)?;
    match bias {
        // Judged by the mask: the scores themselves could be infinite or NaN.
        Some(bias) if cx.rank(bias)? > 0 => {
            let highest = over_last(cx, ReduceKind::Max, bias)?;
            let minus_infinity = cx.scalar(dtype, f64::NEG_INFINITY)?;
            let sees_none = cx.compare(Cmp::Eq, highest, minus_infinity)?;
            let zero = cx.scalar(dtype, 0.0)?;
            cx.select(sees_none, zero, weights)
        }
        _ => Ok(weights),
    }
}

/// Softmax over the last axis, each step in the type of `x`.
pub(super) fn softmax(cx: &mut NodeCx, x: ValueId) -> Result<ValueId> {
    let highest = over_last(cx, ReduceKind::Max, x)?;
    let below = cx.binary(BinaryKind::Sub, x, highest)?;
    let powers = cx.unary(UnaryKind::Exp, below)?;
    let total = over_last(cx, ReduceKind::Sum, powers)?;
    cx.binary(BinaryKind::Div, powers, total)
}

fn over_last(cx: &mut NodeCx, kind: ReduceKind, x: ValueId) -> Result<ValueId> {
    let axes = vec![cx.rank(x)? - 1];
    cx.add(Reduce { kind, axes, keepdims: true }, &[x])
}
