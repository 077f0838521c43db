//! Counts n-grams of a pool in sequences of integers or strings.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::{Builtin, Routine, integers};
use crate::executor::{Call, Outcome};
use crate::package::DType;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TfIdfMode {
    /// How often each n-gram appears.
    Tf,
    /// The weight of each n-gram that appears.
    Idf,
    /// How often, times the weight.
    TfIdf,
}

/// The n-grams one after the other: all of length 1, then all of length 2...
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Pool {
    Integers(Vec<i64>),
    Strings(Vec<String>),
}

/// ONNX TfIdfVectorizer. Argument: items [C] or [N, C]. Result: f32 [columns] or [N, columns].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TfIdfVectorizer {
    pub mode: TfIdfMode,
    pub min_gram_length: u64,
    pub max_gram_length: u64,
    pub max_skip_count: u64,
    /// Where in the pool the n-grams of each length start.
    pub ngram_counts: Vec<u64>,
    /// The column of each n-gram.
    pub ngram_indexes: Vec<u64>,
    pub pool: Pool,
    /// Weight of each n-gram; all 1 when empty.
    pub weights: Vec<f32>,
}

impl Builtin for TfIdfVectorizer {
    const NAME: &'static str = "tfidf_vectorizer";
    const INPUTS: RangeInclusive<usize> = 1..=1;
    const OUTPUTS: RangeInclusive<usize> = 1..=1;
}

impl Routine for TfIdfVectorizer {
    fn run(&self, call: &mut Call<'_>) -> Outcome {
        let shape = match &self.pool {
            Pool::Strings(_) => call.strings(0)?.0,
            Pool::Integers(_) => call.tensor(0)?.shape,
        };
        // Claimed before anything is sized by the attributes: the declared dims must agree with them.
        let mut out_shape = shape.to_vec();
        if let Some(last) = out_shape.last_mut() {
            *last = self.columns() as i64;
        }
        let out = call.output(0, DType::F32, &out_shape)?;
        let rows = match &self.pool {
            Pool::Strings(pool) => self.count(pool, call.strings(0)?.1, shape)?,
            Pool::Integers(pool) => {
                let items: Vec<i64> = integers(&call.tensor(0)?)?.collect();
                self.count(pool, &items, shape)?
            }
        };
        for (to, number) in out.chunks_exact_mut(4).zip(rows.iter().flatten()) {
            to.copy_from_slice(&number.to_ne_bytes());
        }
        Ok(())
    }
}

impl TfIdfVectorizer {
    fn columns(&self) -> usize {
        self.ngram_indexes.iter().max().map_or(0, |&highest| (highest as usize).saturating_add(1))
    }

    /// The result's rows.
    fn count<T: Ord>(&self, pool: &[T], items: &[T], shape: &[i64]) -> Outcome<Vec<Vec<f32>>> {
        let length = match *shape {
            [length] | [_, length] => length as usize,
            _ => return Err(format!("the items are {shape:?}, [C] or [N, C] are needed").into()),
        };
        let grams = self.grams(pool)?;
        let rows = if shape.len() == 1 { 1 } else { shape[0] as usize };
        Ok((0..rows).map(|row| self.row(&grams, &items[row * length..][..length])).collect())
    }

    /// Number of each n-gram of the lengths that are looked for.
    fn grams<'a, T: Ord>(&self, pool: &'a [T]) -> Outcome<BTreeMap<Vec<&'a T>, usize>> {
        let mut grams = BTreeMap::new();
        let mut number = 0;
        for (at, &start) in self.ngram_counts.iter().enumerate() {
            let end = self.ngram_counts.get(at + 1).map_or(pool.len(), |&end| end as usize);
            let part = pool.get(start as usize..end).ok_or("the pool is shorter than its counts say")?;
            for gram in part.chunks_exact(at + 1) {
                grams.insert(gram.iter().collect(), number);
                number += 1;
            }
        }
        if number != self.ngram_indexes.len() || !(self.weights.is_empty() || self.weights.len() == number) {
            return Err(format!("{number} n-grams have {} columns", self.ngram_indexes.len()).into());
        }
        Ok(grams)
    }

    fn row<T: Ord>(&self, grams: &BTreeMap<Vec<&T>, usize>, items: &[T]) -> Vec<f32> {
        let mut counts = vec![0u32; self.ngram_indexes.len()];
        for n in self.min_gram_length.max(1)..=self.max_gram_length {
            for step in 1..=self.max_skip_count as usize + 1 {
                let span = (n as usize - 1).saturating_mul(step);
                for start in 0..items.len().saturating_sub(span) {
                    let gram: Vec<&T> = items[start..=start + span].iter().step_by(step).collect();
                    if let Some(&number) = grams.get(&gram) {
                        counts[number] += 1;
                    }
                }
                // A single item has no gaps to skip.
                if n == 1 {
                    break;
                }
            }
        }
        let mut row = vec![0.0; self.columns()];
        for (number, &count) in counts.iter().enumerate() {
            let weight = self.weights.get(number).copied().unwrap_or(1.0);
            let column = self.ngram_indexes[number] as usize;
            row[column] += match self.mode {
                TfIdfMode::Tf => count as f32,
                TfIdfMode::Idf => {
                    if count > 0 {
                        weight
                    } else {
                        0.0
                    }
                }
                TfIdfMode::TfIdf => count as f32 * weight,
            };
        }
        row
    }
}
