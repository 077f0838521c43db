//! Errors of the other crates and of the operating system as diagnostics.

use std::fmt;
use std::path::Path;

use tcc_ir::diag::{Code, Diagnostic, Diagnostics};
use tcc_ir::eval::Failure;
use tcc_runtime::Status;

/// A file that can't be read.
pub fn unreadable(path: &Path, error: impl fmt::Display) -> Diagnostic {
    Diagnostic::error(Code::FileUnreadable, format!("{}: {error}", path.display()))
}

/// A file that can't be written.
pub fn unwritable(path: &Path, error: impl fmt::Display) -> Diagnostic {
    Diagnostic::error(Code::OutputUnwritable, format!("{}: {error}", path.display()))
}

/// An error of the runtime: of the package, of what it was given, or of the run.
pub fn runtime(error: &tcc_runtime::Error) -> Diagnostic {
    let code = match error.status() {
        Status::Io => Code::FileUnreadable,
        Status::NotAPackage | Status::Version | Status::Corrupt | Status::Invalid | Status::Target => {
            Code::BadPackage
        }
        Status::Argument | Status::Unbound | Status::Shape | Status::Type => Code::InputMismatch,
        Status::Check | Status::Kernel | Status::Builtin | Status::Size => Code::EvaluationFailed,
        Status::Memory => Code::ResourceLimit,
        Status::Device => Code::DeviceFailed,
        Status::Ok | Status::Internal => Code::CodegenFailed,
    };
    Diagnostic::error(code, error.to_string())
}

/// A failure of the reference evaluator.
pub fn evaluation(failure: &Failure) -> Diagnostic {
    let wrong = Diagnostic::error(Code::EvaluationFailed, format!("{}: {}", failure.op, failure.error));
    if failure.loc.sources().is_empty() { wrong } else { wrong.at(format_args!("node {}", failure.loc)) }
}

/// An error of the code generator.
pub fn codegen(error: &tcc_codegen::Error) -> Diagnostic {
    let code = match error {
        tcc_codegen::Error::UnknownTarget { .. } => Code::UnknownTarget,
        tcc_codegen::Error::TargetUnavailable { .. }
        | tcc_codegen::Error::NoPackages { .. }
        | tcc_codegen::Error::NoSuchForm { .. }
        | tcc_codegen::Error::OutsideRoutines { .. } => Code::TargetUnsupported,
        _ => Code::CodegenFailed,
    };
    let found = Diagnostic::error(code, error.to_string());
    match error {
        tcc_codegen::Error::OutsideRoutines { .. } => found.help(
            "the target has no instructions for them: choose one that has, or a model in smaller types",
        ),
        _ => found,
    }
}

/// The findings with the file that they are about as the outermost place.
#[must_use]
pub fn in_file(mut found: Diagnostics, path: &Path) -> Diagnostics {
    let path = path.display().to_string();
    for diagnostic in &mut found.0 {
        if !diagnostic.message.starts_with(&path) {
            diagnostic.place.insert(0, path.clone());
        }
    }
    found
}

/// Whether the finding is a defect of tcc rather than something about the user's model or request.
pub fn is_internal(diagnostic: &Diagnostic) -> bool {
    matches!(diagnostic.code, Code::InvalidIr | Code::CodegenFailed)
}
