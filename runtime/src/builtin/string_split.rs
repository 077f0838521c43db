//! Splits strings into parts.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::{Builtin, Routine};
use crate::executor::{Call, Outcome};
use crate::package::DType;

/// ONNX StringSplit. Argument: strings. Results: the parts, one more axis, filled up with empty strings; and the number
/// of parts of each, i64. Without a delimiter, runs of white space separate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StringSplit {
    pub delimiter: Option<String>,
    /// Most splits a string; the last part keeps the rest.
    pub maxsplit: Option<u64>,
}

impl Builtin for StringSplit {
    const NAME: &'static str = "string_split";
    const INPUTS: RangeInclusive<usize> = 1..=1;
    const OUTPUTS: RangeInclusive<usize> = 2..=2;
}

impl Routine for StringSplit {
    fn run(&self, call: &mut Call<'_>) -> Outcome {
        let (shape, strings) = call.strings(0)?;
        let limit = self.maxsplit.map_or(usize::MAX, |most| most as usize).min(usize::MAX - 1);
        let parts: Vec<Vec<&str>> = strings
            .iter()
            .map(|text| match self.delimiter.as_deref() {
                None | Some("") => split_whitespace(text, limit),
                Some(delimiter) => text.splitn(limit + 1, delimiter).collect(),
            })
            .collect();
        let widest = parts.iter().map(Vec::len).max().unwrap_or(0);
        let counts = call.output(1, DType::I64, shape)?;
        for (to, parts) in counts.chunks_exact_mut(8).zip(&parts) {
            to.copy_from_slice(&(parts.len() as i64).to_ne_bytes());
        }
        let filled = |parts: &Vec<&str>| {
            let padding = std::iter::repeat_n("", widest - parts.len());
            parts.iter().copied().chain(padding).map(String::from).collect::<Vec<_>>()
        };
        let all = parts.iter().flat_map(filled).collect();
        let mut shape = shape.to_vec();
        shape.push(widest as i64);
        call.set_strings(0, &shape, all)
    }
}

/// Splits at runs of white space at most `limit` times; white space at both ends separates nothing.
fn split_whitespace(text: &str, limit: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let end = if parts.len() < limit { rest.find(char::is_whitespace) } else { None };
        match end {
            Some(end) => {
                parts.push(&rest[..end]);
                rest = rest[end..].trim_start();
            }
            None => {
                parts.push(rest);
                break;
            }
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_splits_like_python() {
        assert_eq!(split_whitespace("  a b  c ", usize::MAX), ["a", "b", "c"]);
        assert_eq!(split_whitespace(" a b  c ", 1), ["a", "b  c "]);
        assert_eq!(split_whitespace("  ", 3), [""; 0]);
        assert_eq!(split_whitespace(" a ", 0), ["a "]);
    }
}
