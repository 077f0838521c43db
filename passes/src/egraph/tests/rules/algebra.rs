//! Arithmetic.

use super::{FLOATS, NUMBERS, Sample, sample};
use tcc_ir::DType::{BF16, F16, F32, F64};

pub(super) const SAMPLES: &[Sample] = &[
    sample(
        "constants-together",
        NUMBERS,
        "graph @f(%x: $T[$N, $M], %c: $T[$M], %ca: $T[$N, 1]) {
        %0 = mul %x, %c
        %1 = mul %0, %ca
        return %1 }",
    ),
    sample(
        "constants-together",
        NUMBERS,
        "graph @f(%x: $T[$N, $M], %c: $T, %ca: $T[$M]) {
        %0 = add %x, %c
        %1 = add %0, %ca
        return %1 }",
    ),
    sample(
        "bounds-together",
        NUMBERS,
        "graph @f(%x: $T[$N, $M], %c: $T[$M], %ca: $T) {
        %0 = max %x, %c
        %1 = max %0, %ca
        return %1 }",
    ),
    sample(
        "bounds-together",
        NUMBERS,
        "graph @f(%x: $T[$N, $M], %c: $T, %ca: $T[$N, 1]) {
        %0 = min %x, %c
        %1 = min %0, %ca
        return %1 }",
    ),
    sample(
        "sub-constant-as-add",
        NUMBERS,
        "graph @f(%x: $T[$N, $M], %c: $T[$M]) {
        %0 = sub %x, %c
        return %0 }",
    ),
    sample(
        "div-constant-as-mul",
        &[F32, F64],
        "graph @f(%x: $T[$N, $M], %c: $T[$M]) {
        %0 = div %x, %c
        return %0 }",
    ),
    sample(
        "div-broadcast-as-mul",
        FLOATS,
        "graph @f(%x: $T[$N, 5], %y: $T[$N, 1]) {
        %0 = div %x, %y
        return %0 }",
    ),
    sample(
        "common-factor",
        FLOATS,
        "graph @f(%a: $T[$N, $M], %b: $T[$M], %c: $T[$N, 1]) {
        %0 = mul %a, %c
        %1 = mul %b, %c
        %2 = add %0, %1
        return %2 }",
    ),
    sample(
        "square",
        &[F32, F16, BF16],
        "graph @f(%x: $T[$N, $M]) {
        %two = constant {value = $T[1] [2.0]}
        %0 = pow %x, %two
        return %0 }",
    ),
    sample(
        "cube",
        FLOATS,
        "graph @f(%x: $T[$N, $M]) {
        %three = constant {value = $T[] [3.0]}
        %0 = pow %x, %three
        return %0 }",
    ),
    sample(
        "power-as-root",
        FLOATS,
        "graph @f(%x: $T[$N, $M]) {
        %half = constant {value = $T[] [0.5]}
        %0 = pow %x, %half
        return %0 }",
    ),
    sample(
        "sigmoid",
        FLOATS,
        "graph @f(%x: $T[$N, $M]) {
        %one = constant {value = $T[1] [1.0]}
        %0 = neg %x
        %1 = exp %0
        %2 = add %1, %one
        %3 = div %one, %2
        return %3 }",
    ),
    sample(
        "sigmoid",
        FLOATS,
        "graph @f(%x: $T[$N, $M]) {
        %one = constant {value = $T[] [1.0]}
        %0 = neg %x
        %1 = exp %0
        %2 = add %one, %1
        %3 = reciprocal %2
        return %3 }",
    ),
    sample(
        "log-of-one-more",
        FLOATS,
        "graph @f(%x: $T[$N, $M]) {
        %one = constant {value = $T[] [1.0]}
        %0 = add %x, %one
        %1 = log %0
        return %1 }",
    ),
    sample(
        "log-of-exp",
        FLOATS,
        "graph @f(%x: $T[$N, $M]) {
        %0 = exp %x
        %1 = log %0
        return %1 }",
    ),
    sample(
        "log-of-quotient",
        FLOATS,
        "graph @f(%x: $T[$N, $M], %y: $T[$N, 1]) {
        %0 = exp %x
        %1 = div %0, %y
        %2 = log %1
        return %2 }",
    ),
];
