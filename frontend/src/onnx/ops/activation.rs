//! Activation functions, which are several steps of arithmetic, and Dropout.

use tcc_ir::attr::Float;
use tcc_ir::ops::{BinaryKind, Random, RandomKind, UnaryKind};
use tcc_ir::{Cmp, DType, Tensor, ValueId};

use super::precision::{compute_type, in_compute_type};
use super::{Entry, onnx};
use crate::onnx::node::{ImportError, NodeCx, Result};

pub(super) const TABLE: &[Entry] = &[
    onnx("Celu", 12, |cx| {
        let alpha = cx.float("alpha", 1.0)?;
        activation(cx, |cx, x| celu(cx, x, alpha))
    }),
    onnx("Dropout", 1, dropout_by_attributes),
    onnx("Dropout", 12, dropout),
    onnx("Elu", 1, |cx| {
        let alpha = cx.float("alpha", 1.0)?;
        activation(cx, |cx, x| elu(cx, x, alpha))
    }),
    onnx("Gelu", 20, |cx| match cx.string("approximate", "none")? {
        "none" => activation(cx, gelu),
        "tanh" => activation(cx, gelu_by_tanh),
        mode => Err(ImportError::invalid(format!("approximate is `{mode}`"))),
    }),
    onnx("HardSigmoid", 1, |cx| {
        let (alpha, beta) = (cx.float("alpha", 0.2)?, cx.float("beta", 0.5)?);
        activation(cx, |cx, x| hard_sigmoid(cx, x, alpha, beta))
    }),
    onnx("HardSwish", 14, |cx| {
        activation(cx, |cx, x| {
            let gate = hard_sigmoid(cx, x, 1.0 / 6.0, 0.5)?;
            cx.times(x, gate)
        })
    }),
    onnx("LeakyRelu", 1, |cx| {
        let alpha = cx.float("alpha", 0.01)?;
        activation(cx, |cx, x| {
            let scaled = cx.times_scalar(x, alpha)?;
            where_negative(cx, x, scaled, x)
        })
    }),
    onnx("Mish", 18, |cx| {
        activation(cx, |cx, x| {
            let soft = softplus(cx, x)?;
            let gate = cx.unary(UnaryKind::Tanh, soft)?;
            cx.times(x, gate)
        })
    }),
    onnx("PRelu", 1, prelu),
    onnx("Relu", 1, |cx| {
        cx.ignore_attribute("consumed_inputs");
        let x = cx.input(0)?;
        Ok(vec![cx.binary_scalar(BinaryKind::Max, x, 0.0)?])
    }),
    onnx("Selu", 1, |cx| {
        // The defaults are the standard's: the nearest f32 to the constants of the paper.
        let alpha = cx.float("alpha", f64::from(1.673_263_2_f32))?;
        let gamma = cx.float("gamma", f64::from(1.050_701_f32))?;
        activation(cx, |cx, x| {
            let y = elu(cx, x, alpha)?;
            cx.times_scalar(y, gamma)
        })
    }),
    onnx("Shrink", 9, shrink),
    onnx("Softplus", 1, |cx| activation(cx, softplus)),
    onnx("Softsign", 1, |cx| {
        activation(cx, |cx, x| {
            let magnitude = cx.unary(UnaryKind::Abs, x)?;
            let below = cx.plus_scalar(magnitude, 1.0)?;
            cx.over(x, below)
        })
    }),
    onnx("SwiGLU", 28, |cx| {
        let (alpha, gate, value) = (cx.float("alpha", 1.0)?, cx.input(0)?, cx.input(1)?);
        let dtype = cx.dtype(gate)?;
        let (a, b) = (cx.cast(gate, compute_type(dtype))?, cx.cast(value, compute_type(dtype))?);
        let a = swish(cx, a, alpha)?;
        let y = cx.times(a, b)?;
        let y = cx.cast(y, dtype)?;
        for (a, b) in cx.shape(gate)?.iter().zip(&cx.shape(value)?) {
            cx.require(y, Cmp::Eq, a, b, "the gate and the value differ in shape")?;
        }
        Ok(vec![y])
    }),
    onnx("Swish", 24, |cx| {
        let alpha = cx.float("alpha", 1.0)?;
        activation(cx, |cx, x| swish(cx, x, alpha))
    }),
    onnx("ThresholdedRelu", 1, |cx| {
        let alpha = cx.float("alpha", 1.0)?;
        let x = cx.input(0)?;
        let zero = cx.zero(cx.dtype(x)?);
        let is_above = cx.compare_scalar(Cmp::Gt, x, alpha)?;
        Ok(vec![cx.select(is_above, x, zero)?])
    }),
];

