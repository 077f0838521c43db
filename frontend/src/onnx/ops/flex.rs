//! FlexAttention: attention whose scores and weights go through bodies of the model's own.

use tcc_ir::ops::{BinaryKind, Contract};
use tcc_ir::{DType, Dim, ValueId};

use super::Entry;
use super::attention::{score_scale, softmax};
use crate::onnx::node::{ImportError, NodeCx, Result};

pub(super) const TABLE: &[Entry] =
    &[Entry { domain: "ai.onnx.preview", op_type: "FlexAttention", since: 1, import: flex_attention }];

fn flex_attention(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let (q, k, v) = (cx.input(0)?, cx.input(1)?, cx.input(2)?);
    let (q_dims, k_dims, v_dims) = (cx.shape(q)?, cx.shape(k)?, cx.shape(v)?);
    let ([batch, q_heads, n_queries, head_size], [_, kv_heads, n_keys, _], [_, _, _, v_size]) =
        (&q_dims[..], &k_dims[..], &v_dims[..])
    else {
        return Err(ImportError::invalid("query, key and value must have rank 4"));
    };
    let dtype = cx.dtype(q)?;
    let wide = match cx.opt_dtype("softmax_precision")? {
        Some(precision) if precision.is_float() => precision,
        Some(precision) => return Err(ImportError::invalid(format!("softmax_precision is {precision}"))),
        None if dtype == DType::F64 => DType::F64,
        None => DType::F32,
    };
    let scale = score_scale(cx, head_size, dtype)?;
    let (scaled_q, scaled_k) = (cx.binary(BinaryKind::Mul, q, scale)?, cx.binary(BinaryKind::Mul, k, scale)?);
    let group = q_heads.floor_div(kv_heads);
    let grouped = |last: &Dim| [batch, kv_heads, &group, n_queries, last].map(Dim::clone).to_vec();
    let joined = |last: &Dim| [batch, q_heads, n_queries, last].map(Dim::clone).to_vec();
    let product =
        |rhs, out| Contract { lhs_batch: vec![0, 1], rhs_batch: vec![0, 1], lhs: vec![4], rhs, out };
    let grouped_q = cx.reshape(scaled_q, grouped(head_size))?;
    let scores = cx.add(product(vec![3], dtype), &[grouped_q, scaled_k])?;
    let scores = cx.reshape(scores, joined(n_keys))?;
    let scores = cx.cast(scores, wide)?;
    let scores = modified(cx, "score_mod", scores)?;
    let weights = softmax(cx, scores)?;
    let weights = modified(cx, "prob_mod", weights)?;
    let weights = cx.reshape(weights, grouped(n_keys))?;
    let v_dtype = cx.dtype(v)?;
    let v = cx.cast(v, wide)?;
    let y = cx.add(product(vec![2], wide), &[weights, v])?;
    let y = cx.reshape(y, joined(v_size))?;
    Ok(vec![cx.cast(y, v_dtype)?])
}

/// `x` through the body of that name, if there is one.
fn modified(cx: &mut NodeCx, name: &str, x: ValueId) -> Result<ValueId> {
    let Some(body) = cx.opt_graph(name)? else { return Ok(x) };
    match cx.inline(body, &[x])?[..] {
        [y] if cx.dtype(y)? == cx.dtype(x)? && cx.rank(y)? == cx.rank(x)? => Ok(y),
        _ => Err(ImportError::invalid(format!("{name} must give one tensor of its input's type"))),
    }
}
