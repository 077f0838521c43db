//! A node in the words that messages use.

use std::fmt;

use tcc_ir::Loc;

use super::opset::ONNX_DOMAIN;

/// Which node a message is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeLabel {
    /// The name in the file; `#index -> first output` where the file gives none.
    pub name: String,
    pub op_type: String,
    /// `ai.onnx` for the default domain.
    pub domain: String,
    /// The imported version of the domain; 0 where the model imports none.
    pub opset: i64,
}

impl NodeLabel {
    /// The place that IR nodes made from this one carry.
    pub fn loc(&self) -> Loc {
        match self.domain.as_str() {
            ONNX_DOMAIN => Loc::node(&self.name, &self.op_type),
            domain => Loc::node(&self.name, &format!("{domain}::{}", self.op_type)),
        }
    }
}

impl fmt::Display for NodeLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node `{}` ({}, {} opset {})", self.name, self.op_type, self.domain, self.opset)
    }
}
