//! What is wrong with a model file: data for the user, collected rather than stopped at the first.

use std::fmt;

/// The kinds of problem, each a class of remedy for the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// A file can't be opened or read.
    Io,
    /// The bytes aren't an ONNX file, or a field has a value that the format doesn't allow.
    Malformed,
    /// A limit of this reader, which keeps hostile files from exhausting the machine, is exceeded.
    Limit,
    /// An IR version, operator set or feature that this reader doesn't know.
    Unsupported,
    /// A name is used without being defined, or defined twice.
    Name,
    /// Nodes need each other, or model-local functions call each other.
    Cycle,
    /// The bytes of a tensor don't fit its type and shape.
    Tensor,
    /// A tensor's external file is missing, outside the model's folder or too short.
    External,
    /// An operator's inputs, outputs or attributes are not what its definition says.
    Node,
}

/// Which node a problem is about, in the user's terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeLabel {
    /// The name in the file; a made-up `#index -> first output` where the file gives none.
    pub name: String,
    pub op_type: String,
    /// `ai.onnx` for the default domain.
    pub domain: String,
    /// The imported version of the domain; 0 where the model imports none.
    pub opset: i64,
}

impl fmt::Display for NodeLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node `{}` ({}, {} opset {})", self.name, self.op_type, self.domain, self.opset)
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub kind: ProblemKind,
    pub message: String,
    pub node: Option<Box<NodeLabel>>,
    /// What the user could do.
    pub help: Option<String>,
}

impl Problem {
    pub fn new(kind: ProblemKind, message: impl Into<String>) -> Self {
        Problem { kind, message: message.into(), node: None, help: None }
    }

    /// Says which node it is about, unless that is known already.
    pub fn at(mut self, node: &NodeLabel) -> Self {
        self.node.get_or_insert_with(|| Box::new(node.clone()));
        self
    }

    /// Says what the user could do.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Puts where it happened before the message.
    pub fn context(mut self, context: impl fmt::Display) -> Self {
        self.message = format!("{context}: {}", self.message);
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(node) = &self.node {
            write!(f, "{node}: ")?;
        }
        f.write_str(&self.message)?;
        match &self.help {
            Some(help) => write!(f, " (help: {help})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Problem {}

/// All that is wrong with one file, in the order found. A hostile file can have millions of problems, so
/// only the first [`Problems::KEPT`] are kept and the rest counted.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Problems {
    list: Vec<Problem>,
    dropped: usize,
}

impl Problems {
    pub const KEPT: usize = 200;

    pub fn push(&mut self, problem: Problem) {
        if self.list.len() < Self::KEPT {
            self.list.push(problem);
        } else {
            self.dropped += 1;
        }
    }

    /// Keeps the value or records the problem.
    pub fn check<T>(&mut self, result: Result<T, Problem>) -> Option<T> {
        result.map_err(|problem| self.push(problem)).ok()
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.list.iter()
    }

    /// How many were found after the list was full.
    pub fn dropped(&self) -> usize {
        self.dropped
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Problems { list: vec![problem], dropped: 0 }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for problem in &self.list {
            writeln!(f, "{problem}")?;
        }
        if self.dropped > 0 {
            writeln!(f, "... and {} more", self.dropped)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}
