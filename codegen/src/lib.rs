//! Turns kernels into machine code: MLIR text in, LLVM IR, assembly, objects or flat images out.
//!
//! This is the only crate that links LLVM. It keeps no state between calls, so modules may be compiled on
//! several threads at once, each with a [`mlir::Session`] of its own.

pub mod compile;
pub mod error;
pub mod gpu;
pub mod image;
pub mod llvm;
pub mod lower;
pub mod machine;
pub mod mlir;
pub mod parallel;
pub mod program;
pub mod standalone;
pub mod target;

pub use compile::{Artifacts, Emit, OptLevel, Options, compile_in, compile_module};
pub use error::{Error, MlirMessage};
pub use lower::{Lowered, lower, panel, row_block};
pub use machine::Machine;
pub use parallel::{compile_all, compile_image};
pub use target::Target;
