//! What can go wrong below the kernels: every failure of MLIR, LLVM, a target or the image linker as data.

use std::fmt;

/// One message of MLIR's, with the line of text it points at where it has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MlirMessage {
    /// Line in the module's text, from 1; 0 when the message has no place in the text.
    pub line: u32,
    /// Column, from 1; 0 when unknown.
    pub column: u32,
    /// MLIR's own words, notes included.
    pub text: String,
    /// The line of the module's text, empty when unknown.
    pub source: String,
}

impl fmt::Display for MlirMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 0 {
            return f.write_str(&self.text);
        }
        write!(f, "{}:{}: {}\n    {}", self.line, self.column, self.text, self.source.trim())
    }
}

fn lines(messages: &[MlirMessage]) -> String {
    messages.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// A failure to turn MLIR text into machine code.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The module's text is not valid MLIR.
    #[error("MLIR text does not parse or verify:\n{}", lines(.0))]
    Parse(Vec<MlirMessage>),
    /// A pass of the lowering pipeline failed, or left an operation that has no form there.
    #[error("MLIR does not lower:\n{}", lines(.0))]
    Lower(Vec<MlirMessage>),
    /// A pass pipeline's text is wrong.
    #[error("pass pipeline `{pipeline}` is not valid: {message}")]
    Pipeline {
        /// The pipeline as given.
        pipeline: String,
        /// MLIR's words.
        message: String,
    },
    /// LLVM refused the module: its verifier, a pass or the code generator.
    #[error("LLVM, {stage}: {message}")]
    Llvm {
        /// What LLVM was doing.
        stage: &'static str,
        /// LLVM's words.
        message: String,
    },
    /// No target has this name.
    #[error("unknown target `{name}`; known: {known}")]
    UnknownTarget {
        /// The name as given.
        name: String,
        /// All names, comma-separated.
        known: String,
    },
    /// LLVM in this build has no back end for the target, or not with this CPU.
    #[error("target `{target}` is not available: {message}")]
    TargetUnavailable {
        /// The target's name.
        target: String,
        /// LLVM's words.
        message: String,
    },
    /// Packages can't hold the target's code.
    #[error(
        "there are no packages for {target}: their code is mapped and jumped into, which needs x86-64, aarch64 or riscv64; \
         --emit=obj,header makes an object that C code calls"
    )]
    NoPackages {
        /// The target's name.
        target: String,
    },
    /// The target's code doesn't have the form that was asked for.
    #[error("target `{target}` has no {form}: {advice}")]
    NoSuchForm {
        /// The target's name.
        target: String,
        /// What was asked for.
        form: &'static str,
        /// What may be asked for instead.
        advice: &'static str,
    },
    /// Code needs routines that a kernel must not depend on (libm, compiler support, memset).
    #[error("code for {target} needs routines outside of it: {}", .symbols.join(", "))]
    OutsideRoutines {
        /// The target's name.
        target: String,
        /// Symbols of routines, or LLVM's operations that no target does inline; sorted.
        symbols: Vec<String>,
    },
    /// The object file can't be read.
    #[error("object file: {0}")]
    Object(String),
    /// The object can't become a flat position-independent image.
    #[error("section `{section}` can't be placed in a flat image: {message}")]
    Image {
        /// The section at fault.
        section: String,
        /// Why, with the relocation's type where one is at fault.
        message: String,
    },
}
