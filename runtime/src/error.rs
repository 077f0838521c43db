//! Errors of the runtime: what went wrong, where, and what to do about it.

use std::fmt;

pub type Result<T> = std::result::Result<T, Error>;

/// Error codes of the C interface, in groups of a hundred. Numbers are never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Status {
    Ok = 0,

    // The package.
    Io = 100,
    NotAPackage = 101,
    Version = 102,
    Corrupt = 103,
    Invalid = 104,
    Target = 105,

    // What the caller passed.
    Argument = 200,
    Unbound = 201,
    Shape = 202,
    Type = 203,

    // The run.
    Check = 300,
    Kernel = 301,
    Builtin = 302,
    Size = 303,
    Memory = 304,
    Device = 305,

    /// A defect of the runtime: please report it.
    Internal = 900,
}

/// Anything that can go wrong. `Display` says what, where and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// A file can't be opened or mapped.
    Io { path: String, cause: String },
    /// The file isn't a package at all.
    NotAPackage { cause: String },
    /// The package is for another version of the runtime.
    Version { what: &'static str, found: u32, known: u32 },
    /// A part of the file is damaged.
    Corrupt { part: String, cause: String },
    /// The manifest contradicts itself.
    Invalid { place: String, cause: String },
    /// No code section runs on this machine.
    Target { cause: String },
    /// The package's kernels are for a device, and there's none that can run them.
    NoDevice { cause: String, remedy: String },
    /// The caller passed something that doesn't exist or can't be.
    Argument { cause: String },
    /// Something wasn't given before the run.
    Unbound { what: String },
    /// An input's shape isn't one that the model takes.
    Shape { place: String, cause: String },
    /// An input or output has another element type.
    Type { place: String, expected: String, found: String },
    /// A condition that the model needs doesn't hold.
    Check { message: String },
    /// A kernel stopped.
    Kernel { kernel: String, source: String, code: i32 },
    /// A built-in routine stopped.
    Builtin { op: String, source: String, cause: String },
    /// A size can't be computed or is too large.
    Size { place: String, cause: String },
    /// The system has no more memory.
    Memory { place: String, bytes: u64 },
    /// A device stopped working, or its driver refused something.
    Device { cause: String },
    /// A defect of the runtime.
    Internal { cause: String },
}

impl Error {
    pub(crate) fn not_a_package(cause: String) -> Error {
        Error::NotAPackage { cause }
    }

    pub(crate) fn corrupt(part: &str, cause: &str) -> Error {
        Error::Corrupt { part: part.into(), cause: cause.into() }
    }

    pub(crate) fn invalid(place: impl Into<String>, cause: impl Into<String>) -> Error {
        Error::Invalid { place: place.into(), cause: cause.into() }
    }

    /// The code that the C interface returns.
    pub fn status(&self) -> Status {
        match self {
            Error::Io { .. } => Status::Io,
            Error::NotAPackage { .. } => Status::NotAPackage,
            Error::Version { .. } => Status::Version,
            Error::Corrupt { .. } => Status::Corrupt,
            Error::Invalid { .. } => Status::Invalid,
            Error::Target { .. } | Error::NoDevice { .. } => Status::Target,
            Error::Argument { .. } => Status::Argument,
            Error::Unbound { .. } => Status::Unbound,
            Error::Shape { .. } => Status::Shape,
            Error::Type { .. } => Status::Type,
            Error::Check { .. } => Status::Check,
            Error::Kernel { .. } => Status::Kernel,
            Error::Builtin { .. } => Status::Builtin,
            Error::Size { .. } => Status::Size,
            Error::Memory { .. } => Status::Memory,
            Error::Device { .. } => Status::Device,
            Error::Internal { .. } => Status::Internal,
        }
    }
}

/// What a kernel's fault code means.
fn fault(code: i32) -> &'static str {
    match code {
        1 => "an index is out of range",
        2 => "an integer division by zero or an overflow",
        _ => "it reported a fault",
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io { path, cause } => write!(f, "{path}: {cause}; check the path and its permissions"),
            Error::NotAPackage { cause } => {
                write!(f, "this file is not a tcc package: {cause}; make one with `tcc compile`")
            }
            Error::Version { what, found, known } => write!(
                f,
                "the package has {what} version {found}, this runtime reads {known}; \
                 compile the model again with the matching tcc, or use the matching runtime"
            ),
            Error::Corrupt { part, cause } => write!(
                f,
                "the package's {part} is damaged: {cause}; copy the file again or compile the model again"
            ),
            Error::Invalid { place, cause } => write!(
                f,
                "the package is invalid at {place}: {cause}; compile the model again, and report it if that doesn't help"
            ),
            Error::Target { cause } => {
                write!(
                    f,
                    "the package has no code for this machine: {cause}; compile with a matching --target"
                )
            }
            Error::NoDevice { cause, remedy } => {
                write!(f, "the package can't run here: {cause}; {remedy}")
            }
            Error::Argument { cause } => write!(f, "{cause}"),
            Error::Unbound { what } => write!(f, "{what} isn't set; set it before the run"),
            Error::Shape { place, cause } => write!(f, "{place}: {cause}; pass a shape that the model takes"),
            Error::Type { place, expected, found } => {
                write!(f, "{place} is of type {found}, the model has {expected}; convert it first")
            }
            Error::Check { message } => write!(f, "the model can't run on these inputs: {message}"),
            Error::Kernel { kernel, source, code } => write!(
                f,
                "{source}: {} (fault {code} in kernel {kernel}); check the values of the inputs",
                fault(*code)
            ),
            Error::Builtin { op, source, cause } => {
                write!(f, "{source}: {op}: {cause}; check the values of the inputs")
            }
            Error::Size { place, cause } => write!(f, "{place}: {cause}; check the inputs' shapes"),
            Error::Memory { place, bytes } => {
                write!(f, "no memory for {place} ({bytes} bytes); use smaller inputs or a larger machine")
            }
            Error::Device { cause } => {
                write!(
                    f,
                    "the GPU failed: {cause}; open the package again, and update the driver if that doesn't help"
                )
            }
            Error::Internal { cause } => write!(f, "internal error: {cause}; please report it"),
        }
    }
}

impl std::error::Error for Error {}
