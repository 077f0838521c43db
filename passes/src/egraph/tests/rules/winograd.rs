//! Convolutions by tiles: of odd and even extents, in one block or several, with all sorts of padding.

use super::{F, Sample, sample};

const EVEN: &str = "graph @f(%x: $T[$N, $K, 5, 4], %c: $T[$M, $K, 3, 3]) {
    %0 = conv %x, %c {strides = [1, 1], dilations = [1, 1], pads_before = [1, 1], pads_after = [1, 1], groups = 1}
    return %0 }";

const ONE: &str = "graph @f(%x: $T[$N, $K, 1, 1], %c: $T[$M, $K, 3, 3]) {
    %0 = conv %x, %c {strides = [1, 1], dilations = [1, 1], pads_before = [1, 2], pads_after = [1, 0], groups = 1}
    return %0 }";

const NO_PADDING: &str = "graph @f(%x: $T[2, $K, 7, 8], %c: $T[$M, $K, 3, 3]) {
    %0 = conv %x, %c {strides = [1, 1], dilations = [1, 1], pads_before = [0, 0], pads_after = [0, 0], groups = 1}
    return %0 }";

/// Padding of which a part is all that some results see.
const SEEN_BY_SOME: &str = "graph @f(%x: $T[$N, 2, $K, $M], %c: $T[3, 2, 3, 3]) {
    %0 = conv %x, %c {strides = [1, 1], dilations = [1, 1], pads_before = [4, 0], pads_after = [1, 5], groups = 1}
    return %0 }";

/// More tiles than a block has, with a remainder.
const BLOCKS: &str = "graph @f(%x: $T[1, 1, 65, 40], %c: $T[1, 1, 3, 3]) {
    %0 = conv %x, %c {strides = [1, 1], dilations = [1, 1], pads_before = [1, 0], pads_after = [0, 1], groups = 1}
    return %0 }";

pub(super) const SAMPLES: &[Sample] = &[
    sample("winograd-2", F, EVEN),
    sample("winograd-2", F, ONE),
    sample("winograd-2", F, NO_PADDING),
    sample("winograd-2", F, SEEN_BY_SOME),
    sample("winograd-2", F, BLOCKS),
    sample("winograd-4", F, EVEN),
    sample("winograd-4", F, ONE),
    sample("winograd-4", F, NO_PADDING),
    sample("winograd-4", F, SEEN_BY_SOME),
    sample("winograd-4", F, BLOCKS),
];
