//! Functions of elements: arithmetic, logic, comparison, rounding.

use tcc_ir::ops::{BinaryKind, UnaryKind};
use tcc_ir::{Cmp, Dim, ValueId};

use super::{Entry, onnx};
use crate::onnx::node::{ImportError, NodeCx, Result};

pub(super) const TABLE: &[Entry] = &[
    onnx("Abs", 1, |cx| unary(cx, UnaryKind::Abs)),
    onnx("Acos", 7, |cx| unary(cx, UnaryKind::Acos)),
    onnx("Acosh", 9, |cx| unary(cx, UnaryKind::Acosh)),
    onnx("Add", 1, |cx| binary(cx, BinaryKind::Add)),
    onnx("And", 1, |cx| binary(cx, BinaryKind::And)),
    onnx("Asin", 7, |cx| unary(cx, UnaryKind::Asin)),
    onnx("Asinh", 9, |cx| unary(cx, UnaryKind::Asinh)),
    onnx("Atan", 7, |cx| unary(cx, UnaryKind::Atan)),
    onnx("Atanh", 9, |cx| unary(cx, UnaryKind::Atanh)),
    onnx("BitShift", 11, bit_shift),
    onnx("BitwiseAnd", 18, |cx| binary(cx, BinaryKind::And)),
    onnx("BitwiseNot", 18, |cx| unary(cx, UnaryKind::Not)),
    onnx("BitwiseOr", 18, |cx| binary(cx, BinaryKind::Or)),
    onnx("BitwiseXor", 18, |cx| binary(cx, BinaryKind::Xor)),
    onnx("Ceil", 1, |cx| unary(cx, UnaryKind::Ceil)),
    onnx("Clip", 1, clip_by_attributes),
    onnx("Clip", 11, clip),
    onnx("Cos", 7, |cx| unary(cx, UnaryKind::Cos)),
    onnx("Cosh", 9, |cx| unary(cx, UnaryKind::Cosh)),
    onnx("Div", 1, |cx| binary(cx, BinaryKind::Div)),
    onnx("Equal", 1, |cx| compare(cx, Cmp::Eq)),
    onnx("Erf", 9, |cx| unary(cx, UnaryKind::Erf)),
    onnx("Exp", 1, |cx| unary(cx, UnaryKind::Exp)),
    onnx("Floor", 1, |cx| unary(cx, UnaryKind::Floor)),
    onnx("Greater", 1, |cx| compare(cx, Cmp::Gt)),
    onnx("GreaterOrEqual", 12, |cx| compare(cx, Cmp::Ge)),
    onnx("Identity", 1, |cx| Ok(vec![cx.input(0)?])),
    onnx("IsInf", 10, is_inf),
    onnx("IsNaN", 9, |cx| unary(cx, UnaryKind::IsNan)),
    onnx("Less", 1, |cx| compare(cx, Cmp::Lt)),
    onnx("LessOrEqual", 12, |cx| compare(cx, Cmp::Le)),
    onnx("Log", 1, |cx| unary(cx, UnaryKind::Log)),
    onnx("Max", 1, |cx| variadic(cx, BinaryKind::Max)),
    onnx("Mean", 1, mean),
    onnx("Min", 1, |cx| variadic(cx, BinaryKind::Min)),
    onnx("Mod", 10, modulo),
    onnx("Mul", 1, |cx| binary(cx, BinaryKind::Mul)),
    onnx("Neg", 1, |cx| unary(cx, UnaryKind::Neg)),
    onnx("Not", 1, |cx| unary(cx, UnaryKind::Not)),
    onnx("Or", 1, |cx| binary(cx, BinaryKind::Or)),
    onnx("Reciprocal", 1, |cx| unary(cx, UnaryKind::Reciprocal)),
    onnx("Round", 11, |cx| unary(cx, UnaryKind::Round)),
    onnx("Sigmoid", 1, |cx| unary(cx, UnaryKind::Sigmoid)),
    onnx("Sign", 9, |cx| unary(cx, UnaryKind::Sign)),
    onnx("Sin", 7, |cx| unary(cx, UnaryKind::Sin)),
    onnx("Sinh", 9, |cx| unary(cx, UnaryKind::Sinh)),
    onnx("Sqrt", 1, |cx| unary(cx, UnaryKind::Sqrt)),
    onnx("Sub", 1, |cx| binary(cx, BinaryKind::Sub)),
    onnx("Sum", 1, |cx| variadic(cx, BinaryKind::Add)),
    onnx("Tan", 7, |cx| unary(cx, UnaryKind::Tan)),
    onnx("Tanh", 1, |cx| unary(cx, UnaryKind::Tanh)),
    onnx("Xor", 1, |cx| binary(cx, BinaryKind::Xor)),
];

