//! What code is compiled for: a table of named targets, and the host as LLVM sees it.

mod cpu_features;
mod table;
#[cfg(test)]
mod tests;

use std::sync::Once;

use inkwell::OptimizationLevel;
use inkwell::targets::{
    CodeModel, InitializationConfig, RelocMode, Target as LlvmTarget, TargetMachine, TargetMachineOptions,
    TargetTriple,
};

use crate::error::Error;

pub use cpu_features::detection_name;

/// Instruction set family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arch {
    /// 64-bit x86.
    X86_64,
    /// 64-bit Arm.
    Aarch64,
    /// 64-bit RISC-V.
    Riscv64,
    /// WebAssembly with 32-bit memories.
    Wasm32,
    /// Arm M-profile (Thumb-2).
    Thumb,
    /// Nvidia's virtual machine; its code is PTX text, not an object.
    Nvptx,
    /// Vulkan's compute shaders: SPIR-V, which MLIR makes without LLVM.
    Spirv,
}

impl Arch {
    /// The name that Rust's `std::env::consts::ARCH` has for it, which packages carry.
    pub fn rust_name(self) -> &'static str {
        match self {
            Arch::X86_64 => "x86_64",
            Arch::Aarch64 => "aarch64",
            Arch::Riscv64 => "riscv64",
            Arch::Wasm32 => "wasm32",
            Arch::Thumb => "arm",
            Arch::Nvptx => "nvptx64",
            Arch::Spirv => "spirv",
        }
    }
}

/// What the target does in an instruction; where it says `false`, LLVM would call a library routine, so
/// lowering has to expand the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Fused multiply-add of f32 (and of f64 where `f64` holds).
    pub fma: bool,
    /// floor, ceil, trunc, roundeven of f32 (and of f64 where `f64` holds).
    pub rounding: bool,
    /// Casts between f16 and f32.
    pub f16_casts: bool,
    /// f64 arithmetic.
    pub f64: bool,
    /// Division of 64-bit integers and their casts to and from floats.
    pub i64_division: bool,
    /// Subnormal numbers; without them they count as zero.
    pub subnormals: bool,
}

/// A target: everything LLVM and the lowering of kernels need to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The name it is asked for by; `host` stays `host`.
    pub name: String,
    /// Instruction set family.
    pub arch: Arch,
    /// LLVM's triple.
    pub triple: String,
    /// LLVM's CPU name.
    pub cpu: String,
    /// LLVM's feature string, `+a,-b`.
    pub features: String,
    /// LLVM's ABI name, mostly empty.
    pub abi: String,
    /// Width of a vector register; 0 where there are none.
    pub vector_bits: u32,
    /// How many vector registers there are.
    pub vector_registers: u32,
    /// Width of pointers: 64 or 32.
    pub pointer_bits: u32,
    /// Width of `index` in MLIR: 64 wherever 64-bit integers are native, else 32.
    pub index_bits: u32,
    /// What needs no expansion.
    pub can: Capabilities,
}

impl Target {
    /// The target of this name, or an error that lists the names.
    pub fn named(name: &str) -> Result<Self, Error> {
        if name == "host" {
            return Self::host();
        }
        table::TARGETS.iter().find(|row| row.name == name).map(table::Row::target).ok_or_else(|| {
            Error::UnknownTarget {
                name: name.to_owned(),
                known: Self::names().collect::<Vec<_>>().join(", "),
            }
        })
    }

    /// Every name that [`Target::named`] takes.
    pub fn names() -> impl Iterator<Item = &'static str> {
        std::iter::once("host").chain(table::TARGETS.iter().map(|row| row.name))
    }

    /// This machine. Its base is the best named target of the same architecture that it fulfils.
    pub fn host() -> Result<Self, Error> {
        let cpu = TargetMachine::get_host_cpu_name().to_string_lossy().into_owned();
        let features = TargetMachine::get_host_cpu_features().to_string_lossy().into_owned();
        let base = if cfg!(target_arch = "x86_64") {
            let has = |name: &str| features.split(',').any(|feature| feature.strip_prefix('+') == Some(name));
            match () {
                () if ["avx512f", "avx512vl", "avx512bw", "avx512dq"].into_iter().all(has) => "x86-64-v4",
                () if ["avx2", "fma", "f16c"].into_iter().all(has) => "x86-64-v3",
                () => "x86-64-v2",
            }
        } else if cfg!(target_arch = "aarch64") {
            "aarch64"
        } else if cfg!(target_arch = "riscv64") {
            "riscv64"
        } else {
            return Err(Error::TargetUnavailable {
                target: "host".to_owned(),
                message: format!("no code generator for {}: name a target", std::env::consts::ARCH),
            });
        };
        let base = Self::named(base)?;
        let triple = TargetMachine::get_default_triple().as_str().to_string_lossy().into_owned();
        let features = match base.arch {
            // LLVM's own list says what it tunes for; we want the widest registers where there are any.
            Arch::X86_64 if base.vector_bits == 512 => format!("{features},-prefer-256-bit"),
            Arch::Riscv64 => format!("{features},-relax"),
            _ => features,
        };
        Ok(Self { name: "host".to_owned(), triple, cpu, features, ..base })
    }

    /// Whether kernels are launched over work-groups of threads, instead of called for tiles.
    pub fn is_gpu(&self) -> bool {
        matches!(self.arch, Arch::Nvptx | Arch::Spirv)
    }

    /// CPU features that the code may use, named as Rust's run-time detection names them, sorted: what a machine
    /// must have to run it. Features that never change code of kernels are left out.
    pub fn required_features(&self) -> Vec<&'static str> {
        let implied = cpu_features::implied_by_cpu(&self.cpu).iter().copied();
        let listed = self.features.split(',').filter_map(|feature| feature.strip_prefix('+'));
        let mut names: Vec<_> =
            implied.chain(listed).filter_map(|name| detection_name(self.arch, name)).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Whether packages can hold its code.
    pub fn has_packages(&self) -> bool {
        !matches!(self.arch, Arch::Wasm32 | Arch::Thumb)
    }

    /// LLVM's code generator for this target: position-independent, small code model.
    pub(crate) fn machine(&self, level: OptimizationLevel) -> Result<TargetMachine, Error> {
        initialise_back_ends();
        let unavailable = |message: String| Error::TargetUnavailable { target: self.name.clone(), message };
        let triple = TargetTriple::create(&self.triple);
        let target = LlvmTarget::from_triple(&triple).map_err(|error| unavailable(error.to_string()))?;
        let reloc = if self.arch == Arch::Wasm32 { RelocMode::Static } else { RelocMode::PIC };
        let options = TargetMachineOptions::new()
            .set_cpu(&self.cpu)
            .set_features(&self.features)
            .set_abi(&self.abi)
            .set_level(level)
            .set_reloc_mode(reloc)
            .set_code_model(CodeModel::Small);
        target
            .create_target_machine_from_options(&triple, options)
            .ok_or_else(|| unavailable(format!("no code generator for CPU {}", self.cpu)))
    }
}

fn initialise_back_ends() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let config = InitializationConfig { asm_parser: false, disassembler: false, ..Default::default() };
        LlvmTarget::initialize_x86(&config);
        LlvmTarget::initialize_aarch64(&config);
        LlvmTarget::initialize_riscv(&config);
        LlvmTarget::initialize_webassembly(&config);
        LlvmTarget::initialize_arm(&config);
        LlvmTarget::initialize_nvptx(&config);
    });
}
