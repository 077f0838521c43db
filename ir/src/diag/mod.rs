//! Diagnostics: what is wrong with the user's model or request, where, why and what to do about it.

mod codes;
mod markdown;

pub use codes::{CODES, Code};
pub use markdown::markdown;

use std::fmt;
use std::sync::Arc;

/// Where a node came from, in the user's terms. A fused node keeps all its sources.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Loc(Option<Arc<[Source]>>);

/// One node of the model file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Source {
    /// Name of the node in the file, or of its first output when it has none.
    pub name: Arc<str>,
    /// Operator with domain unless that is the default one: `MatMul`, `com.microsoft::FusedMatMul`.
    pub op: Arc<str>,
}

impl Loc {
    pub fn node(name: &str, op: &str) -> Loc {
        Loc(Some(Arc::new([Source { name: name.into(), op: op.into() }])))
    }

    /// None when there are none.
    pub fn sources_of(sources: Vec<Source>) -> Loc {
        Loc((!sources.is_empty()).then(|| sources.into()))
    }

    pub fn sources(&self) -> &[Source] {
        self.0.as_deref().unwrap_or(&[])
    }

    /// The sources of both, each once.
    pub fn merge(&self, other: &Loc) -> Loc {
        if self == other || other.sources().is_empty() {
            return self.clone();
        }
        let mut all = self.sources().to_vec();
        all.extend(other.sources().iter().filter(|s| !self.sources().contains(s)).cloned());
        Loc(Some(all.into()))
    }
}

impl fmt::Display for Loc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: Vec<String> =
            self.sources().iter().map(|s| format!("\"{}\" ({})", s.name, s.op)).collect();
        f.write_str(&shown.join(", "))
    }
}

/// One finding about the user's input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    pub code: Code,
    pub message: String,
    /// File name, line or node, from outside inwards.
    pub place: Vec<String>,
    /// Facts: what was expected, what was found.
    pub notes: Vec<String>,
    pub help: Option<String>,
}

impl Diagnostic {
    pub fn error(code: Code, message: impl Into<String>) -> Self {
        Diagnostic { code, message: message.into(), place: Vec::new(), notes: Vec::new(), help: None }
    }

    #[must_use]
    pub fn at(mut self, place: impl fmt::Display) -> Self {
        self.place.push(place.to_string());
        self
    }

    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error[{}]: {}", self.code.id(), self.message)?;
        if !self.place.is_empty() {
            write!(f, "\n  --> {}", self.place.join(": "))?;
        }
        for note in &self.notes {
            write!(f, "\n   = {note}")?;
        }
        if let Some(help) = &self.help {
            write!(f, "\n   = help: {help}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}

/// All findings of one step, shown together.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Diagnostics(pub Vec<Diagnostic>);

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: Vec<String> = self.0.iter().map(Diagnostic::to_string).collect();
        f.write_str(&shown.join("\n"))
    }
}

impl std::error::Error for Diagnostics {}

impl From<Diagnostic> for Diagnostics {
    fn from(d: Diagnostic) -> Self {
        Diagnostics(vec![d])
    }
}
