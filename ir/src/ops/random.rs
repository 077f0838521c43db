//! Random tensors.

use crate::attr::Float;
use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::{Tensor, Value};
use crate::types::{DType, Dim, Type};

crate::attr_enum! {
    /// A distribution.
    pub enum RandomKind {
        /// Normal with mean `a` and standard deviation `b`.
        Normal = "normal",
        /// Uniform in [`a`, `b`).
        Uniform = "uniform",
        /// 1 with the probability given by the input at the same place, else 0.
        Bernoulli = "bernoulli",
        /// Class numbers, drawn by the unnormalised log-probabilities [batch, classes] in the input; `dims` is
        /// [batch, samples].
        Multinomial = "multinomial",
    }
}

crate::attrs! {
    /// Numbers drawn from a distribution, of element type `dtype` and shape `dims`. `normal` and `uniform` take no
    /// input, `bernoulli` and `multinomial` one. The generator counts: element i depends on `seed` and i only. With
    /// `u(n) = (splitmix64(seed + (n+1) * 0x9e3779b97f4a7c15) >> 11) / 2^53`, `uniform` is `a + (b-a) * u(i)`,
    /// `normal` is `a + b * sqrt(-2 ln(1 - u(2i))) * cos(2 pi u(2i+1))`, `bernoulli` is `u(i) < p`, and `multinomial`
    /// is the first class at which the running probability is above u(i).
    pub struct Random {
        pub kind: RandomKind,
        pub dtype: DType,
        pub dims: Vec<Dim>,
        pub a: Float,
        pub b: Float,
        pub seed: i64,
    }
}

impl Random {
    fn uniform(&self, n: u64) -> f64 {
        let state = (self.seed as u64).wrapping_add(n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mix = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mix = (mix ^ (mix >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mix ^ (mix >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn normal(&self, i: u64) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform(2 * i)).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform(2 * i + 1)).cos()
    }

    fn takes_input(&self) -> bool {
        matches!(self.kind, RandomKind::Bernoulli | RandomKind::Multinomial)
    }
}

impl OpDef for Random {
    const NAME: &'static str = "random";

    fn arity(&self) -> Arity {
        Arity::exactly(usize::from(self.takes_input()))
    }

    fn infer(&self, cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        let continuous = matches!(self.kind, RandomKind::Normal | RandomKind::Uniform);
        let fits = if continuous {
            self.dtype.is_float()
        } else {
            self.dtype.is_float() || self.dtype.is_int() || self.dtype == DType::Bool
        };
        if !fits {
            return Err(Mismatch::new(format!("no {} numbers of type {}", self.kind.name(), self.dtype)));
        }
        for d in &self.dims {
            cx.require(crate::types::Cmp::Ge, d, &Dim::from(0), "a size is negative")?;
        }
        if self.takes_input() {
            let x = ins[0].tensor()?;
            if !x.dtype.is_float() {
                return Err(Mismatch::new(format!("probabilities should be floats, are {x}")));
            }
            if self.kind == RandomKind::Bernoulli {
                cx.same_shape(&x.shape, &self.dims, "a probability for each number")?;
            } else {
                if x.rank() != 2 || self.dims.len() != 2 {
                    return Err(Mismatch::new(format!(
                        "log-probabilities should be [batch, classes], are {x}"
                    )));
                }
                cx.same(&x.shape[0], &self.dims[0], "a row of log-probabilities for each row of samples")?;
                cx.require(crate::types::Cmp::Ge, &x.shape[1], &Dim::from(1), "no class to draw from")?;
            }
        }
        Ok(vec![Type::tensor(self.dtype, &self.dims)])
    }

    fn eval(&self, cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let (dtype, shape) = cx.out(0)?;
        let n = crate::tensor::n_elements(&shape).unwrap_or(0);
        let (a, b) = (self.a.0, self.b.0);
        let drawn: Vec<f64> = match self.kind {
            RandomKind::Normal => (0..n as u64).map(|i| a + b * self.normal(i)).collect(),
            RandomKind::Uniform => (0..n as u64).map(|i| a + (b - a) * self.uniform(i)).collect(),
            RandomKind::Bernoulli => {
                let p = ins[0].tensor().floats();
                p.iter().enumerate().map(|(i, p)| f64::from(u8::from(self.uniform(i as u64) < *p))).collect()
            }
            RandomKind::Multinomial => {
                let x = ins[0].tensor();
                let classes = x.shape()[1];
                let rows: Vec<Vec<f64>> =
                    x.floats().chunks_exact(classes.max(1)).map(running_probabilities).collect();
                let samples = shape[1];
                let draw = |i: usize| {
                    let u = self.uniform(i as u64);
                    rows[i / samples].iter().position(|p| u < *p).unwrap_or(classes - 1) as f64
                };
                (0..n).map(draw).collect()
            }
        };
        Ok(vec![Value::Tensor(if dtype.is_float() {
            Tensor::from_floats(dtype, shape, drawn)
        } else {
            Tensor::from_ints(dtype, shape, drawn.into_iter().map(|v| v as i128))
        })])
    }

    fn is_random(&self) -> bool {
        true
    }
}

/// Running sums of the normalised probabilities behind log-probabilities.
fn running_probabilities(logs: &[f64]) -> Vec<f64> {
    let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logs.iter().map(|l| (l - top).exp()).collect();
    let total: f64 = weights.iter().sum();
    let mut sum = 0.0;
    weights
        .iter()
        .map(|w| {
            sum += w;
            sum / total
        })
        .collect()
}
