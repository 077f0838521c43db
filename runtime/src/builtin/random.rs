//! Random tensors. One generator for all: xoshiro256++, seeded by splitmix64 from the seed and the number of the draw.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::number::{floats, store_floats, store_integers};
use super::{Builtin, Routine};
use crate::executor::{Call, Outcome};

/// Normally distributed numbers of the result's type and dims. An argument, if any, is ignored (it gave the shape).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RandomNormal {
    pub mean: f64,
    pub scale: f64,
    pub seed: Option<u64>,
}

/// Numbers evenly distributed in `low..high`, of the result's type and dims.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RandomUniform {
    pub low: f64,
    pub high: f64,
    pub seed: Option<u64>,
}

/// ONNX Bernoulli: 1 with the probability that the argument's element states, else 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bernoulli {
    pub seed: Option<u64>,
}

/// ONNX Multinomial. Argument: unnormalised log probabilities [batch, classes]. Result: class numbers [batch, samples].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Multinomial {
    pub samples: u64,
    pub seed: Option<u64>,
}

impl Builtin for RandomNormal {
    const NAME: &'static str = "random_normal";
    const INPUTS: RangeInclusive<usize> = 0..=1;
    const OUTPUTS: RangeInclusive<usize> = 1..=1;
}

impl Builtin for RandomUniform {
    const NAME: &'static str = "random_uniform";
    const INPUTS: RangeInclusive<usize> = 0..=1;
    const OUTPUTS: RangeInclusive<usize> = 1..=1;
}

impl Builtin for Bernoulli {
    const NAME: &'static str = "bernoulli";
    const INPUTS: RangeInclusive<usize> = 1..=1;
    const OUTPUTS: RangeInclusive<usize> = 1..=1;
}

impl Builtin for Multinomial {
    const NAME: &'static str = "multinomial";
    const INPUTS: RangeInclusive<usize> = 1..=1;
    const OUTPUTS: RangeInclusive<usize> = 1..=1;
}

impl Routine for RandomNormal {
    fn run(&self, call: &mut Call<'_>) -> Outcome {
        let mut generator = Generator::new(call.draw(self.seed));
        let numbers = std::iter::repeat_with(|| self.mean + self.scale * generator.normal());
        fill(call, numbers)
    }
}

impl Routine for RandomUniform {
    fn run(&self, call: &mut Call<'_>) -> Outcome {
        let mut generator = Generator::new(call.draw(self.seed));
        let numbers = std::iter::repeat_with(|| self.low + (self.high - self.low) * generator.uniform());
        fill(call, numbers)
    }
}

impl Routine for Bernoulli {
    fn run(&self, call: &mut Call<'_>) -> Outcome {
        let mut generator = Generator::new(call.draw(self.seed));
        let probabilities = floats(&call.tensor(0)?)?;
        fill(call, probabilities.map(|p| if generator.uniform() < p { 1.0 } else { 0.0 }))
    }
}

impl Routine for Multinomial {
    fn run(&self, call: &mut Call<'_>) -> Outcome {
        let mut generator = Generator::new(call.draw(self.seed));
        let input = call.tensor(0)?;
        let &[batches, classes] = input.shape else {
            return Err(format!("probabilities are {:?}, two dims are needed", input.shape).into());
        };
        if classes == 0 {
            return Err("there are no classes".into());
        }
        let logs: Vec<f64> = floats(&input)?.collect();
        let Some(dtype) = call.output_dtype(0) else { return Ok(()) };
        let out = call.output(0, dtype, &[batches, self.samples as i64])?;
        let picks = logs.chunks_exact(classes as usize).flat_map(|row| {
            // Subtracting the highest keeps the exponentials finite.
            let highest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let mut total = 0.0;
            let sums: Vec<f64> = row
                .iter()
                .map(|log| {
                    total += (log - highest).exp();
                    total
                })
                .collect();
            let mut pick = || {
                let at = generator.uniform() * total;
                sums.partition_point(|&sum| sum <= at).min(sums.len() - 1) as i64
            };
            (0..self.samples).map(|_| pick()).collect::<Vec<i64>>()
        });
        store_integers(dtype, out, picks)
    }
}

fn fill(call: &mut Call<'_>, numbers: impl Iterator<Item = f64>) -> Outcome {
    match call.output_dtype(0) {
        Some(dtype) => store_floats(dtype, call.declared_output(0)?, numbers),
        None => Ok(()),
    }
}

struct Generator {
    state: [u64; 4],
    /// Normal numbers are made in pairs.
    spare: Option<f64>,
}

impl Generator {
    fn new((seed, draw): (u64, u64)) -> Generator {
        let mut mix = seed ^ draw.wrapping_mul(0xd134_2543_de82_ef95);
        let state = std::array::from_fn(|_| {
            mix = mix.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let x = (mix ^ mix >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            x ^ x >> 31
        });
        Generator { state, spare: None }
    }

    fn next(&mut self) -> u64 {
        let s = &mut self.state;
        let out = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = s[3].rotate_left(45);
        out
    }

    /// In `0..1`.
    fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Box and Muller's method.
    fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        let angle = std::f64::consts::TAU * self.uniform();
        self.spare = Some(radius * angle.sin());
        radius * angle.cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_the_distributions() {
        let mut generator = Generator::new((1, 1));
        let n = 100_000;
        let mut moments = |draw: fn(&mut Generator) -> f64| {
            let numbers: Vec<f64> = (0..n).map(|_| draw(&mut generator)).collect();
            let mean = numbers.iter().sum::<f64>() / n as f64;
            let variance = numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64;
            (mean, variance)
        };
        let (mean, variance) = moments(Generator::normal);
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.02, "{mean} {variance}");
        let (mean, variance) = moments(Generator::uniform);
        assert!((mean - 0.5).abs() < 0.01 && (variance - 1.0 / 12.0).abs() < 0.002, "{mean} {variance}");
    }

    #[test]
    fn draws_differ_and_seeds_repeat() {
        let first = |seed, draw| Generator::new((seed, draw)).next();
        assert_eq!(first(5, 1), first(5, 1));
        assert_ne!(first(5, 1), first(5, 2));
        assert_ne!(first(5, 1), first(6, 1));
    }
}
