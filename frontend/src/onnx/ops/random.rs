//! Random tensors. Without a seed each node gets one made from its name, so that runs can be repeated.

use tcc_ir::attr::Float;
use tcc_ir::ops::{Random, RandomKind};
use tcc_ir::{DType, Dim, ValueId};

use super::{Entry, onnx};
use crate::onnx::node::{ImportError, NodeCx, Result};

pub(super) const TABLE: &[Entry] = &[
    onnx("Bernoulli", 15, |cx| {
        let x = cx.input(0)?;
        let dtype = dtype_or_that_of(cx, x)?;
        let dims = cx.shape(x)?;
        draw(cx, RandomKind::Bernoulli, dtype, dims, (0.0, 1.0), &[x])
    }),
    onnx("Multinomial", 7, multinomial),
    onnx("RandomNormal", 1, |cx| of_shape(cx, RandomKind::Normal)),
    onnx("RandomNormalLike", 1, |cx| like(cx, RandomKind::Normal)),
    onnx("RandomUniform", 1, |cx| of_shape(cx, RandomKind::Uniform)),
    onnx("RandomUniformLike", 1, |cx| like(cx, RandomKind::Uniform)),
];

fn of_shape(cx: &mut NodeCx, kind: RandomKind) -> Result<Vec<ValueId>> {
    let dtype = cx.opt_dtype("dtype")?.unwrap_or(DType::F32);
    let dims = cx.required_ints("shape")?.iter().map(|&dim| Dim::from(dim)).collect();
    let parameters = parameters(cx, kind)?;
    draw(cx, kind, dtype, dims, parameters, &[])
}

fn like(cx: &mut NodeCx, kind: RandomKind) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let dtype = dtype_or_that_of(cx, x)?;
    let dims = cx.shape(x)?;
    let parameters = parameters(cx, kind)?;
    draw(cx, kind, dtype, dims, parameters, &[])
}

fn dtype_or_that_of(cx: &NodeCx, x: ValueId) -> Result<DType> {
    match cx.opt_dtype("dtype")? {
        Some(dtype) => Ok(dtype),
        None => cx.dtype(x),
    }
}

fn parameters(cx: &NodeCx, kind: RandomKind) -> Result<(f64, f64)> {
    let names = if kind == RandomKind::Normal { ["mean", "scale"] } else { ["low", "high"] };
    Ok((cx.float(names[0], 0.0)?, cx.float(names[1], 1.0)?))
}

fn multinomial(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let dtype = cx.opt_dtype("dtype")?.unwrap_or(DType::I32);
    let dims = match &cx.shape(x)?[..] {
        [batch, _] => vec![batch.clone(), Dim::from(cx.int("sample_size", 1)?)],
        dims => return Err(ImportError::invalid(format!("the input has rank {}, not 2", dims.len()))),
    };
    draw(cx, RandomKind::Multinomial, dtype, dims, (0.0, 1.0), &[x])
}

fn draw(
    cx: &mut NodeCx,
    kind: RandomKind,
    dtype: DType,
    dims: Vec<Dim>,
    (a, b): (f64, f64),
    inputs: &[ValueId],
) -> Result<Vec<ValueId>> {
    let seed = match cx.opt_float("seed")? {
        Some(seed) => seed.to_bits().cast_signed(),
        None => seed_of(&cx.node.label.name),
    };
    Ok(vec![cx.add(Random { kind, dtype, dims, a: Float(a), b: Float(b), seed }, inputs)?])
}

/// FNV-1a of a name: the same on every machine.
fn seed_of(name: &str) -> i64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    name.bytes().fold(0xcbf2_9ce4_8422_2325, step).cast_signed()
}
