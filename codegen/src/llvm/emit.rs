//! Objects and assembly from an optimised module, and the check that an object depends on nothing.

use inkwell::module::Module;
use inkwell::targets::{FileType, TargetMachine};
use object::{BinaryFormat, Object, ObjectSymbol};

use crate::error::Error;

/// Assembly text. The module may be changed by code generation: give a clone if it is still needed.
pub(crate) fn assembly(module: &Module<'_>, machine: &TargetMachine) -> Result<String, Error> {
    let bytes = emit(module, machine, FileType::Assembly)?;
    String::from_utf8(bytes).map_err(|error| failed(error.to_string()))
}

/// The bytes of a relocatable object. The module may be changed by code generation.
pub(crate) fn object(module: &Module<'_>, machine: &TargetMachine) -> Result<Vec<u8>, Error> {
    emit(module, machine, FileType::Object)
}

fn emit(module: &Module<'_>, machine: &TargetMachine, kind: FileType) -> Result<Vec<u8>, Error> {
    let buffer = machine.write_to_memory_buffer(module, kind).map_err(|error| failed(error.to_string()))?;
    Ok(buffer.as_slice().to_vec())
}

fn failed(message: String) -> Error {
    Error::Llvm { stage: "generating code", message }
}

/// What every linker of WebAssembly defines: the stack, the memory and the table of functions.
const FROM_WASM_LINKER: &[&str] = &["__stack_pointer", "__linear_memory", "__indirect_function_table"];

/// Symbols that an object uses and doesn't define, sorted.
pub fn undefined_symbols(bytes: &[u8]) -> Result<Vec<String>, Error> {
    let bad = |error: object::Error| Error::Object(error.to_string());
    let file = object::File::parse(bytes).map_err(bad)?;
    let mut names = Vec::new();
    for symbol in file.symbols().filter(|symbol| symbol.is_undefined()) {
        let name = symbol.name().map_err(bad)?;
        let linkers = file.format() == BinaryFormat::Wasm && FROM_WASM_LINKER.contains(&name);
        if !name.is_empty() && !linkers {
            names.push(name.to_owned());
        }
    }
    names.sort_unstable();
    names.dedup();
    Ok(names)
}
