//! Which kernels come out.

use super::{fused, kernels};
use crate::Options;

const SOFTMAX: &str = "graph @f(%x: f32[64, 256]) {
    %0 = reduce %x {kind = max, axes = [1], keepdims = true}
    %1 = sub %x, %0
    %2 = exp %1
    %3 = reduce %2 {kind = sum, axes = [1], keepdims = true}
    %4 = div %2, %3
    return %4
}";

const LAYER_NORM: &str = "graph @f(%x: f32[64, 256], %g: f32[256], %b: f32[256]) {
    %n = constant {value = f32[] [0.00390625]}
    %eps = constant {value = f32[] [0.00001]}
    %0 = reduce %x {kind = sum, axes = [1], keepdims = true}
    %1 = mul %0, %n
    %2 = sub %x, %1
    %3 = mul %2, %2
    %4 = reduce %3 {kind = sum, axes = [1], keepdims = true}
    %5 = mul %4, %n
    %6 = add %5, %eps
    %7 = sqrt %6
    %8 = div %2, %7
    %9 = mul %8, %g
    %10 = add %9, %b
    return %10
}";

#[test]
fn softmax_is_one_kernel() {
    let graph = fused(SOFTMAX, &Options::default());
    println!("{}", tcc_ir::text::print(&graph));
    let found = kernels(&graph);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].kernel.outer.len(), 1);
}

#[test]
fn layer_norm_is_one_kernel() {
    let graph = fused(LAYER_NORM, &Options::default());
    println!("{}", tcc_ir::text::print(&graph));
    assert_eq!(kernels(&graph).len(), 1);
}
