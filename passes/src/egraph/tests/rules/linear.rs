//! Matrix products and convolutions.

use super::{F, F_NARROW, Sample, sample};

pub(super) const SAMPLES: &[Sample] = &[
    sample(
        "scale-past-bias",
        F_NARROW,
        "graph @f(%x: $T[$N, $K], %c: $T[$K, $M], %ca: $T[$M], %cb: $T[$M]) {
        %0 = contract %x, %c {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = $T}
        %1 = add %0, %ca
        %2 = mul %1, %cb
        return %2 }",
    ),
    sample(
        "scale-into-weights",
        F_NARROW,
        "graph @f(%x: $T[$N, $K], %c: $T[$K, $M], %ca: $T[$M]) {
        %0 = contract %x, %c {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = $T}
        %1 = mul %0, %ca
        return %1 }",
    ),
    sample(
        "scale-into-weights",
        F_NARROW,
        "graph @f(%x: $T[2, $N, $K], %c: $T[2, $M, $K], %ca: $T[2, 1, $M]) {
        %0 = contract %x, %c {lhs_batch = [0], rhs_batch = [0], lhs = [2], rhs = [2], out = $T}
        %1 = mul %0, %ca
        return %1 }",
    ),
    sample(
        "scale-into-weights",
        F_NARROW,
        "graph @f(%x: $T[$N, $K], %c: $T[$M, $K], %ca: $T[$M, 1]) {
        %0 = contract %c, %x {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [1], out = $T}
        %1 = mul %0, %ca
        return %1 }",
    ),
    sample(
        "scale-into-weights",
        F_NARROW,
        "graph @f(%x: $T[$N, 4, 5], %c: $T[6, 2, 3], %ca: $T[6, 1]) {
        %0 = conv %x, %c {strides = [1], dilations = [1], pads_before = [1], pads_after = [1], groups = 2}
        %1 = mul %0, %ca
        return %1 }",
    ),
    sample(
        "operand-scale-into-contract",
        F_NARROW,
        "graph @f(%x: $T[$N, $K], %c: $T[$K, $M], %ca: $T[$K]) {
        %0 = mul %x, %ca
        %1 = contract %0, %c {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = $T}
        return %1 }",
    ),
    sample(
        "pad-into-conv",
        F,
        "graph @f(%x: $T[$N, 2, 5], %c: $T[1, 2, 2]) {
        %zero = constant {value = $T[] [0.0]}
        %0 = pad %x, %zero {before = [0, 0, 1], after = [0, 0, 2], mode = constant}
        %1 = conv %0, %c {strides = [2], dilations = [1], pads_before = [1], pads_after = [0], groups = 1}
        return %1 }",
    ),
    sample(
        "sum-of-products",
        F,
        "graph @f(%x: $T[$N, $K], %y: $T[$N, $K], %c: $T[$K, $M]) {
        %0 = contract %x, %c {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = $T}
        %1 = contract %y, %c {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = $T}
        %2 = add %0, %1
        return %2 }",
    ),
    sample(
        "sum-of-products",
        F,
        "graph @f(%x: $T[2, $N, $K], %c: $T[2, $K, $M], %ca: $T[2, $K, $M]) {
        %0 = contract %x, %c {lhs_batch = [0], rhs_batch = [0], lhs = [2], rhs = [1], out = $T}
        %1 = contract %x, %ca {lhs_batch = [0], rhs_batch = [0], lhs = [2], rhs = [1], out = $T}
        %2 = add %0, %1
        return %2 }",
    ),
    sample(
        "product-of-products",
        F,
        "graph @f(%x: $T[$N, $K], %c: $T[$K, $M], %ca: $T[$M, 3]) {
        %0 = contract %x, %c {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = $T}
        %1 = contract %0, %ca {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = $T}
        return %1 }",
    ),
    sample(
        "product-of-products",
        F,
        "graph @f(%x: $T[$N, $K, 2], %c: $T[4, $M, $K], %ca: $T[3, $M]) {
        %0 = contract %x, %c {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [2], out = $T}
        %1 = contract %0, %ca {lhs_batch = [], rhs_batch = [], lhs = [3], rhs = [1], out = $T}
        return %1 }",
    ),
];
