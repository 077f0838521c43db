//! The package format: one file with header, manifest, code sections and weights.

mod bind_time;
mod dtype;
mod header;
mod manifest;
mod read;
mod sections;
mod steps;
mod validate;
mod write;

pub use bind_time::BindTime;
pub use dtype::DType;
pub use header::{ABI_VERSION, FORMAT_VERSION, Header, MAGIC, PAGE, Part};
pub use manifest::*;
pub use read::{Contents, read_package, read_package_file};
pub(crate) use validate::is_plain;
pub use validate::validate;
pub use write::{WriteError, write_package, write_package_file};

#[cfg(test)]
pub(crate) mod tests;
