//! Attention that carries a state from token to token: LinearAttention, and the causal convolution in front of it.

use tcc_ir::ops::{BinaryKind, Contract, Conv, Loop, UnaryKind};
use tcc_ir::{DType, Dim, Type, ValueId};

use super::resize::dim_as_float;
use super::{Entry, onnx};
use crate::onnx::node::{ImportError, NodeCx, Result};

pub(super) const TABLE: &[Entry] =
    &[onnx("CausalConvWithState", 27, causal_conv_with_state), onnx("LinearAttention", 27, linear_attention)];

fn causal_conv_with_state(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let (x, weight) = (cx.input(0)?, cx.input(1)?);
    let (dims, window) = (cx.shape(x)?, cx.shape(weight)?);
    let (3, [channels, _, taps]) = (dims.len(), &window[..]) else {
        return Err(ImportError::invalid("input and weight must have rank 3"));
    };
    let Some(groups) = channels.as_const().and_then(|channels| usize::try_from(channels).ok()) else {
        return Err(ImportError::unsupported("the number of channels isn't known"));
    };
    let carried = taps.clone() - Dim::from(1);
    let dtype = cx.dtype(x)?;
    let past = match cx.optional_input(3) {
        Some(past) => past,
        None => {
            let zero = cx.zero(dtype);
            cx.broadcast(zero, vec![dims[0].clone(), dims[1].clone(), carried.clone()])?
        }
    };
    let padded = cx.concat(&[past, x], 2)?;
    let op = Conv {
        strides: vec![1],
        dilations: vec![1],
        pads_before: vec![Dim::from(0)],
        pads_after: vec![Dim::from(0)],
        groups,
    };
    let mut y = cx.add(op, &[padded, weight])?;
    if let Some(bias) = cx.optional_input(2) {
        let bias = cx.reshape(bias, vec![channels.clone(), Dim::from(1)])?;
        y = cx.binary(BinaryKind::Add, y, bias)?;
    }
    match cx.string("activation", "none")? {
        "none" => {}
        "silu" | "swish" => {
            let wide = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
            let before = cx.cast(y, wide)?;
            let gate = cx.unary(UnaryKind::Sigmoid, before)?;
            let gated = cx.binary(BinaryKind::Mul, before, gate)?;
            y = cx.cast(gated, dtype)?;
        }
        other => return Err(ImportError::invalid(format!("activation `{other}` is unknown"))),
    }
    let start = cx.extent(padded, 2)? - carried.clone();
    let state = cx.slice_axis(padded, 2, start, carried)?;
    Ok(vec![y, state])
}