fn unary(cx: &mut NodeCx, kind: UnaryKind) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    Ok(vec![cx.unary(kind, x)?])
}

fn binary(cx: &mut NodeCx, kind: BinaryKind) -> Result<Vec<ValueId>> {
    let (a, b) = operands(cx)?;
    Ok(vec![cx.binary(kind, a, b)?])
}

fn compare(cx: &mut NodeCx, cmp: Cmp) -> Result<Vec<ValueId>> {
    let (a, b) = operands(cx)?;
    Ok(vec![cx.compare(cmp, a, b)?])
}

/// Both operands, shaped so that they broadcast by the rule of opset 7 and later.
fn operands(cx: &mut NodeCx) -> Result<(ValueId, ValueId)> {
    let (a, b) = (cx.input(0)?, cx.input(1)?);
    if cx.opset() >= 7 {
        return Ok((a, b));
    }
    // Before, `broadcast` = 1 aligns the second operand with the first's dims from `axis` on, and its
    // absence asks for equal shapes (which the rule of today takes too).
    let axis = cx.opt_int("axis")?;
    if !cx.flag("broadcast", false)? {
        return Ok((a, b));
    }
    let Some(axis) = axis else { return Ok((a, b)) };
    let (rank_a, mut dims) = (cx.rank(a)?, cx.shape(b)?);
    let trailing = rank_a.checked_sub(cx.axis(axis, rank_a)? + dims.len()).ok_or_else(|| {
        ImportError::invalid(format!("axis {axis} leaves too few dimensions for the second operand"))
    })?;
    dims.extend(std::iter::repeat_n(Dim::from(1), trailing));
    Ok((a, cx.reshape(b, dims)?))
}

/// A binary operator over any number of inputs, from left to right.
fn variadic(cx: &mut NodeCx, kind: BinaryKind) -> Result<Vec<ValueId>> {
    cx.input(0)?;
    let mut inputs = cx.inputs()?.into_iter();
    let first = inputs.next().into_iter().collect();
    inputs.try_fold(first, |sum: Vec<ValueId>, input| Ok(vec![cx.binary(kind, sum[0], input)?]))
}

fn mean(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let sum = variadic(cx, BinaryKind::Add)?[0];
    let n_inputs = cx.n_inputs() as f64;
    Ok(vec![cx.binary_scalar(BinaryKind::Div, sum, n_inputs)?])
}

fn modulo(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let is_fmod = cx.flag("fmod", false)?;
    if !is_fmod && cx.opset() < 28 && cx.dtype(cx.input(0)?)?.is_float() {
        return Err(ImportError::invalid("fmod must be 1 for floats"));
    }
    binary(cx, if is_fmod { BinaryKind::Rem } else { BinaryKind::Mod })
}

fn bit_shift(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let kind = match cx.opt_string("direction")? {
        Some("LEFT") => BinaryKind::Shl,
        Some("RIGHT") => BinaryKind::Shr,
        _ => return Err(ImportError::invalid("direction must be LEFT or RIGHT")),
    };
    binary(cx, kind)
}

fn is_inf(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let dtype = cx.dtype(x)?;
    let infinity = |cx: &mut NodeCx, sign: f64| cx.scalar(dtype, sign * f64::INFINITY);
    let y = match (cx.flag("detect_positive", true)?, cx.flag("detect_negative", true)?) {
        (true, true) => {
            let (magnitude, infinity) = (cx.unary(UnaryKind::Abs, x)?, infinity(cx, 1.0)?);
            cx.compare(Cmp::Eq, magnitude, infinity)?
        }
        (true, false) => {
            let infinity = infinity(cx, 1.0)?;
            cx.compare(Cmp::Eq, x, infinity)?
        }
        (false, true) => {
            let infinity = infinity(cx, -1.0)?;
            cx.compare(Cmp::Eq, x, infinity)?
        }
        // Nothing is less than itself.
        (false, false) => cx.compare(Cmp::Lt, x, x)?,
    };
    Ok(vec![y])
}

fn clip_by_attributes(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let (low, high) = (cx.opt_float("min")?, cx.opt_float("max")?);
    let y = match low {
        Some(low) => cx.binary_scalar(BinaryKind::Max, x, low)?,
        None => x,
    };
    match high {
        Some(high) => Ok(vec![cx.binary_scalar(BinaryKind::Min, y, high)?]),
        None => Ok(vec![y]),
    }
}

fn clip(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let mut y = cx.input(0)?;
    for (index, kind) in [(1, BinaryKind::Max), (2, BinaryKind::Min)] {
        let Some(bound) = cx.optional_input(index) else { continue };
        let bound = cx.to_scalar(bound, "a bound")?;
        y = cx.binary(kind, y, bound)?;
    }
    Ok(vec![y])
}
