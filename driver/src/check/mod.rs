//! Conformance: runs a case (a model with values that are known to be right) and judges what came out.
//!
//! [`one::check`] does a single case in this process; [`suite::run`] finds all cases below a folder and gives each a
//! process of its own, so that a crash costs one case.

mod case;
mod judge;
pub mod memory;
pub mod one;
mod origin;
mod random;
pub mod suite;
mod tolerances;

use std::fmt;

/// How a case ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Pass,
    /// It computed something else, or something where an error was expected.
    Wrong,
    /// Refused: something in it isn't implemented.
    Unsupported,
    /// Another error.
    Error,
    Crash,
    Timeout,
}

impl Verdict {
    pub const ALL: [Verdict; 6] = [
        Verdict::Pass,
        Verdict::Wrong,
        Verdict::Unsupported,
        Verdict::Error,
        Verdict::Crash,
        Verdict::Timeout,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Wrong => "wrong",
            Verdict::Unsupported => "unsupported",
            Verdict::Error => "error",
            Verdict::Crash => "crash",
            Verdict::Timeout => "timeout",
        }
    }

    fn from_name(name: &str) -> Option<Verdict> {
        Verdict::ALL.into_iter().find(|verdict| verdict.name() == name)
    }

    /// Whether no model whatsoever may end like this: worse than a refusal.
    pub fn is_grave(self) -> bool {
        matches!(self, Verdict::Wrong | Verdict::Crash | Verdict::Timeout)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A verdict with its reason; empty where a case simply passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub verdict: Verdict,
    pub detail: String,
}

impl Outcome {
    pub fn new(verdict: Verdict, detail: impl Into<String>) -> Outcome {
        Outcome { verdict, detail: detail.into() }
    }

    /// As one line of JSON.
    pub fn to_json(&self, name: &str) -> String {
        serde_json::json!({"name": name, "result": self.verdict.name(), "detail": self.detail}).to_string()
    }

    fn from_json(line: &str) -> Option<Outcome> {
        let value: serde_json::Value = serde_json::from_str(line).ok()?;
        let verdict = Verdict::from_name(value.get("result")?.as_str()?)?;
        Some(Outcome::new(verdict, value.get("detail")?.as_str()?))
    }
}
