//! From MLIR text to machine code in one call.

use inkwell::OptimizationLevel;

use crate::error::Error;
use crate::gpu;
use crate::image::Image;
use crate::llvm::{self, LlvmContext};
use crate::mlir::{Session, to_llvm_dialect};
use crate::target::{Arch, Target};

/// What to produce. Several may be asked for at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emit {
    /// The module in MLIR's LLVM dialect.
    LlvmDialect,
    /// LLVM IR before optimisation.
    RawLlvmIr,
    /// LLVM IR after optimisation.
    LlvmIr,
    /// Assembly; PTX for a GPU.
    Assembly,
    /// A relocatable object.
    Object,
    /// A flat position-independent image.
    Image,
    /// A SPIR-V binary.
    Spirv,
}

/// How hard LLVM optimises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OptLevel {
    /// Nothing: for reading what was generated.
    None,
    /// Without the costlier passes.
    Fast,
    /// Everything.
    #[default]
    Full,
}

impl OptLevel {
    pub(crate) fn pipeline(self) -> &'static str {
        match self {
            Self::None => "default<O0>",
            Self::Fast => "default<O2>",
            Self::Full => "default<O3>",
        }
    }

    fn code_generation(self) -> OptimizationLevel {
        match self {
            Self::None => OptimizationLevel::None,
            Self::Fast => OptimizationLevel::Default,
            Self::Full => OptimizationLevel::Aggressive,
        }
    }
}

/// Options of a compilation.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// What to produce.
    pub emit: &'a [Emit],
    /// How hard to optimise.
    pub opt: OptLevel,
    /// Whether LLVM's verifier checks the module first.
    pub verify: bool,
}

impl<'a> Options<'a> {
    /// Full optimisation, verified in debug builds.
    pub fn new(emit: &'a [Emit]) -> Self {
        Self { emit, opt: OptLevel::default(), verify: cfg!(debug_assertions) }
    }
}

/// What was produced: the fields that were asked for.
#[derive(Debug, Default)]
pub struct Artifacts {
    /// For [`Emit::LlvmDialect`].
    pub llvm_dialect: Option<String>,
    /// For [`Emit::RawLlvmIr`].
    pub raw_llvm_ir: Option<String>,
    /// For [`Emit::LlvmIr`].
    pub llvm_ir: Option<String>,
    /// For [`Emit::Assembly`].
    pub assembly: Option<String>,
    /// For [`Emit::Object`].
    pub object: Option<Vec<u8>>,
    /// For [`Emit::Image`].
    pub image: Option<Image>,
    /// For [`Emit::Spirv`].
    pub spirv: Option<Vec<u8>>,
}

/// Compiles a module's text for a target in a session of its own.
///
/// An object or image that would depend on a routine outside of it is refused.
pub fn compile_module(text: &str, target: &Target, emit: &[Emit]) -> Result<Artifacts, Error> {
    compile_in(&Session::new(), text, target, &Options::new(emit))
}

/// Compiles in a session that the caller keeps: cheaper for many modules on one thread.
pub fn compile_in(
    session: &Session,
    text: &str,
    target: &Target,
    options: &Options<'_>,
) -> Result<Artifacts, Error> {
    compile_with(session, text, target, options, &[])
}

/// Bytes that a module declares as an external constant: too many to be text.
pub(crate) struct Constant<'a> {
    pub symbol: &'a str,
    pub bytes: &'a [u8],
}

/// Compiles a module with constants, which stay local to it.
pub(crate) fn compile_with(
    session: &Session,
    text: &str,
    target: &Target,
    options: &Options<'_>,
    constants: &[Constant<'_>],
) -> Result<Artifacts, Error> {
    let wants = |kind: Emit| options.emit.contains(&kind);
    let mut artifacts = Artifacts::default();
    let lacks = |form, advice| Error::NoSuchForm { target: target.name.clone(), form, advice };
    match (target.arch == Arch::Spirv, wants(Emit::Spirv)) {
        (true, true) if options.emit == [Emit::Spirv] => {
            artifacts.spirv = Some(gpu::serialise(session, text)?);
            return Ok(artifacts);
        }
        (true, _) => return Err(lacks("LLVM IR, assembly or objects", "ask for SPIR-V")),
        (false, true) => return Err(lacks("SPIR-V", "compile for `spirv`")),
        (false, false) => {}
    }

    let mut mlir = session.parse(text)?;
    mlir.run(&to_llvm_dialect(target.index_bits))?;
    artifacts.llvm_dialect = wants(Emit::LlvmDialect).then(|| mlir.print());

    let machine = target.machine(options.opt.code_generation())?;
    let llvm = LlvmContext::new();
    let module = llvm.translate(&mlir)?;
    llvm::prepare(llvm.context(), &module, target, &machine);
    for constant in constants {
        llvm::define(llvm.context(), &module, constant.symbol, constant.bytes);
    }
    artifacts.raw_llvm_ir = wants(Emit::RawLlvmIr).then(|| module.print_to_string().to_string());

    llvm::optimise(&module, &machine, options.opt, options.verify)?;
    llvm.check("optimising")?;
    artifacts.llvm_ir = wants(Emit::LlvmIr).then(|| module.print_to_string().to_string());

    if !options.emit.iter().any(|kind| matches!(kind, Emit::Assembly | Emit::Object | Emit::Image)) {
        return Ok(artifacts);
    }
    let outside = |symbols: Vec<String>| match symbols.is_empty() {
        true => Ok(()),
        false => Err(Error::OutsideRoutines { target: target.name.clone(), symbols }),
    };
    outside(llvm::outside_operations(&module))?;
    if wants(Emit::Assembly) {
        artifacts.assembly = Some(llvm::assembly(&module.clone(), &machine)?);
        llvm.check("generating assembly")?;
    }
    if wants(Emit::Object) || wants(Emit::Image) {
        if target.arch == Arch::Nvptx {
            return Err(lacks("objects", "its code is PTX: ask for assembly"));
        }
        let object = llvm::object(&module, &machine)?;
        llvm.check("generating an object")?;
        outside(llvm::undefined_symbols(&object)?)?;
        artifacts.image = if wants(Emit::Image) { Some(Image::link(&object)?) } else { None };
        artifacts.object = wants(Emit::Object).then_some(object);
    }
    Ok(artifacts)
}
