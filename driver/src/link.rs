//! Shared libraries: an object that needs nothing, linked by a linker that is found on the machine.

use std::process::Command;

use tcc_codegen::Target;
use tcc_codegen::standalone::Standalone;
use tcc_codegen::target::Arch;

use crate::compile::TemporaryFile;
use crate::{Code, Diagnostic, Result, report};

/// A linked library.
pub struct Library {
    /// How its file's name ends.
    pub suffix: &'static str,
    pub bytes: Vec<u8>,
}

/// LLVM's linkers, under the names that distributions give them: they link for every machine.
const ELF: &[&str] = &["ld.lld", "ld.lld-22"];
const WASM: &[&str] = &["wasm-ld", "wasm-ld-22"];

/// Links a shared library, which exports the model's function. For WebAssembly it is a module, with its memory and with
/// `__heap_base`, from where on that memory is free.
///
/// # Errors
/// A target without shared libraries; no linker on `PATH`; what the linker says.
pub fn shared(model: &Standalone, target: &Target) -> Result<Library> {
    let function = format!("{}_run", model.interface.name);
    let (linkers, suffix, options) = match target.arch {
        Arch::X86_64 | Arch::Aarch64 | Arch::Riscv64 => {
            let soname = format!("--soname={}.so", model.interface.name);
            (ELF, "so", vec!["-shared".to_string(), "-z".to_string(), "defs".to_string(), soname])
        }
        Arch::Wasm32 => {
            let export = format!("--export={function}");
            (WASM, "wasm", vec!["--no-entry".to_string(), "--export=__heap_base".to_string(), export])
        }
        _ => {
            let message = format!("{} has no shared libraries", target.name);
            let help = "--emit=obj,header makes an object to be linked with the program";
            return Err(Diagnostic::error(Code::LinkFailed, message).help(help).into());
        }
    };
    let (object, library) = (TemporaryFile::new(), TemporaryFile::new());
    std::fs::write(object.path(), &model.object).map_err(|error| report::unwritable(object.path(), error))?;
    for linker in linkers {
        let run =
            Command::new(linker).args(&options).arg(object.path()).arg("-o").arg(library.path()).output();
        let output = match run {
            Ok(output) => output,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => {
                return Err(Diagnostic::error(Code::LinkFailed, format!("{linker}: {error}")).into());
            }
        };
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr);
            let message = format!("{linker}, {}: {}", output.status, words.trim());
            return Err(Diagnostic::error(Code::LinkFailed, message).into());
        }
        let bytes =
            std::fs::read(library.path()).map_err(|error| report::unreadable(library.path(), error))?;
        return Ok(Library { suffix, bytes });
    }
    let message = format!("no linker is on PATH: looked for {}", linkers.join(", "));
    let help =
        "install LLVM's linker (Debian: lld-22), or use --emit=obj,header and the linker of your program";
    Err(Diagnostic::error(Code::LinkFailed, message).help(help).into())
}
