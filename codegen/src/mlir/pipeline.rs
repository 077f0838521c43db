//! Pass pipelines, as text that `mlir-opt` takes too.

/// The pipeline from arith, math, scf, vector, memref, index and ub to the LLVM dialect, with an `index` of
/// `index_bits` bits.
///
/// FP reductions keep their order unless the operation itself carries `fastmath<reassoc>`.
pub fn to_llvm_dialect(index_bits: u32) -> String {
    let sized = |pass: &str| format!("{pass}{{index-bitwidth={index_bits}}}");
    let passes = [
        // floordivsi, ceildivsi, bf16 casts, min and max that propagate NaN.
        "arith-expand{include-bf16=true}".to_owned(),
        "convert-scf-to-cf".to_owned(),
        "convert-vector-to-llvm{reassociate-fp-reductions=false}".to_owned(),
        "expand-strided-metadata".to_owned(),
        sized("convert-ub-to-llvm"),
        "convert-math-to-llvm".to_owned(),
        sized("finalize-memref-to-llvm"),
        sized("convert-arith-to-llvm"),
        sized("convert-index-to-llvm"),
        sized("convert-cf-to-llvm"),
        "reconcile-unrealized-casts".to_owned(),
    ];
    format!("builtin.module({})", passes.join(","))
}
