//! Moving elements.

use super::{NUMBERS, Sample, sample};

pub(super) const SAMPLES: &[Sample] = &[
    sample(
        "move-of-nothing",
        NUMBERS,
        "graph @f(%x: $T[$N, $M]) {
        %0 = transpose %x {perm = [0, 1]}
        %1 = reshape %0 {dims = [$N, $M]}
        return %1 }",
    ),
    sample(
        "reshape-twice",
        NUMBERS,
        "graph @f(%x: $T[$N, 2, $M]) {
        %0 = reshape %x {dims = [2, $N, $M]}
        %1 = reshape %0 {dims = [$N, $M, 2]}
        return %1 }",
    ),
    sample(
        "transpose-twice",
        NUMBERS,
        "graph @f(%x: $T[$N, $M, 2, 3]) {
        %0 = transpose %x {perm = [1, 2, 3, 0]}
        %1 = transpose %0 {perm = [0, 2, 3, 1]}
        return %1 }",
    ),
    sample(
        "compute-before-reshape",
        NUMBERS,
        "graph @f(%x: $T[6, $M], %y: $T[2, 3, $M]) {
        %0 = reshape %x {dims = [2, 3, $M]}
        %1 = sub %0, %y
        return %1 }",
    ),
    sample(
        "compute-before-reshape",
        NUMBERS,
        "graph @f(%x: $T[6, $M], %y: $T[1, $M], %z: $T[1, 1, 1]) {
        %0 = reshape %x {dims = [2, 3, $M]}
        %1 = sub %0, %y
        %2 = max %1, %z
        return %2 }",
    ),
    sample(
        "compute-before-reshape",
        NUMBERS,
        "graph @f(%x: $T[2, 2, $M], %y: $T[1, 4, $M]) {
        %0 = reshape %x {dims = [1, 4, $M]}
        %1 = sub %y, %0
        %2 = neg %1
        return %2 }",
    ),
    sample(
        "compute-before-transpose",
        NUMBERS,
        "graph @f(%x: $T[$N, $M, 3], %y: $T[$N, $M, 3], %c: $T[$M], %s: $T[1]) {
        %0 = transpose %x {perm = [2, 0, 1]}
        %1 = transpose %y {perm = [2, 0, 1]}
        %2 = sub %0, %1
        %3 = sub %0, %c
        %4 = max %0, %s
        return %2, %3, %4 }",
    ),
    sample(
        "reduce-before-transpose",
        NUMBERS,
        "graph @f(%x: $T[$N, $M, 3]) {
        %0 = transpose %x {perm = [2, 0, 1]}
        %1 = reduce %0 {kind = sum, axes = [0, 2], keepdims = true}
        %2 = reduce %0 {kind = max, axes = [1], keepdims = false}
        return %1, %2 }",
    ),
    sample(
        "slice-of-concat",
        NUMBERS,
        "graph @f(%x: $T[3, $M], %y: $T[2, $M], %z: $T[4, $M]) {
        %0 = concat %x, %y, %z {axis = 0}
        %1 = slice %0 {starts = [3, 0], sizes = [2, $M], steps = [1, 1]}
        %2 = slice %0 {starts = [8, 0], sizes = [2, $M], steps = [-1, 1]}
        %3 = slice %0 {starts = [2, 0], sizes = [2, $M], steps = [1, 1]}
        return %1, %2, %3 }",
    ),
    sample(
        "concat-twice",
        NUMBERS,
        "graph @f(%x: $T[$N, 2], %y: $T[$N, $M], %z: $T[$N, $K]) {
        %0 = concat %x, %y {axis = 1}
        %1 = concat %z, %0, %x {axis = 1}
        return %1 }",
    ),
    sample(
        "concat-of-slices",
        NUMBERS,
        "graph @f(%x: $T[$N, 6], %y: $T[$N, 2]) {
        %0 = slice %x {starts = [0, 1], sizes = [$N, 2], steps = [1, 1]}
        %1 = slice %x {starts = [0, 3], sizes = [$N, 3], steps = [1, 1]}
        %2 = concat %y, %0, %1 {axis = 1}
        return %2 }",
    ),
    sample(
        "slice-of-pad",
        NUMBERS,
        "graph @f(%x: $T[4, $M], %v: $T) {
        %0 = pad %x, %v {mode = constant, before = [2, 0], after = [1, 0]}
        %1 = slice %0 {starts = [2, 0], sizes = [3, $M], steps = [1, 1]}
        %2 = slice %0 {starts = [1, 0], sizes = [3, $M], steps = [1, 1]}
        return %1, %2 }",
    ),
];
