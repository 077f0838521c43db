//! Pass pipelines, as text that `mlir-opt` takes too.

/// The pipeline from arith, math, scf, vector, memref, index and ub to the LLVM dialect, with an `index` of
/// `index_bits` bits: 64, or 32 with vectors in one dimension only.
///
/// FP reductions keep their order unless the operation itself carries `fastmath<reassoc>`.
pub fn to_llvm_dialect(index_bits: u32) -> String {
    format!("builtin.module({})", if index_bits == 64 { WIDE } else { NARROW }.join(","))
}

/// The pipeline from a `gpu.module` of arith, math, scf, memref and gpu to a `spirv.module` beside it.
pub fn to_spirv_dialect() -> String {
    "builtin.module(gpu.module(gpu.func(convert-math-to-spirv)),convert-gpu-to-spirv{use-64bit-index=true},\
     spirv.module(spirv-lower-abi-attrs,spirv-update-vce))"
        .to_owned()
}

/// The pipeline from a `spirv.module` inside a `gpu.module` to a `gpu.binary`.
pub fn to_binary() -> String {
    "builtin.module(gpu-module-to-binary)".to_owned()
}

/// arith-expand does floordivsi, ceildivsi, bf16 casts, min and max that propagate NaN.
const WIDE: &[&str] = &[
    "arith-expand{include-bf16=true}",
    "convert-scf-to-cf",
    "convert-vector-to-llvm{reassociate-fp-reductions=false}",
    "expand-strided-metadata",
    "lower-affine",
    "convert-ub-to-llvm",
    "convert-math-to-llvm",
    "finalize-memref-to-llvm",
    "convert-arith-to-llvm",
    "convert-index-to-llvm",
    "convert-cf-to-llvm",
    "reconcile-unrealized-casts",
];

/// convert-vector-to-llvm knows 64-bit indices only, so all dialects convert at once, with the width that the
/// module's data layout states.
const NARROW: &[&str] = &[
    "arith-expand{include-bf16=true}",
    "convert-scf-to-cf",
    "expand-strided-metadata",
    "lower-affine",
    "convert-to-llvm{dynamic=true}",
    "reconcile-unrealized-casts",
];
