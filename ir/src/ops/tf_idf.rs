//! Counts of n-grams.

use crate::attr::Float;
use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::{Tensor, Value};
use crate::types::{DType, Dim, Type};
use std::collections::HashMap;

crate::attr_enum! {
    /// What is said of an n-gram.
    pub enum TfIdfMode {
        /// How often it occurs.
        Tf = "tf",
        /// Its weight if it occurs, else 0.
        Idf = "idf",
        /// How often it occurs times its weight.
        TfIdf = "tfidf",
    }
}

crate::attrs! {
    /// Counts the n-grams of a pool in x, [c] or [rows, c] of integers or strings; gives f32 [m] or [rows, m] with m
    /// = the largest of `ngram_indexes` + 1. The pool lists all 1-grams, then all 2-grams...; `ngram_counts[n-1]` is
    /// where the n-grams start in it; the i-th n-gram of the pool counts at place `ngram_indexes[i]`. N-grams of
    /// `min_gram_length` to `max_gram_length` are looked for, with elements 1 to `max_skip_count` + 1 apart; 1-grams
    /// count once. One of `pool_ints` and `pool_strings` is empty. `weights`: one each n-gram, or none (all 1).
    pub struct TfIdf {
        pub mode: TfIdfMode,
        pub min_gram_length: usize,
        pub max_gram_length: usize,
        pub max_skip_count: usize,
        pub ngram_counts: Vec<usize>,
        pub ngram_indexes: Vec<usize>,
        pub pool_ints: Vec<i64>,
        pub pool_strings: Vec<String>,
        pub weights: Vec<Float>,
    }
}

impl TfIdf {
    fn width(&self) -> usize {
        self.ngram_indexes.iter().max().map_or(0, |m| m + 1)
    }

    fn pool_len(&self) -> usize {
        self.pool_ints.len().max(self.pool_strings.len())
    }

    /// (n, first and last position in the pool) for each length of n-gram.
    fn sections(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        let ends = self.ngram_counts.iter().skip(1).copied().chain([self.pool_len()]);
        self.ngram_counts.iter().copied().zip(ends).enumerate().map(|(i, (start, end))| (i + 1, start, end))
    }

    /// The pool as a map from n-gram to its number.
    fn grams<'a, T: Eq + std::hash::Hash>(&self, pool: &'a [T]) -> HashMap<&'a [T], usize> {
        let mut numbered = HashMap::new();
        let mut id = 0;
        for (n, start, end) in self.sections() {
            for gram in pool[start..end].chunks_exact(n) {
                numbered.insert(gram, id);
                id += 1;
            }
        }
        numbered
    }

    /// How often each n-gram of the pool occurs in a row.
    fn count<T: Eq + std::hash::Hash + Clone>(&self, pool: &[T], row: &[T]) -> Vec<f64> {
        let numbered = self.grams(pool);
        let mut counts = vec![0.0; self.ngram_indexes.len()];
        for n in self.min_gram_length.max(1)..=self.max_gram_length.min(self.ngram_counts.len()) {
            let distances = if n == 1 { 1 } else { self.max_skip_count + 1 };
            for apart in 1..=distances {
                let Some(span) = apart.checked_mul(n - 1).filter(|s| *s < row.len()) else { break };
                for start in 0..row.len() - span {
                    let gram: Vec<T> = (0..n).map(|k| row[start + k * apart].clone()).collect();
                    if let Some(id) = numbered.get(gram.as_slice()) {
                        counts[*id] += 1.0;
                    }
                }
            }
        }
        counts
    }

    fn weigh(&self, counts: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.width()];
        for (i, (place, count)) in self.ngram_indexes.iter().zip(counts).enumerate() {
            let weight = self.weights.get(i).map_or(1.0, |w| w.0);
            out[*place] += match self.mode {
                TfIdfMode::Tf => *count,
                TfIdfMode::Idf => f64::from(u8::from(*count > 0.0)) * weight,
                TfIdfMode::TfIdf => count * weight,
            };
        }
        out
    }

    fn validate(&self) -> Result<(), Mismatch> {
        let error = |what: &str| Err(Mismatch::new(what));
        if !self.pool_ints.is_empty() && !self.pool_strings.is_empty() {
            return error("the pool has both integers and strings");
        }
        if self.min_gram_length == 0 || self.max_gram_length < self.min_gram_length {
            return error("n-gram lengths are from 1 on, and the largest isn't below the smallest");
        }
        let mut n_grams = 0;
        for (n, start, end) in self.sections() {
            if start > end || end > self.pool_len() || (end - start) % n != 0 {
                return error("ngram_counts don't cut the pool into n-grams");
            }
            n_grams += (end - start) / n;
        }
        if n_grams != self.ngram_indexes.len() {
            return error("ngram_indexes must have an entry for each n-gram of the pool");
        }
        if !self.weights.is_empty() && self.weights.len() != self.ngram_indexes.len() {
            return error("weights must have an entry for each n-gram of the pool");
        }
        Ok(())
    }
}

impl OpDef for TfIdf {
    const NAME: &'static str = "tf_idf";

    fn arity(&self) -> Arity {
        Arity::exactly(1)
    }

    fn infer(&self, _cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        let x = ins[0].tensor()?;
        self.validate()?;
        let fits = if self.pool_strings.is_empty() { x.dtype.is_int() } else { x.dtype == DType::String };
        if !fits || !(1..=2).contains(&x.rank()) {
            return Err(Mismatch::new(format!("expected [c] or [rows, c] of the pool's type, got {x}")));
        }
        let mut shape = x.shape[..x.rank() - 1].to_vec();
        shape.push(Dim::from(self.width()));
        Ok(vec![Type::tensor(DType::F32, shape)])
    }

    fn eval(&self, cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let (dtype, shape) = cx.out(0)?;
        let x = ins[0].tensor();
        let columns = x.shape()[x.rank() - 1];
        let rows = x.shape()[..x.rank() - 1].iter().product::<usize>();
        let ints: Vec<i64> = x.ints().into_iter().map(|v| v as i64).collect();
        let mut out = Vec::new();
        for r in 0..rows {
            let range = r * columns..(r + 1) * columns;
            let counts = if self.pool_strings.is_empty() {
                self.count(&self.pool_ints, &ints[range])
            } else {
                self.count(&self.pool_strings, &x.strings()[range])
            };
            out.extend(self.weigh(&counts));
        }
        Ok(vec![Tensor::from_floats(dtype, shape, out).into()])
    }
}
