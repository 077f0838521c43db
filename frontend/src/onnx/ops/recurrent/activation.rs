//! The activations that a recurrent operator names.

use tcc_ir::ops::{BinaryKind, UnaryKind};
use tcc_ir::{Cmp, ValueId};

use crate::onnx::node::{ImportError, NodeCx, Result};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Affine,
    Elu,
    HardSigmoid,
    LeakyRelu,
    Relu,
    ScaledTanh,
    Sigmoid,
    Softplus,
    Softsign,
    Tanh,
    ThresholdedRelu,
}

/// Name, and the defaults of alpha and beta where the function has them.
const KINDS: &[(&str, Kind, Option<f64>, Option<f64>)] = &[
    ("affine", Kind::Affine, Some(1.0), Some(0.0)),
    ("elu", Kind::Elu, Some(1.0), None),
    ("hardsigmoid", Kind::HardSigmoid, Some(0.2), Some(0.5)),
    ("leakyrelu", Kind::LeakyRelu, Some(0.01), None),
    ("relu", Kind::Relu, None, None),
    ("scaledtanh", Kind::ScaledTanh, Some(1.0), Some(1.0)),
    ("sigmoid", Kind::Sigmoid, None, None),
    ("softplus", Kind::Softplus, None, None),
    ("softsign", Kind::Softsign, None, None),
    ("tanh", Kind::Tanh, None, None),
    ("thresholdedrelu", Kind::ThresholdedRelu, Some(1.0), None),
];

/// A function with its parameters, and what its argument is held within.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Activation {
    kind: Kind,
    alpha: f64,
    beta: f64,
    clip: Option<f64>,
}

/// The activations of all directions, `defaults` for each where the node names none. The parameters are listed
/// for those functions alone that have them.
pub(super) fn read(cx: &NodeCx, n_directions: usize, defaults: &[&str]) -> Result<Vec<Vec<Activation>>> {
    let names: Vec<&str> = match cx.opt_strings("activations")? {
        Some(names) => names.iter().map(String::as_str).collect(),
        None => defaults.repeat(n_directions),
    };
    if names.len() != n_directions * defaults.len() {
        return Err(ImportError::invalid(format!(
            "{} activations are named, not {}",
            names.len(),
            n_directions * defaults.len()
        )));
    }
    let clip = cx.opt_float("clip")?.filter(|&clip| clip > 0.0);
    let mut alphas = cx.opt_floats("activation_alpha")?.unwrap_or_default().iter();
    let mut betas = cx.opt_floats("activation_beta")?.unwrap_or_default().iter();
    let mut activations = Vec::new();
    for name in names {
        let lower = name.to_ascii_lowercase();
        let &(_, kind, alpha, beta) = KINDS
            .iter()
            .find(|(known, ..)| *known == lower)
            .ok_or_else(|| ImportError::invalid(format!("activation `{name}` is unknown")))?;
        let parameter = |default: Option<f64>, given: &mut std::slice::Iter<f32>| match default {
            Some(default) => given.next().map_or(default, |&value| f64::from(value)),
            None => 0.0,
        };
        let (alpha, beta) = (parameter(alpha, &mut alphas), parameter(beta, &mut betas));
        activations.push(Activation { kind, alpha, beta, clip });
    }
    Ok(activations.chunks(defaults.len()).map(<[Activation]>::to_vec).collect())
}

impl Activation {
    /// The function without holding its argument within bounds.
    pub(super) fn unclipped(self) -> Self {
        Activation { clip: None, ..self }
    }

    pub(super) fn apply(&self, cx: &mut NodeCx, x: ValueId) -> Result<ValueId> {
        let x = match self.clip {
            Some(clip) => {
                let above = cx.binary_scalar(BinaryKind::Max, x, -clip)?;
                cx.binary_scalar(BinaryKind::Min, above, clip)?
            }
            None => x,
        };
        let (alpha, beta) = (self.alpha, self.beta);
        match self.kind {
            Kind::Relu => cx.binary_scalar(BinaryKind::Max, x, 0.0),
            Kind::Sigmoid => cx.unary(UnaryKind::Sigmoid, x),
            Kind::Tanh => cx.unary(UnaryKind::Tanh, x),
            Kind::Affine => affine(cx, x, alpha, beta),
            Kind::ScaledTanh => {
                let scaled = cx.binary_scalar(BinaryKind::Mul, x, beta)?;
                let tanh = cx.unary(UnaryKind::Tanh, scaled)?;
                cx.binary_scalar(BinaryKind::Mul, tanh, alpha)
            }
            Kind::HardSigmoid => {
                let line = affine(cx, x, alpha, beta)?;
                let above = cx.binary_scalar(BinaryKind::Max, line, 0.0)?;
                cx.binary_scalar(BinaryKind::Min, above, 1.0)
            }
            Kind::LeakyRelu => {
                let below = cx.binary_scalar(BinaryKind::Mul, x, alpha)?;
                where_at_least_zero(cx, x, x, below)
            }
            Kind::Elu => {
                let power = cx.unary(UnaryKind::Exp, x)?;
                let grown = cx.binary_scalar(BinaryKind::Sub, power, 1.0)?;
                let below = cx.binary_scalar(BinaryKind::Mul, grown, alpha)?;
                where_at_least_zero(cx, x, x, below)
            }
            Kind::ThresholdedRelu => {
                let dtype = cx.dtype(x)?;
                let (threshold, zero) = (cx.scalar(dtype, alpha)?, cx.scalar(dtype, 0.0)?);
                let is_above = cx.compare(Cmp::Gt, x, threshold)?;
                cx.select(is_above, x, zero)
            }
            Kind::Softsign => {
                let magnitude = cx.unary(UnaryKind::Abs, x)?;
                let divisor = cx.binary_scalar(BinaryKind::Add, magnitude, 1.0)?;
                cx.binary(BinaryKind::Div, x, divisor)
            }
            Kind::Softplus => {
                // log(1 + e^x) = max(x, 0) + log(1 + e^-|x|), which doesn't overflow.
                let magnitude = cx.unary(UnaryKind::Abs, x)?;
                let negative = cx.unary(UnaryKind::Neg, magnitude)?;
                let power = cx.unary(UnaryKind::Exp, negative)?;
                let sum = cx.binary_scalar(BinaryKind::Add, power, 1.0)?;
                let log = cx.unary(UnaryKind::Log, sum)?;
                let positive = cx.binary_scalar(BinaryKind::Max, x, 0.0)?;
                cx.binary(BinaryKind::Add, positive, log)
            }
        }
    }
}

fn affine(cx: &mut NodeCx, x: ValueId, alpha: f64, beta: f64) -> Result<ValueId> {
    let scaled = cx.binary_scalar(BinaryKind::Mul, x, alpha)?;
    cx.binary_scalar(BinaryKind::Add, scaled, beta)
}

fn where_at_least_zero(cx: &mut NodeCx, x: ValueId, then: ValueId, otherwise: ValueId) -> Result<ValueId> {
    let zero = cx.scalar(cx.dtype(x)?, 0.0)?;
    let is_below = cx.compare(Cmp::Lt, x, zero)?;
    cx.select(is_below, otherwise, then)
}
