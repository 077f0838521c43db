//! Which CPU features a package has to ask for, in the names of Rust's `is_x86_feature_detected!` and its kin.

use super::Arch;

/// LLVM's name of a feature beside the one that Rust detects it by.
static X86: &[(&str, &str)] = &[
    ("sse3", "sse3"),
    ("ssse3", "ssse3"),
    ("sse4.1", "sse4.1"),
    ("sse4.2", "sse4.2"),
    ("popcnt", "popcnt"),
    ("avx", "avx"),
    ("avx2", "avx2"),
    ("fma", "fma"),
    ("f16c", "f16c"),
    ("bmi", "bmi1"),
    ("bmi2", "bmi2"),
    ("lzcnt", "lzcnt"),
    ("movbe", "movbe"),
    ("adx", "adx"),
    ("gfni", "gfni"),
    ("avxvnni", "avxvnni"),
    ("avx512f", "avx512f"),
    ("avx512bw", "avx512bw"),
    ("avx512cd", "avx512cd"),
    ("avx512dq", "avx512dq"),
    ("avx512vl", "avx512vl"),
    ("avx512ifma", "avx512ifma"),
    ("avx512vbmi", "avx512vbmi"),
    ("avx512vbmi2", "avx512vbmi2"),
    ("avx512vnni", "avx512vnni"),
    ("avx512bitalg", "avx512bitalg"),
    ("avx512vpopcntdq", "avx512vpopcntdq"),
    ("avx512bf16", "avx512bf16"),
    ("avx512fp16", "avx512fp16"),
];

static AARCH64: &[(&str, &str)] = &[
    ("neon", "neon"),
    ("fp-armv8", "fp"),
    ("lse", "lse"),
    ("rdm", "rdm"),
    ("dotprod", "dotprod"),
    ("fullfp16", "fp16"),
    ("bf16", "bf16"),
    ("i8mm", "i8mm"),
    ("sve", "sve"),
    ("sve2", "sve2"),
    ("rcpc", "rcpc"),
];

static RISCV64: &[(&str, &str)] = &[
    ("m", "m"),
    ("a", "a"),
    ("f", "f"),
    ("d", "d"),
    ("c", "c"),
    ("v", "v"),
    ("zfhmin", "zfhmin"),
    ("zvfhmin", "zvfhmin"),
];

const V2: &[&str] = &["sse3", "ssse3", "sse4.1", "sse4.2", "popcnt"];
const V3: &[&str] = &[
    "sse3", "ssse3", "sse4.1", "sse4.2", "popcnt", "avx", "avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt",
    "movbe",
];
const V4: &[&str] = &[
    "sse3", "ssse3", "sse4.1", "sse4.2", "popcnt", "avx", "avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt",
    "movbe", "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl",
];

/// The name Rust detects LLVM's feature by; `None` for one that code of kernels doesn't depend on.
pub fn detection_name(arch: Arch, llvm: &str) -> Option<&'static str> {
    let table = match arch {
        Arch::X86_64 => X86,
        Arch::Aarch64 => AARCH64,
        Arch::Riscv64 => RISCV64,
        Arch::Wasm32 | Arch::Thumb | Arch::Nvptx | Arch::Spirv => return None,
    };
    table.iter().find(|(name, _)| *name == llvm).map(|(_, detected)| *detected)
}

/// Features that LLVM switches on for a CPU name of the table without being told.
pub(super) fn implied_by_cpu(cpu: &str) -> &'static [&'static str] {
    match cpu {
        "x86-64-v2" => V2,
        "x86-64-v3" => V3,
        "x86-64-v4" => V4,
        _ => &[],
    }
}
