//! Executes compiled packages: no compiler in here, few dependencies, no allocation while a model runs.
//!
//! [`Package`] is a loaded model, [`Context`] runs it. `tcc_runtime::package` is the file format, `builtin` the library
//! of routines that packages call by name.

pub mod abi;
mod arena;
mod buffer;
pub mod builtin;
mod context;
mod error;
mod executor;
mod expr;
mod layout;
mod load;
mod memory;
mod object;
mod os;
pub mod package;
mod pool;
mod profile;

pub use context::{Context, TensorView};
pub use error::{Error, Result, Status};
pub use load::{KernelFn, Package};
pub use object::{Data, Object, Tensor};
pub use package::DType;
pub use pool::Pool;
pub use profile::ProfileRow;
