//! LLVM: takes the translated module, prepares it as code that depends on nothing, optimises and emits it.

mod check;
mod diagnostics;
mod emit;
mod prepare;

pub(crate) use check::outside_operations;
pub use emit::undefined_symbols;
pub(crate) use emit::{assembly, object};
pub(crate) use prepare::{define, optimise, prepare};

use inkwell::context::Context;
use inkwell::module::Module;

use crate::error::Error;
use crate::mlir;
use diagnostics::Diagnostics;

/// An LLVM context whose errors are collected; without that LLVM prints them and ends the process.
pub(crate) struct LlvmContext {
    context: Context,
    diagnostics: Box<Diagnostics>,
}

impl LlvmContext {
    pub(crate) fn new() -> Self {
        let context = Context::create();
        let diagnostics = Diagnostics::install(&context);
        Self { context, diagnostics }
    }

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    /// The LLVM module of an MLIR module that is all in the LLVM dialect.
    pub(crate) fn translate<'c>(&'c self, module: &mlir::Module<'_>) -> Result<Module<'c>, Error> {
        let raw = module.translate(&self.context)?;
        // SAFETY: the module is new, belongs to this context and is owned by nobody else.
        Ok(unsafe { Module::new(raw) })
    }

    /// Fails if LLVM reported an error while it did `stage`.
    pub(crate) fn check(&self, stage: &'static str) -> Result<(), Error> {
        match self.diagnostics.take() {
            Some(message) => Err(Error::Llvm { stage, message }),
            None => Ok(()),
        }
    }
}