/// A function of the first input, computed in a type that is wide enough.
fn activation(
    cx: &mut NodeCx,
    f: impl FnOnce(&mut NodeCx, ValueId) -> Result<ValueId>,
) -> Result<Vec<ValueId>> {
    cx.ignore_attribute("consumed_inputs");
    let x = cx.input(0)?;
    Ok(vec![in_compute_type(cx, x, f)?])
}

/// `negative` where x < 0, else `other`.
fn where_negative(cx: &mut NodeCx, x: ValueId, negative: ValueId, other: ValueId) -> Result<ValueId> {
    let is_negative = cx.compare_scalar(Cmp::Lt, x, 0.0)?;
    cx.select(is_negative, negative, other)
}

/// `alpha * (exp(x) - 1)` below 0, else x.
pub(super) fn elu(cx: &mut NodeCx, x: ValueId, alpha: f64) -> Result<ValueId> {
    let below = cx.unary(UnaryKind::Expm1, x)?;
    let below = cx.times_scalar(below, alpha)?;
    where_negative(cx, x, below, x)
}

/// `max(0, x) + min(0, alpha * (exp(x / alpha) - 1))`.
fn celu(cx: &mut NodeCx, x: ValueId, alpha: f64) -> Result<ValueId> {
    let scaled = cx.binary_scalar(BinaryKind::Div, x, alpha)?;
    let below = cx.unary(UnaryKind::Expm1, scaled)?;
    let below = cx.times_scalar(below, alpha)?;
    let below = cx.binary_scalar(BinaryKind::Min, below, 0.0)?;
    let above = cx.binary_scalar(BinaryKind::Max, x, 0.0)?;
    cx.plus(above, below)
}

/// `x * (1 + erf(x / sqrt(2))) / 2`.
fn gelu(cx: &mut NodeCx, x: ValueId) -> Result<ValueId> {
    let scaled = cx.times_scalar(x, std::f64::consts::FRAC_1_SQRT_2)?;
    let erf = cx.unary(UnaryKind::Erf, scaled)?;
    half_gated(cx, x, erf)
}

/// `x * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))) / 2`.
fn gelu_by_tanh(cx: &mut NodeCx, x: ValueId) -> Result<ValueId> {
    let square = cx.square(x)?;
    let cube = cx.times(square, x)?;
    let cube = cx.times_scalar(cube, 0.044715)?;
    let inner = cx.plus(x, cube)?;
    let inner = cx.times_scalar(inner, std::f64::consts::FRAC_2_PI.sqrt())?;
    let tanh = cx.unary(UnaryKind::Tanh, inner)?;
    half_gated(cx, x, tanh)
}

/// `x * (1 + gate) / 2`.
fn half_gated(cx: &mut NodeCx, x: ValueId, gate: ValueId) -> Result<ValueId> {
    let gate = cx.plus_scalar(gate, 1.0)?;
    let half = cx.times_scalar(x, 0.5)?;
    cx.times(half, gate)
}

/// `alpha * x + beta`, held between 0 and 1.
pub(super) fn hard_sigmoid(cx: &mut NodeCx, x: ValueId, alpha: f64, beta: f64) -> Result<ValueId> {
    let scaled = cx.times_scalar(x, alpha)?;
    let line = cx.plus_scalar(scaled, beta)?;
    let line = cx.binary_scalar(BinaryKind::Max, line, 0.0)?;
    cx.binary_scalar(BinaryKind::Min, line, 1.0)
}

/// `log(1 + exp(x))`, which doesn't overflow.
pub(super) fn softplus(cx: &mut NodeCx, x: ValueId) -> Result<ValueId> {
    let magnitude = cx.unary(UnaryKind::Abs, x)?;
    let down = cx.unary(UnaryKind::Neg, magnitude)?;
    let small = cx.unary(UnaryKind::Exp, down)?;
    let tail = cx.unary(UnaryKind::Log1p, small)?;
    let above = cx.binary_scalar(BinaryKind::Max, x, 0.0)?;
    cx.plus(above, tail)
}

/// `x * sigmoid(alpha * x)`.
fn swish(cx: &mut NodeCx, x: ValueId, alpha: f64) -> Result<ValueId> {
    let scaled = cx.times_scalar(x, alpha)?;
    let gate = cx.unary(UnaryKind::Sigmoid, scaled)?;
    cx.times(x, gate)
}

