//! Sequences and optionals.

use tcc_ir::ops::{
    ConcatFromSequence, OptionalGet, OptionalHas, OptionalNone, OptionalSome, SequenceAt, SequenceConstruct,
    SequenceEmpty, SequenceErase, SequenceInsert, SequenceLength, SplitToSequence,
};
use tcc_ir::{DType, Op, Type, ValueId};

use super::{Entry, onnx};
use crate::onnx::node::{ImportError, NodeCx, Result};

pub(super) const TABLE: &[Entry] = &[
    onnx("ConcatFromSequence", 11, concat_from_sequence),
    onnx("Optional", 15, optional),
    onnx("OptionalGetElement", 15, |cx| {
        let x = cx.input(0)?;
        match cx.ty(x) {
            Type::Optional(_) => Ok(vec![cx.add(OptionalGet {}, &[x])?]),
            _ => Ok(vec![x]),
        }
    }),
    onnx("OptionalHasElement", 15, |cx| {
        let x = cx.optional_input(0);
        match x.map(|x| (x, cx.ty(x))) {
            Some((x, Type::Optional(_))) => Ok(vec![cx.add(OptionalHas {}, &[x])?]),
            other => {
                let has = f64::from(u8::from(other.is_some()));
                Ok(vec![cx.scalar(DType::Bool, has)?])
            }
        }
    }),
    onnx("SequenceAt", 11, |cx| all_inputs(cx, SequenceAt {})),
    onnx("SequenceConstruct", 11, |cx| all_inputs(cx, SequenceConstruct {})),
    onnx("SequenceEmpty", 11, |cx| {
        let ty = Type::Unranked(cx.opt_dtype("dtype")?.unwrap_or(DType::F32));
        Ok(vec![cx.add(SequenceEmpty { ty }, &[])?])
    }),
    onnx("SequenceErase", 11, |cx| all_inputs(cx, SequenceErase {})),
    onnx("SequenceInsert", 11, |cx| all_inputs(cx, SequenceInsert {})),
    onnx("SequenceLength", 11, |cx| all_inputs(cx, SequenceLength {})),
    onnx("SplitToSequence", 11, split_to_sequence),
];

/// The operator of the same name, on whichever inputs are given; only the last one can be left out.
fn all_inputs(cx: &mut NodeCx, op: impl Into<Op>) -> Result<Vec<ValueId>> {
    let inputs: Vec<ValueId> = (0..cx.n_inputs()).filter_map(|index| cx.optional_input(index)).collect();
    let inputs = inputs.into_iter().enumerate().map(|(index, value)| match index {
        0 => Ok(value),
        _ => as_position(cx, value),
    });
    let inputs = inputs.collect::<Result<Vec<ValueId>>>()?;
    Ok(vec![cx.add(op, &inputs)?])
}

/// Positions may be int32 or int64: the IR takes int64.
fn as_position(cx: &mut NodeCx, value: ValueId) -> Result<ValueId> {
    let is_position = matches!(cx.op_type(), "SequenceAt" | "SequenceErase" | "SequenceInsert")
        && cx.ty(value).as_tensor().is_some_and(|ty| ty.dtype == DType::I32 && ty.n_elements().is_const(1));
    if is_position && Some(value) == cx.optional_input(cx.n_inputs() - 1) {
        return cx.cast(value, DType::I64);
    }
    Ok(value)
}

fn optional(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    match (cx.optional_input(0), cx.stated_element_type("type")?) {
        (Some(value), _) => Ok(vec![cx.add(OptionalSome {}, &[value])?]),
        (None, Some(ty)) => Ok(vec![cx.add(OptionalNone { ty }, &[])?]),
        (None, None) => Err(ImportError::invalid("neither a value nor a type is given")),
    }
}

fn concat_from_sequence(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let new_axis = cx.flag("new_axis", false)?;
    let axis = cx.required_int("axis")?;
    let rank = match cx.ty(x) {
        Type::Sequence(element) => element.as_tensor().map(|ty| ty.rank() + usize::from(new_axis)),
        _ => None,
    };
    let axis = match rank {
        Some(rank) => cx.axis(axis, rank)?,
        None => return Err(ImportError::unsupported("the rank of the sequence's elements isn't known")),
    };
    Ok(vec![cx.add(ConcatFromSequence { axis, new_axis }, &[x])?])
}

fn split_to_sequence(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let axis = cx.axis(cx.int("axis", 0)?, cx.rank(x)?)?;
    let keepdims = cx.flag("keepdims", true)?;
    let mut inputs = vec![x];
    inputs.extend(cx.optional_input(1));
    Ok(vec![cx.add(SplitToSequence { axis, keepdims }, &inputs)?])
}
