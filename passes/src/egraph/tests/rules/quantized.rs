//! Products of dequantized operands.

use super::{F, I8, Sample, U8, sample};
use crate::Machine;
use crate::egraph::analysis::View;
use crate::egraph::language::Id;
use crate::egraph::region::Region;
use crate::egraph::rules::RULES;
use crate::egraph::tests::{check, input};
use crate::testing::Random;
use tcc_ir::Op;

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
    // Zero points of each channel of the weights, and padding with a zero point on the other side.
    sample(
        "integer-conv",
        F,
        "graph @f(%x: $T[$N, 2, 5], %c: $T[3, 2, 2], %ca: $T[], %cb: $T[3, 1, 1], %cz: $T[3, 1, 1]) {
        %xq = cast %x {to = u8, saturate = true}
        %xi = cast %xq {to = i32, saturate = true}
        %z = constant {value = i32[] [7]}
        %xz = sub %xi, %z
        %xf = cast %xz {to = $T, saturate = true}
        %xs = mul %xf, %ca
        %cq = cast %c {to = i8, saturate = true}
        %ci = cast %cq {to = i32, saturate = true}
        %zq = cast %cz {to = i8, saturate = true}
        %zi = cast %zq {to = i32, saturate = true}
        %ct = sub %ci, %zi
        %cf = cast %ct {to = $T, saturate = true}
        %cs = mul %cf, %cb
        %0 = conv %xs, %cs {strides = [1], dilations = [1], pads_before = [2], pads_after = [1], groups = 1}
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

/// Whether the product of x times a scale, after a change that makes `%2` of `%1`, and of w becomes one of integers.
fn is_integers(x: &str, scale: &str, change: &str, w: &str) -> bool {
    let text = format!(
        "graph @f(%x: {x}, %w: {w}) {{
        %s = constant {{value = {scale}}}
        %0 = cast %x {{to = f32, saturate = true}}
        %1 = mul %0, %s
        {change}
        %3 = cast %w {{to = f32, saturate = true}}
        %4 = contract %2, %3 {{lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}}
        return %4 }}"
    );
    let graph = tcc_ir::text::parse(&text).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let nodes: Vec<_> =
        graph.nodes().filter(|(_, n)| !matches!(n.op, Op::Constant(_))).map(|(id, _)| id).collect();
    let region = Region::new(&graph, &nodes, &Machine::default());
    let (_, product) = graph.nodes().last().expect("there are nodes");
    let operands: Vec<Id> = product.inputs.iter().map(|v| region.find(*v)).collect();
    let rule = RULES.iter().copied().flatten().find(|r| r.name == "integer-contract").expect("it is there");
    (rule.apply)(View(&region.egraph), &product.op, &operands).is_some()
}

const SAME: &str = "%2 = reshape %1 {dims = [4, 64]}";

#[test]
fn sums_that_may_leave_32_bits_stay() {
    let of = |k: &str| {
        let same = format!("%2 = reshape %1 {{dims = [4, {k}]}}");
        is_integers(&format!("u8[4, {k}]"), "f32[] [0.5]", &same, &format!("u8[{k}, 8]"))
    };
    assert!(of("33025"));
    assert!(!of("33026"));
    assert!(!of("k"), "it may be of any length");
}

#[test]
fn integers_of_more_than_16_bits_stay() {
    assert!(is_integers("i16[4, 64]", "f32[] [0.5]", SAME, "i8[64, 8]"));
    assert!(!is_integers("u16[4, 64]", "f32[] [0.5]", SAME, "i8[64, 8]"));
    assert!(!is_integers("i8[4, 64]", "f32[] [0.5]", SAME, "u16[64, 8]"));
}

#[test]
fn only_scales_that_are_known_and_ordinary_are_taken_out() {
    for scale in ["0.5", "-0.5"] {
        assert!(is_integers("i8[4, 64]", &format!("f32[] [{scale}]"), SAME, "i8[64, 8]"), "{scale}");
    }
    for scale in ["inf", "nan", "1e-30", "1e30"] {
        assert!(!is_integers("i8[4, 64]", &format!("f32[] [{scale}]"), SAME, "i8[64, 8]"), "{scale}");
    }
}

#[test]
fn scales_that_differ_along_the_sum_stay() {
    let turned = "%2 = transpose %1 {perm = [1, 0]}";
    let scalar = "f32[1, 1] [0.5]";
    assert!(is_integers("i8[64, 4]", scalar, turned, "i8[64, 8]"));
    // Without anything between the scale and the product.
    let direct = |scale: &str| is_integers("i8[4, 64]", scale, "%2 = mul %0, %s", "i8[64, 8]");
    assert!(direct("f32[4, 1] splat 0.5"));
    assert!(!direct("f32[64] splat 0.5"));
}

#[test]
fn scales_that_spread_their_operand_stay() {
    let of = |x: &str| is_integers(x, "f32[4, 1] splat 0.5", "%2 = mul %0, %s", "i8[64, 8]");
    assert!(of("i8[4, 64]"));
    assert!(!of("i8[1, 64]"));
}

#[test]
fn reshapes_are_looked_through_with_one_scale_for_all_only() {
    let of = |scale: &str| is_integers("i8[2, 2, 64]", scale, SAME, "i8[64, 8]");
    assert!(of("f32[] [0.5]"));
    assert!(!of("f32[2, 2, 1] splat 0.5"));
}

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
