//! Strings cut at a delimiter.

use super::string_ops::strings;
use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::{Tensor, Value};
use crate::types::{DType, Type};

crate::attrs! {
    /// Each string cut at `delimiter`, at most `max_splits` times from the left. An absent or empty delimiter cuts at
    /// runs of white space and ignores white space at both ends. Outputs: the parts, padded with empty strings along
    /// a new last axis to the largest number of parts, and the number of parts of each string (i64).
    pub struct StringSplit { pub delimiter: Option<String>, pub max_splits: Option<usize> }
}

impl StringSplit {
    fn parts<'a>(&self, s: &'a str) -> Vec<&'a str> {
        let pieces = self.max_splits.map_or(usize::MAX, |n| n.saturating_add(1));
        match self.delimiter.as_deref().filter(|d| !d.is_empty()) {
            Some(d) => s.splitn(pieces, d).collect(),
            None => {
                let mut rest = s.trim_start();
                let mut parts = Vec::new();
                while !rest.is_empty() {
                    if parts.len() + 1 == pieces {
                        parts.push(rest);
                        break;
                    }
                    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                    parts.push(&rest[..end]);
                    rest = rest[end..].trim_start();
                }
                parts
            }
        }
    }
}

impl OpDef for StringSplit {
    const NAME: &'static str = "string_split";

    fn arity(&self) -> Arity {
        Arity::exactly(1)
    }

    fn n_outputs(&self) -> usize {
        2
    }

    fn infer(&self, cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        let x = strings(&ins[0])?;
        let hi = self.max_splits.and_then(|n| i64::try_from(n).ok()?.checked_add(1));
        let mut shape = x.shape.clone();
        shape.push(cx.fresh_dim(0, x.rank(), 0, hi));
        Ok(vec![Type::tensor(DType::String, shape), Type::tensor(DType::I64, &x.shape)])
    }

    fn eval(&self, _cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let x = ins[0].tensor();
        let parts: Vec<Vec<&str>> = x.strings().iter().map(|s| self.parts(s)).collect();
        let widest = parts.iter().map(Vec::len).max().unwrap_or(0);
        let mut shape = x.shape().to_vec();
        shape.push(widest);
        let padded = parts.iter().flat_map(|p| {
            let pad = std::iter::repeat_n("", widest - p.len());
            p.iter().copied().chain(pad).map(str::to_string)
        });
        let counts = parts.iter().map(|p| p.len() as i128);
        Ok(vec![
            Tensor::from_strings(shape, padded.collect()).into(),
            Tensor::from_ints(DType::I64, x.shape().to_vec(), counts).into(),
        ])
    }
}
