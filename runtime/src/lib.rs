//! Executes compiled packages: no compiler in here, few dependencies, no allocation while a model runs.

mod error;
mod expr;
mod layout;
pub mod package;

pub use error::{Error, Result, Status};
