//! A kernel's module to a SPIR-V binary.

use super::module::around_spirv;
use super::words::uncontracted;
use crate::error::{Error, MlirMessage};
use crate::mlir::{Session, to_binary, to_spirv_dialect};

/// The SPIR-V binary of a module of [`module_text`](super::module_text).
pub fn serialise(session: &Session, text: &str) -> Result<Vec<u8>, Error> {
    let mut module = session.parse(text)?;
    module.run(&to_spirv_dialect())?;
    let nested = around_spirv(&module.print_operation("spirv.module").ok_or_else(nothing)?);
    let mut module = session.parse(&nested)?;
    module.run(&to_binary())?;
    Ok(uncontracted(&module.gpu_object().ok_or_else(nothing)?))
}

fn nothing() -> Error {
    let text = "the pipeline left no SPIR-V module".to_owned();
    Error::Lower(vec![MlirMessage { line: 0, column: 0, text, source: String::new() }])
}
