//! The `tcc` library: what the command line and other programs use to load, compile and run models.
//!
//! [`source::load`] reads a model file, [`compile::compile`] makes a package of its graph, [`execute`] runs packages and, with
//! the reference evaluator, graphs. Whatever is
//! wrong with a file or a request comes back as [`Diagnostics`], all findings at once, and nothing here prints.

pub mod arena;
pub mod check;
pub mod compare;
pub mod compile;
pub mod draw;
pub mod execute;
pub mod fill;
pub mod inputs;
pub mod link;
pub mod npy;
pub mod plan;
pub mod port;
pub mod report;
pub mod source;
pub mod write;

pub use tcc_ir::diag::{Code, Diagnostic, Diagnostics};

/// What most functions of this library return: a value, or all that is wrong.
pub type Result<T> = std::result::Result<T, Diagnostics>;