/// The slope broadcasts to the input; before opset 7 it has one number or one for each channel.
fn prelu(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    cx.ignore_attribute("consumed_inputs");
    let (x, mut slope) = (cx.input(0)?, cx.input(1)?);
    let dims = cx.shape(x)?;
    let own = cx.shape(slope)?;
    if own.len() > dims.len() {
        return Err(ImportError::invalid("the slope has more dimensions than the input"));
    }
    if cx.opset() < 7 && own.len() == 1 && dims.len() > 2 && !own[0].is_const(1) {
        slope = super::conv::per_channel(cx, slope, dims.len())?;
    }
    let scaled = cx.times(slope, x)?;
    let y = where_negative(cx, x, scaled, x)?;
    for (from, to) in cx.shape(y)?.iter().zip(&dims) {
        cx.require(y, Cmp::Eq, from, to, "the slope doesn't broadcast to the input")?;
    }
    Ok(vec![y])
}

/// `x + bias` below `-lambd`, `x - bias` above `lambd`, else 0.
fn shrink(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let dtype = cx.dtype(x)?;
    let (limit, bias) = (cx.float("lambd", 0.5)?, cx.float("bias", 0.0)?);
    if dtype.is_int() && dtype.bits() > 32 {
        return Err(ImportError::unsupported(format!("{dtype} elements aren't supported")));
    }
    let y = in_compute_type(cx, x, |cx, x| {
        let zero = cx.zero(cx.dtype(x)?);
        let (up, down) = (cx.plus_scalar(x, bias)?, cx.plus_scalar(x, -bias)?);
        let is_below = cx.compare_scalar(Cmp::Lt, x, -limit)?;
        let is_above = cx.compare_scalar(Cmp::Gt, x, limit)?;
        let rest = cx.select(is_above, down, zero)?;
        cx.select(is_below, up, rest)
    })?;
    Ok(vec![y])
}

/// Until opset 12 an exported Dropout does nothing, unless it says (opset 1 and 6) that it is for training.
fn dropout_by_attributes(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    cx.ignore_attribute("consumed_inputs");
    let ratio = cx.float("ratio", 0.5)?;
    if cx.opset() < 7 && !cx.flag("is_test", false)? && ratio != 0.0 {
        return Err(ImportError::unsupported("training isn't supported before opset 12"));
    }
    let x = cx.input(0)?;
    let mask_type = if cx.opset() < 10 { cx.dtype(x)? } else { DType::Bool };
    let mask = all_true(cx, x)?;
    Ok(vec![x, cx.cast(mask, mask_type)?])
}

fn all_true(cx: &mut NodeCx, x: ValueId) -> Result<ValueId> {
    let dims = cx.shape(x)?;
    let one = cx.constant(Tensor::scalar_int(DType::Bool, 1));
    cx.broadcast(one, dims)
}

fn dropout(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let (x, ratio, training) = (cx.input(0)?, cx.optional_input(1), cx.optional_input(2));
    let seed = cx.int("seed", 0)?;
    let known =
        |training: ValueId| cx.constant_of(training).map(|tensor| tensor.ints().iter().any(|&v| v != 0));
    let is_off = training.is_none_or(|training| known(training) == Some(false));
    if is_off {
        return Ok(vec![x, all_true(cx, x)?]);
    }
    let (dtype, dims) = (cx.dtype(x)?, cx.shape(x)?);
    let wide = compute_type(dtype);
    let ratio = match ratio {
        Some(ratio) => {
            let ratio = cx.to_scalar(ratio, "the ratio")?;
            cx.cast(ratio, wide)?
        }
        None => cx.scalar(wide, 0.5)?,
    };
    // Without training the ratio is as good as 0.
    let ratio = match training {
        Some(training) => {
            let training = cx.to_scalar(training, "training_mode")?;
            let zero = cx.zero(wide);
            cx.select(training, ratio, zero)?
        }
        None => ratio,
    };
    let (a, b) = (Float(0.0), Float(1.0));
    let draw = cx.add(Random { kind: RandomKind::Uniform, dtype: wide, dims, a, b, seed }, &[])?;
    let mask = cx.compare(Cmp::Ge, draw, ratio)?;
    let one = cx.scalar(wide, 1.0)?;
    let kept = cx.minus(one, ratio)?;
    let y = in_compute_type(cx, x, |cx, x| {
        let scaled = cx.over(x, kept)?;
        let zero = cx.zero(wide);
        cx.select(mask, scaled, zero)
    })?;
    Ok(vec![y, mask])
}
