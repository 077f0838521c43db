//! Products of dequantized operands.

use super::{F, I8, Sample, U8, sample};
use crate::egraph::tests::{check, input};
use crate::testing::Random;

/// Types of quantized elements.
const QUANTIZED: &[tcc_ir::DType] = &[I8, U8];

pub(super) const SAMPLES: &[Sample] = &[
    sample(
        "integer-contract",
        F,
        "graph @f(%x: $T[2, $N, $K], %c: $T[2, $M, $K], %ca: $T[2, $N, 1], %cb: $T[]) {
        %xq = cast %x {to = u8, saturate = true}
        %xi = cast %xq {to = i32, saturate = true}
        %z = constant {value = i32[] [114]}
        %xz = sub %xi, %z
        %xf = cast %xz {to = $T, saturate = true}
        %xs = mul %xf, %ca
        %cq = cast %c {to = i8, saturate = true}
        %cf = cast %cq {to = $T, saturate = true}
        %cs = mul %cb, %cf
        %0 = contract %xs, %cs {lhs_batch = [0], rhs_batch = [0], lhs = [2], rhs = [2], out = $T}
        return %0 }",
    ),
    sample(
        "integer-contract",
        F,
        "graph @f(%x: $T[$K, $N], %c: $T[$M, 2, $K], %ca: $T[], %cb: $T[$M, 1, 1]) {
        %xq = cast %x {to = i8, saturate = true}
        %xf = cast %xq {to = $T, saturate = true}
        %xs = mul %xf, %ca
        %xt = transpose %xs {perm = [1, 0]}
        %cq = cast %c {to = i8, saturate = true}
        %cf = cast %cq {to = $T, saturate = true}
        %cs = mul %cf, %cb
        %0 = contract %xt, %cs {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [2], out = $T}
        return %0 }",
    ),
    sample(
        "integer-conv",
        F,
        "graph @f(%x: $T[$N, 4, 5], %c: $T[6, 2, 3], %ca: $T[1], %cb: $T[6, 1, 1]) {
        %xq = cast %x {to = u8, saturate = true}
        %xi = cast %xq {to = i32, saturate = true}
        %z = constant {value = i32[] [3]}
        %xz = sub %xi, %z
        %xf = cast %xz {to = $T, saturate = true}
        %xs = mul %xf, %ca
        %cq = cast %c {to = i8, saturate = true}
        %cf = cast %cq {to = $T, saturate = true}
        %cs = mul %cf, %cb
        %0 = conv %xs, %cs {strides = [1], dilations = [1], pads_before = [1], pads_after = [2], groups = 2}
        return %0 }",
    ),
    sample(
        "narrow-integers",
        QUANTIZED,
        "graph @f(%x: $T[$N, $K], %w: $T[$K, $M]) {
        %xi = cast %x {to = i32, saturate = true}
        %z = constant {value = i32[] [-77]}
        %xz = sub %xi, %z
        %wi = cast %w {to = i32, saturate = true}
        %0 = contract %xz, %wi {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = i32}
        return %0 }",
    ),
    sample(
        "narrow-integers",
        QUANTIZED,
        "graph @f(%x: $T[$N, 2, 5], %w: $T[3, 2, 3]) {
        %xi = cast %x {to = i32, saturate = true}
        %z = constant {value = i32[] [128]}
        %xz = sub %xi, %z
        %wi = cast %w {to = i32, saturate = true}
        %0 = conv %xz, %wi {strides = [2], dilations = [1], pads_before = [1], pads_after = [0], groups = 1}
        return %0 }",
    ),
];

/// Floats that are all equal have bounds too, but aren't integers.
#[test]
fn weights_of_another_float_type_are_no_integers() {
    let text = "graph @f(%x: f32[5, 256]) {
        %0 = cast %x {to = u8, saturate = true}
        %1 = cast %0 {to = f32, saturate = true}
        %w = constant {value = f16[256, 256] splat 0.5}
        %2 = cast %w {to = f32, saturate = true}
        %3 = contract %1, %2 {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}
        return %3 }";
    check(text, &[input(vec![5, 256], &mut Random(3))]);
}

#[test]
fn weights_that_a_cast_wraps_are_not_taken_from_before_it() {
    let text = "graph @f(%x: f32[5, 64]) {
        %0 = cast %x {to = u8, saturate = true}
        %1 = cast %0 {to = f32, saturate = true}
        %w = constant {value = i8[64, 64] splat -5}
        %2 = cast %w {to = u16, saturate = true}
        %3 = cast %2 {to = f32, saturate = true}
        %4 = contract %1, %3 {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}
        return %4 }";
    check(text, &[input(vec![5, 64], &mut Random(3))]);
}
