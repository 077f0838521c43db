//! Which kernels come out.

use super::{check, fused, input, kernels};
use crate::Options;
use crate::testing::Random;

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

#[test]
fn what_follows_a_concatenation_goes_into_each_part() {
    let text = "graph @f(%x: f32[3, 4], %y: f32[3, 2], %c: f32[3, 6], %s: f32[6]) {
        %0 = neg %y
        %1 = concat %x, %0, %x {axis = 1}
        %2 = slice %1 {starts = [0, 4], sizes = [3, 6], steps = [1, 1]}
        %3 = concat %0, %x {axis = 1}
        %4 = mul %3, %c
        %5 = add %4, %s
        return %2, %5
    }";
    let random = &mut Random(1);
    let after = check(text, &[vec![3, 4], vec![3, 2], vec![3, 6], vec![6]].map(|shape| input(shape, random)));
    assert!(
        kernels(&after).iter().any(|k| k.kernel.name == "neg_concat_mul_add"),
        "{}",
        tcc_ir::text::print(&after)
    );
}
