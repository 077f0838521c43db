//! Matches whole strings against a pattern.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::regex::Regex;
use super::{Builtin, Routine};
use crate::executor::{Call, Outcome};
use crate::package::DType;

/// ONNX RegexFullMatch. Argument: strings. Result: bool, whether each matches the pattern (RE2's syntax) from end to end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RegexFullMatch {
    pub pattern: String,
}

impl RegexFullMatch {
    /// Why the pattern isn't supported, for the compiler to report.
    pub fn check(&self) -> Result<(), String> {
        Regex::new(&self.pattern).map(|_| ())
    }
}

impl Builtin for RegexFullMatch {
    const NAME: &'static str = "regex_full_match";
    const INPUTS: RangeInclusive<usize> = 1..=1;
    const OUTPUTS: RangeInclusive<usize> = 1..=1;
}

impl Routine for RegexFullMatch {
    fn run(&self, call: &mut Call<'_>) -> Outcome {
        let (shape, strings) = call.strings(0)?;
        let regex =
            Regex::new(&self.pattern).map_err(|cause| format!("pattern \"{}\": {cause}", self.pattern))?;
        let out = call.output(0, DType::Bool, shape)?;
        for (to, text) in out.iter_mut().zip(strings) {
            *to = regex.matches(text).into();
        }
        Ok(())
    }
}
