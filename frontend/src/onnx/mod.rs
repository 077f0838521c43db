//! ONNX files, in two steps: from bytes to a checked [`model::Model`] whose names are resolved, whose model-local
//! functions are inlined and whose nodes are in order; and from that to graph IR ([`import::import`]), operator by
//! operator as the table in [`ops`] says.
//!
//! [`model::load`] reads a file, [`data::read`] a value of a test set. Everything that is wrong with a file
//! comes back at once as [`tcc_ir::diag::Diagnostics`]; no file makes this module panic, recurse without bound or
//! allocate much more than it is long.

pub mod data;
pub mod import;
pub mod model;

mod attrs;
mod build;
pub mod node;
pub mod ops;

pub mod attribute;
pub mod dtype;
pub mod label;
pub mod opset;
pub mod tensor;
pub mod types;

pub mod external;
pub mod proto;

mod constant;
mod function;
mod inline;
mod order;
mod problems;
mod resolve;
mod scope;
mod sparse;
mod symbols;
pub mod to_ir;

#[cfg(test)]
mod tests;
