//! A model as an object of its own: one function over the caller's arena, for firmware and plain C. There is no
//! runtime in it, no allocation and no call of any library; weights are constants of the object.
//!
//! [`compile`] takes a program apart that would otherwise become a package: its steps become straight code that calls
//! the kernels, one after the other, each for all its tiles. What needs the runtime (strings, sequences, sizes that only
//! the data decides) is refused, all at once.

mod control;
mod entry;
mod header;
mod interface;
mod names;
mod needs;
mod number;
mod range;
pub mod status;
#[cfg(test)]
mod tests;
mod text;

use crate::compile::{Constant, Emit, Options, compile_with};
use crate::mlir::{Session, module_of_bodies};
use crate::program::{CompileError, Program};
use crate::target::Target;
use range::Range;
use tcc_ir::diag::{Code, Diagnostic};

pub use interface::Interface;

/// A model's object and what C code includes to call it.
#[derive(Clone, Debug)]
pub struct Standalone {
    pub interface: Interface,
    pub object: Vec<u8>,
    pub header: String,
}

/// The symbol of the constants, local to the object.
const WEIGHTS: &str = "tcc.weights";

/// Most bytes of weights: code reaches them by 32-bit distances.
const MAX_WEIGHTS: u64 = i32::MAX as u64;

/// Compiles a program to an object whose names begin with `name`.
///
/// # Errors
/// All that the model needs of the runtime; a target without objects; whatever the code generator says.
pub fn compile(
    program: &Program,
    name: &str,
    target: &Target,
    options: &Options<'_>,
) -> Result<Standalone, CompileError> {
    let refuse = |found: Diagnostic| CompileError::Unsupported(found.into());
    let unsupported = |message: String| refuse(Diagnostic::error(Code::TargetUnsupported, message));
    if target.is_gpu() {
        return Err(unsupported(format!("code for {} is no object that C code can call", target.name)));
    }
    let manifest = &program.manifest;
    let symbols: Vec<Range> = program
        .manifest
        .symbols
        .iter()
        .zip(&program.bounds)
        .map(|(symbol, bounds)| match symbol.source {
            tcc_runtime::package::SymbolSource::Late => Range::LATE,
            _ => Range { lo: bounds.0, hi: bounds.1.unwrap_or(i64::MAX) },
        })
        .collect();
    let ranges = range::ranges(manifest, &symbols, !target.can.i64_division);
    if let Some(found) = needs::runtime_needed(program, &ranges, target) {
        return Err(refuse(found));
    }
    let interface = Interface::of(manifest, &ranges, name, target)
        .ok_or_else(|| unsupported("a tensor is larger than memory can be".to_string()))?;
    let limit = if target.pointer_bits == 32 { i32::MAX as u64 } else { i64::MAX as u64 };
    if interface.arena_bytes > limit || program.weights.n_bytes() > MAX_WEIGHTS {
        return Err(unsupported(format!(
            "{} bytes of arena and {} bytes of weights are too many for one object",
            interface.arena_bytes,
            program.weights.n_bytes()
        )));
    }
    let mut weights = Vec::new();
    program.weights.write(&mut weights).expect("writing to memory can't fail");

    let entry = entry::write(manifest, &program.functions, &interface, &ranges, target);
    let helpers = format!(
        "  llvm.mlir.global external constant @{WEIGHTS}() {{alignment = 64 : i64}} : !llvm.array<{} x i8>\n{entry}",
        weights.len()
    );
    let text = module_of_bodies(&helpers, &program.functions, target.index_bits);
    let options = Options { emit: &[Emit::Object], ..*options };
    let constants = [Constant { symbol: WEIGHTS, bytes: &weights }];
    let made = compile_with(&Session::new(), &text, target, &options, &constants)?;
    let header = header::write(&interface);
    Ok(Standalone { interface, object: made.object.unwrap_or_default(), header })
}
