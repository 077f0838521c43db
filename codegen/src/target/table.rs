//! The named targets. A new CPU target is a row here.

use super::{Arch, Capabilities, Target};

pub(super) struct Row {
    pub name: &'static str,
    arch: Arch,
    triple: &'static str,
    cpu: &'static str,
    features: &'static str,
    abi: &'static str,
    vector_bits: u32,
    vector_registers: u32,
    index_bits: u32,
    can: Capabilities,
}

const ALL: Capabilities =
    Capabilities { fma: true, rounding: true, f16_casts: true, f64: true, i64_division: true };

pub(super) static TARGETS: &[Row] = &[
    Row {
        name: "x86-64-v2",
        arch: Arch::X86_64,
        triple: "x86_64-unknown-linux-gnu",
        cpu: "x86-64-v2",
        features: "",
        abi: "",
        vector_bits: 128,
        vector_registers: 16,
        index_bits: 64,
        can: Capabilities { fma: false, f16_casts: false, ..ALL },
    },
    Row {
        name: "x86-64-v3",
        arch: Arch::X86_64,
        triple: "x86_64-unknown-linux-gnu",
        cpu: "x86-64-v3",
        features: "",
        abi: "",
        vector_bits: 256,
        vector_registers: 16,
        index_bits: 64,
        can: ALL,
    },
    Row {
        name: "x86-64-v4",
        arch: Arch::X86_64,
        triple: "x86_64-unknown-linux-gnu",
        cpu: "x86-64-v4",
        features: "-prefer-256-bit",
        abi: "",
        vector_bits: 512,
        vector_registers: 32,
        index_bits: 64,
        can: ALL,
    },
    Row {
        name: "aarch64",
        arch: Arch::Aarch64,
        triple: "aarch64-unknown-linux-gnu",
        cpu: "generic",
        features: "+neon",
        abi: "",
        vector_bits: 128,
        vector_registers: 32,
        index_bits: 64,
        can: ALL,
    },
    // Linker relaxation is off: it leaves branches for a linker to settle, and images have none.
    Row {
        name: "riscv64",
        arch: Arch::Riscv64,
        triple: "riscv64-unknown-linux-gnu",
        cpu: "generic-rv64",
        features: "+m,+a,+f,+d,+c,-relax",
        abi: "lp64d",
        vector_bits: 0,
        vector_registers: 0,
        index_bits: 64,
        can: Capabilities { f16_casts: false, ..ALL },
    },
    Row {
        name: "riscv64-v",
        arch: Arch::Riscv64,
        triple: "riscv64-unknown-linux-gnu",
        cpu: "generic-rv64",
        features: "+m,+a,+f,+d,+c,+v,+zvl128b,+zfhmin,+zvfhmin,-relax",
        abi: "lp64d",
        vector_bits: 128,
        vector_registers: 32,
        index_bits: 64,
        can: ALL,
    },
    Row {
        name: "wasm32",
        arch: Arch::Wasm32,
        triple: "wasm32-unknown-unknown",
        cpu: "generic",
        features: "+simd128,+nontrapping-fptoint,+sign-ext,+bulk-memory",
        abi: "",
        vector_bits: 128,
        vector_registers: 16,
        index_bits: 32,
        can: Capabilities { fma: false, f16_casts: false, ..ALL },
    },
    Row {
        name: "thumbv7em",
        arch: Arch::Thumb,
        triple: "thumbv7em-none-eabihf",
        cpu: "cortex-m4",
        features: "",
        abi: "",
        vector_bits: 0,
        vector_registers: 0,
        index_bits: 32,
        can: Capabilities { fma: true, rounding: false, f16_casts: true, f64: false, i64_division: false },
    },
];

impl Row {
    pub(super) fn target(&self) -> Target {
        Target {
            name: self.name.to_owned(),
            arch: self.arch,
            triple: self.triple.to_owned(),
            cpu: self.cpu.to_owned(),
            features: self.features.to_owned(),
            abi: self.abi.to_owned(),
            vector_bits: self.vector_bits,
            vector_registers: self.vector_registers,
            index_bits: self.index_bits,
            can: self.can,
        }
    }
}
