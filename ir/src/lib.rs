//! The graph IR of tcc: types, symbolic dims, operators, graphs, fused-kernel descriptions, the text form and
//! the reference evaluator. Pure Rust: nothing in this crate knows LLVM, a model file format or a target.
//!
//! Invariant: an operator is defined once, in `ops/<op>.rs`; every other crate asks it (inference, evaluation,
//! attributes, documentation) and keeps no second list.

pub mod attr;
pub mod diag;
#[cfg(test)]
mod docs;
pub mod eval;
pub mod graph;
pub mod kernel;
pub mod op;
pub mod ops;
pub mod tensor;
pub mod text;
pub mod types;

pub use diag::{Diagnostic, Loc};
pub use graph::{Graph, Node, NodeId, ValueId};
pub use op::{EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
pub use ops::Op;
pub use tensor::{Tensor, Value};
pub use types::{Cmp, DType, Dim, Shape, Symbol, TensorType, Type};
