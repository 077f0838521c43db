//! Which kernels come out.

use super::{check, fused, input, kernels};
use crate::egraph::FusionLevel;
use crate::testing::Random;
use crate::{Machine, Options};
use tcc_ir::Value;
use tcc_ir::eval::evaluate;

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

fn attention(queries: usize) -> String {
    format!(
        "graph @f(%q: f32[2, 4, {queries}, 32], %k: f32[2, 4, 256, 32], %v: f32[2, 4, 256, 32], %m: f32[2, 1, 1, 256]) {{
            %c = constant {{value = f32[] [0.125]}}
            %s = contract %q, %k {{lhs_batch = [0, 1], rhs_batch = [0, 1], lhs = [3], rhs = [3], out = f32}}
            %s1 = mul %s, %c
            %s2 = add %s1, %m
            %0 = reduce %s2 {{kind = max, axes = [3], keepdims = true}}
            %1 = sub %s2, %0
            %2 = exp %1
            %3 = reduce %2 {{kind = sum, axes = [3], keepdims = true}}
            %4 = div %2, %3
            %o = contract %4, %v {{lhs_batch = [0, 1], rhs_batch = [0, 1], lhs = [3], rhs = [2], out = f32}}
            return %o
        }}"
    )
}

fn horizontal() -> Options {
    Options { fusion: FusionLevel::Horizontal, ..Options::default() }
}

#[test]
fn attention_is_one_kernel() {
    let graph = fused(&attention(256), &horizontal());
    println!("{}", tcc_ir::text::print(&graph));
    let found = kernels(&graph);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].kernel.outer.len(), 3);
}

#[test]
fn attention_stays_apart_where_it_has_no_schedule() {
    // Vertical fusion doesn't put products together.
    let vertical = Options { fusion: FusionLevel::Vertical, ..Options::default() };
    assert_eq!(kernels(&fused(&attention(256), &vertical)).len(), 3);
    // One query has no block of rows.
    assert_eq!(kernels(&fused(&attention(1), &horizontal())).len(), 3);
    let machine = Machine { row_block: 0, ..Machine::default() };
    assert_eq!(kernels(&fused(&attention(256), &Options { machine, ..horizontal() })).len(), 3);
}

#[test]
fn a_product_and_the_normalisation_of_its_rows_are_one_kernel() {
    let norm = LAYER_NORM.replace("[64,", "[512,");
    let product =
        norm.replace("%x: f32[512, 256]", "%y: f32[512, 128], %w: f32[128, 256], %r: f32[512, 256]");
    let product = product.replacen(
        "{\n",
        "{\n    %p = contract %y, %w {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}
         %x = add %p, %r\n",
        1,
    );
    let graph = fused(&product, &horizontal());
    println!("{}", tcc_ir::text::print(&graph));
    assert_eq!(kernels(&graph).len(), 1);
}

/// Two convolutions of one image, of odd extents: the residual goes into the stores of one, guarded ones too.
#[test]
fn convolutions_by_tiles_take_in_what_follows() {
    let random = &mut Random(13);
    let weights = |random: &mut Random| {
        let Value::Tensor(t) = input(vec![8, 8, 3, 3], random) else { unreachable!("a tensor") };
        format!("{:?}", t.floats())
    };
    let attrs = "strides = [1, 1], dilations = [1, 1], pads_before = [1, 1], pads_after = [1, 1], groups = 1";
    let text = format!(
        "graph @f(%x: f32[2, 8, 21, 13], %r: f32[2, 8, 21, 13], %b: f32[8, 1, 1]) {{
        %v = constant {{value = f32[8, 8, 3, 3] {}}}
        %w = constant {{value = f32[8, 8, 3, 3] {}}}
        %zero = constant {{value = f32[] [0.0]}}
        %0 = conv %x, %v {{{attrs}}}
        %1 = add %0, %b
        %2 = add %1, %r
        %3 = max %2, %zero
        %4 = conv %x, %w {{{attrs}}}
        return %3, %4
    }}",
        weights(random),
        weights(random)
    );
    let slow = Machine { flops_per_cycle: 1, cores: 1, launch: 1e-3, ..Machine::default() };
    let graph = fused(&text, &Options { machine: slow, ..Options::default() });
    let names: Vec<&str> = kernels(&graph).iter().map(|k| k.kernel.name.as_str()).collect();
    assert!(!names.is_empty() && names.iter().all(|name| name.contains("winograd")), "{names:?}");
    let before = tcc_ir::text::parse(&text).expect("a graph");
    let inputs = [[2, 8, 21, 13], [2, 8, 21, 13]].map(|shape| input(shape.to_vec(), random));
    let inputs = [&inputs[..], &[input(vec![8, 1, 1], random)]].concat();
    let (want, have) =
        (evaluate(&before, &inputs).expect("it runs"), evaluate(&graph, &inputs).expect("it runs"));
    for (want, have) in want.iter().zip(&have) {
        let (Value::Tensor(want), Value::Tensor(have)) = (want, have) else { unreachable!("tensors") };
        assert_eq!(want.shape(), have.shape());
        assert!(want.floats().iter().zip(&have.floats()).all(|(a, b)| (a - b).abs() < 1e-3));
    }
}
