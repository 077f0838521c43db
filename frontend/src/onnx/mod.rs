//! ONNX files: from bytes to a checked [`model::Model`] whose names are resolved, whose model-local functions
//! are inlined and whose nodes are in order.
//!
//! [`model::load`] reads a file, [`data::read`] a value of a test set. Everything that is wrong with a file
//! comes back at once as [`problem::Problems`]; no file makes this module panic, recurse without bound or
//! allocate much more than it is long.

pub mod data;
pub mod model;
pub mod problem;

pub mod attribute;
pub mod dtype;
pub mod opset;
pub mod tensor;
pub mod types;

pub mod proto;

mod constant;
pub mod external;
mod function;
mod inline;
mod order;
mod resolve;
mod scope;
mod sparse;

#[cfg(test)]
mod tests;
