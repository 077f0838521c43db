//! What a result means for a case.

use super::{Outcome, Verdict};
use crate::{Code, Diagnostics, report};

/// What `case.json` says is right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expectation {
    /// An error rather than values.
    pub error: bool,
    pub alternative: Alternative,
}

/// What else is right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Alternative {
    #[default]
    None,
    /// A clean refusal.
    Error,
    /// Computing the given outputs.
    Values,
    /// Anything but a crash, a hang or a wrong value.
    NoCrash,
}

/// What running a case came to.
#[derive(Debug)]
pub enum Finding {
    /// The model was refused, or its run failed.
    Refused(Diagnostics),
    /// It ran. `compared` says whether there were values to compare with, `mismatch` what differs, `note` what else is to
    /// be known of the comparison.
    Ran { compared: bool, mismatch: Option<String>, note: String },
    /// The case's own files can't be read.
    BadCase(Diagnostics),
}

/// The verdict on a finding.
pub fn judge(expectation: Expectation, finding: &Finding) -> Outcome {
    use Alternative::{Error, NoCrash, Values};
    let Expectation { error, alternative } = expectation;
    match finding {
        Finding::BadCase(found) => Outcome::new(Verdict::Error, brief(found)),
        Finding::Refused(found) if found.0.iter().any(report::is_internal) => {
            Outcome::new(Verdict::Error, brief(found))
        }
        Finding::Refused(found) if error || matches!(alternative, Error | NoCrash) => {
            Outcome::new(Verdict::Pass, brief(found))
        }
        Finding::Refused(found) => {
            let lacks = |code| matches!(code, Code::UnsupportedOperator | Code::TargetUnsupported);
            let unsupported = found.0.iter().any(|diagnostic| lacks(diagnostic.code));
            Outcome::new(if unsupported { Verdict::Unsupported } else { Verdict::Error }, brief(found))
        }
        Finding::Ran { mismatch: Some(what), .. } => Outcome::new(Verdict::Wrong, what),
        Finding::Ran { compared, mismatch: None, note } => match (error, alternative) {
            (false, _) | (true, NoCrash) => Outcome::new(Verdict::Pass, note),
            (true, Values) if *compared => Outcome::new(Verdict::Pass, note),
            (true, _) => Outcome::new(Verdict::Wrong, "it ran, but an error was expected"),
        },
    }
}

/// Longest detail of a verdict.
const LONGEST: usize = 600;

/// The findings in one line.
fn brief(found: &Diagnostics) -> String {
    let text: Vec<String> = found.0.iter().map(|d| d.to_string().replace('\n', " ")).collect();
    let text = text.join("; ");
    let mut text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = text.char_indices().nth(LONGEST) {
        text.truncate(end);
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Diagnostic;

    fn verdict(expectation: Expectation, finding: Finding) -> Verdict {
        judge(expectation, &finding).verdict
    }

    fn refused(code: Code) -> Finding {
        Finding::Refused(Diagnostic::error(code, "no").into())
    }

    fn ran(mismatch: Option<&str>) -> Finding {
        Finding::Ran { compared: true, mismatch: mismatch.map(str::to_string), note: String::new() }
    }

    #[test]
    fn values_are_expected_unless_the_case_says_otherwise() {
        let values = Expectation::default();
        assert_eq!(verdict(values, ran(None)), Verdict::Pass);
        assert_eq!(verdict(values, ran(Some("x"))), Verdict::Wrong);
        assert_eq!(verdict(values, refused(Code::UnsupportedOperator)), Verdict::Unsupported);
        assert_eq!(verdict(values, refused(Code::EvaluationFailed)), Verdict::Error);
    }

    #[test]
    fn an_expected_error_must_be_the_models_fault() {
        let error = Expectation { error: true, alternative: Alternative::None };
        assert_eq!(verdict(error, refused(Code::InvalidGraph)), Verdict::Pass);
        assert_eq!(verdict(error, refused(Code::CodegenFailed)), Verdict::Error);
        assert_eq!(verdict(error, ran(None)), Verdict::Wrong);
        let bad = Finding::BadCase(Diagnostic::error(Code::FileUnreadable, "no").into());
        assert_eq!(verdict(error, bad), Verdict::Error);
    }

    #[test]
    fn alternatives_pass_too() {
        let with = |error, alternative| Expectation { error, alternative };
        assert_eq!(verdict(with(false, Alternative::Error), refused(Code::InvalidGraph)), Verdict::Pass);
        assert_eq!(verdict(with(false, Alternative::Error), ran(Some("x"))), Verdict::Wrong);
        assert_eq!(verdict(with(true, Alternative::Values), ran(None)), Verdict::Pass);
        assert_eq!(verdict(with(true, Alternative::Values), ran(Some("x"))), Verdict::Wrong);
        assert_eq!(verdict(with(true, Alternative::NoCrash), ran(None)), Verdict::Pass);
        let without_values = Finding::Ran { compared: false, mismatch: None, note: String::new() };
        assert_eq!(verdict(with(true, Alternative::Values), without_values), Verdict::Wrong);
    }
}
