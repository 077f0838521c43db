//! Removes stop words and changes case.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::{Builtin, Routine};
use crate::executor::{Call, Outcome};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CaseChange {
    None,
    Lower,
    Upper,
}

/// ONNX StringNormalizer. Argument: strings [C] or [1, C]. Result: those that aren't stop words, their case changed; one
/// empty string when none is left. Case follows Unicode, whatever the locale.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StringNormalizer {
    pub case_change: CaseChange,
    /// Whether stop words are compared with case.
    pub case_sensitive: bool,
    pub stopwords: Vec<String>,
}

impl Builtin for StringNormalizer {
    const NAME: &'static str = "string_normalizer";
    const INPUTS: RangeInclusive<usize> = 1..=1;
    const OUTPUTS: RangeInclusive<usize> = 1..=1;
}

impl Routine for StringNormalizer {
    fn run(&self, call: &mut Call<'_>) -> Outcome {
        let (shape, strings) = call.strings(0)?;
        let is_row = match shape {
            [_] => false,
            [1, _] => true,
            _ => return Err(format!("the strings are {shape:?}, [C] or [1, C] are needed").into()),
        };
        let fold = |text: &str| if self.case_sensitive { text.to_string() } else { text.to_lowercase() };
        let stopwords: Vec<String> = self.stopwords.iter().map(|word| fold(word)).collect();
        let mut kept: Vec<String> = strings
            .iter()
            .filter(|text| !stopwords.contains(&fold(text)))
            .map(|text| match self.case_change {
                CaseChange::None => text.clone(),
                CaseChange::Lower => text.to_lowercase(),
                CaseChange::Upper => text.to_uppercase(),
            })
            .collect();
        if kept.is_empty() {
            kept.push(String::new());
        }
        let shape = [1, kept.len() as i64];
        call.set_strings(0, if is_row { &shape } else { &shape[1..] }, kept)
    }
}