/// The recurrence token by token, in f32.
fn linear_attention(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let (query, key, value) = (cx.input(0)?, cx.input(1)?, cx.input(2)?);
    let (q_heads, kv_heads) = (cx.required_int("q_num_heads")?, cx.required_int("kv_num_heads")?);
    if kv_heads < 1 || q_heads < 1 || q_heads % kv_heads != 0 {
        return Err(ImportError::invalid(format!("there are {q_heads} query heads for {kv_heads} others")));
    }
    cx.ignore_attribute("chunk_size");
    let rule = cx.string("update_rule", "gated_delta")?;
    let (gates, corrects) = match rule {
        "linear" => (false, false),
        "gated" => (true, false),
        "delta" => (false, true),
        "gated_delta" => (true, true),
        other => return Err(ImportError::invalid(format!("update_rule `{other}` is unknown"))),
    };
    let (decay, beta) = (cx.optional_input(4), cx.optional_input(5));
    if decay.is_some() != gates || beta.is_some() != corrects {
        return Err(ImportError::invalid(format!("decay and beta don't fit update_rule `{rule}`")));
    }
    let (heads, group) = (Dim::from(kv_heads), Dim::from(q_heads / kv_heads));
    let q_dims = cx.shape(query)?;
    let [batch, n_tokens, _] = &q_dims[..] else {
        return Err(ImportError::invalid("the query must have rank 3"));
    };
    let width = |cx: &NodeCx, x: ValueId| -> Result<Dim> {
        let dims = cx.shape(x)?;
        dims.get(2).cloned().ok_or_else(|| ImportError::invalid("every sequence must have rank 3"))
    };
    let key_size = q_dims[2].floor_div(&Dim::from(q_heads));
    let value_size = width(cx, value)?.floor_div(&heads);
    // Tokens first: [tokens, batch, heads, ..].
    let by_token = |cx: &mut NodeCx, x: ValueId, inner: &[Dim]| -> Result<ValueId> {
        let x = cx.cast(x, DType::F32)?;
        let x = cx.reshape(x, [&[batch.clone(), n_tokens.clone()], inner].concat())?;
        let perm = [1, 0].into_iter().chain(2..inner.len() + 2).collect();
        cx.transpose(x, perm)
    };
    let q = by_token(cx, query, &[heads.clone(), group.clone(), key_size.clone()])?;
    let mut passed = vec![
        q,
        by_token(cx, key, &[heads.clone(), key_size.clone()])?,
        by_token(cx, value, &[heads.clone(), value_size.clone()])?,
    ];
    if let Some(decay) = decay {
        let per_head = if width(cx, decay)? == heads { Dim::from(1) } else { key_size.clone() };
        let decay = by_token(cx, decay, &[heads.clone(), per_head, Dim::from(1)])?;
        passed.push(cx.unary(UnaryKind::Exp, decay)?);
    }
    if let Some(beta) = beta {
        let n_rates = width(cx, beta)?;
        passed.push(by_token(cx, beta, &[n_rates, Dim::from(1)])?);
    }
    let state_dims = vec![batch.clone(), heads.clone(), key_size.clone(), value_size.clone()];
    let (state, state_dtype) = match cx.optional_input(3) {
        Some(past) => (cx.cast(past, DType::F32)?, cx.dtype(past)?),
        None => {
            let zero = cx.scalar(DType::F32, 0.0)?;
            (cx.broadcast(zero, state_dims.clone())?, cx.dtype(query)?)
        }
    };
    if cx.rank(state)? != state_dims.len() {
        return Err(ImportError::invalid(format!("the past state has rank {}, not 4", cx.rank(state)?)));
    }
    let mut types = vec![
        ("iteration", Type::tensor(DType::I64, Vec::<Dim>::new())),
        ("condition", Type::tensor(DType::Bool, Vec::<Dim>::new())),
        ("state", cx.ty(state).clone()),
    ];
    types.extend(passed.iter().map(|&value| ("sequence", cx.ty(value).clone())));
    let body = cx.region("token", &types, &[], &[], |cx, inputs| {
        let token = |cx: &mut NodeCx, index: usize| cx.gather(inputs[3 + index], inputs[0], 0);
        let mut state = inputs[2];
        let (q, k, mut v) = (token(cx, 0)?, token(cx, 1)?, token(cx, 2)?);
        if gates {
            let kept = token(cx, 3)?;
            state = cx.binary(BinaryKind::Mul, state, kept)?;
        }
        if corrects {
            let found = cx.add(per_state(vec![2], vec![2]), &[state, k])?;
            let missing = cx.binary(BinaryKind::Sub, v, found)?;
            let rate = token(cx, 3 + usize::from(gates))?;
            v = cx.binary(BinaryKind::Mul, missing, rate)?;
        }
        let one = Dim::from(1);
        let dims = cx.shape(state)?;
        let row = cx.reshape(k, vec![dims[0].clone(), dims[1].clone(), dims[2].clone(), one.clone()])?;
        let column = cx.reshape(v, vec![dims[0].clone(), dims[1].clone(), one, dims[3].clone()])?;
        let written = cx.binary(BinaryKind::Mul, row, column)?;
        let state = cx.binary(BinaryKind::Add, state, written)?;
        let read = cx.add(per_state(vec![3], vec![2]), &[q, state])?;
        Ok(vec![inputs[1], state, read])
    })?;
    let trip = cx.sizes(vec![n_tokens.clone()])?;
    let mut inputs = vec![cx.reshape(trip, vec![])?, state];
    inputs.extend(passed);
    let op = Loop { body, n_carried: 1, has_trip: true, has_cond: false };
    let outputs = cx.add_all(op, &inputs)?;
    let scale = match cx.float("scale", 0.0)? {
        0.0 => {
            let size = dim_as_float(cx, &key_size)?;
            cx.binary_scalar(BinaryKind::Pow, size, -0.5)?
        }
        scale => cx.scalar(DType::F32, scale)?,
    };
    let scaled = cx.binary(BinaryKind::Mul, outputs[1], scale)?;
    let y = cx.transpose(scaled, vec![1, 0, 2, 3, 4])?;
    let y = cx.reshape(y, vec![batch.clone(), n_tokens.clone(), Dim::from(q_heads) * value_size])?;
    let y = cx.cast(y, cx.dtype(query)?)?;
    let state = cx.reshape(outputs[0], state_dims)?;
    Ok(vec![y, cx.cast(state, state_dtype)?])
}

/// A product for each head of each sample.
fn per_state(lhs: Vec<usize>, rhs: Vec<usize>) -> Contract {
    Contract { lhs_batch: vec![0, 1], rhs_batch: vec![0, 1], lhs, rhs, out: DType::F32 }
}
