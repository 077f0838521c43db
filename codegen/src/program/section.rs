//! The code of a program: the modules compiled, as one section of the package.

use super::Program;
use crate::error::Error;
use crate::gpu::device_features;
use crate::parallel::{compile_all, compile_image};
use crate::target::{Arch, Target};
use crate::{Emit, Options};
use tcc_runtime::package::{Code, CodeFormat, Launch};

/// Where modules of a section begin: SPIR-V is made of 32-bit words.
const ALIGN: usize = 4;

/// Compiles the modules. Gives the section's description and its bytes.
pub fn compile(
    program: &Program,
    target: &Target,
    options: &Options<'_>,
    threads: usize,
) -> Result<(Code, Vec<u8>), Error> {
    let mut code = Code {
        target: target.name.clone(),
        arch: target.arch.rust_name().to_string(),
        format: CodeFormat::Flat,
        cpu_features: target.required_features().into_iter().map(str::to_string).collect(),
        offset: 0,
        len: 0,
        entries: Vec::new(),
        launches: Vec::new(),
    };
    if target.is_gpu() {
        let bytes = launches(program, target, options, threads, &mut code)?;
        return Ok((code, bytes));
    }
    let image = compile_image(&program.modules, target, options, threads)?;
    code.entries = program.functions.iter().map(|function| image.entries[&function.name]).collect();
    Ok((code, image.bytes))
}

/// A module a kernel, one after the other, each followed by zeros to the next multiple of [`ALIGN`] and by one at
/// least: CUDA's driver takes text that a zero ends.
fn launches(
    program: &Program,
    target: &Target,
    options: &Options<'_>,
    threads: usize,
    code: &mut Code,
) -> Result<Vec<u8>, Error> {
    let (format, emit) = match target.arch {
        Arch::Spirv => (CodeFormat::SpirV, [Emit::Spirv]),
        _ => (CodeFormat::Ptx, [Emit::Assembly]),
    };
    code.format = format;
    let options = Options { emit: &emit, ..*options };
    let mut bytes: Vec<u8> = Vec::new();
    let made = compile_all(&program.modules, target, &options, threads);
    for ((function, group), artifacts) in program.functions.iter().zip(&program.groups).zip(made) {
        let artifacts = artifacts?;
        let module = artifacts.spirv.unwrap_or_else(|| artifacts.assembly.unwrap_or_default().into_bytes());
        if format == CodeFormat::SpirV {
            let missing = |name: &&str| !code.cpu_features.iter().any(|f| f == name);
            let new: Vec<String> =
                device_features(&module).into_iter().filter(missing).map(str::to_string).collect();
            code.cpu_features.extend(new);
        }
        let offset = bytes.len();
        bytes.extend(&module);
        bytes.resize((bytes.len() + 1).next_multiple_of(ALIGN), 0);
        code.launches.push(Launch {
            offset: offset as u64,
            len: module.len() as u64,
            entry: function.name.clone(),
            threads: group.threads,
        });
    }
    code.cpu_features.sort_unstable();
    Ok(bytes)
}
