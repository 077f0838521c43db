//! Products of one operand as one product.

use super::{check, fused, input, kernels};
use crate::testing::Random;
use crate::{FusionLevel, Options};
use tcc_ir::{Graph, Op};

/// Constants of random numbers, small enough for sums of them to be exact.
fn constant(name: &str, shape: &[usize], random: &mut Random) -> String {
    let n: usize = shape.iter().product();
    let elems: Vec<String> = (0..n).map(|_| format!("{:?}", random.below(16) as f64 / 4.0 - 2.0)).collect();
    format!("%{name} = constant {{value = f32{shape:?} [{}]}}\n", elems.join(", "))
}

fn products(graph: &Graph) -> usize {
    kernels(graph)
        .iter()
        .filter(|k| k.kernel.name.contains("contract") || k.kernel.name.contains("conv"))
        .count()
}

#[test]
fn products_with_a_bias_and_a_shape_of_their_own() {
    let random = &mut Random(7);
    for sizes in [[3, 3, 3], [1, 2, 5], [0, 4, 2], [8, 1, 0]] {
        let mut text = String::from("graph @f(%x: f32[5, 4]) {\n");
        for (i, n) in sizes.into_iter().enumerate() {
            text += &constant(&format!("w{i}"), &[4, 2 * n], random);
            text += &constant(&format!("b{i}"), &[2 * n], random);
        }
        for (i, n) in sizes.into_iter().enumerate() {
            text += &format!(
                "%p{i} = contract %x, %w{i} {{lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}}
                %s{i} = add %p{i}, %b{i}
                %r{i} = reshape %s{i} {{dims = [5, {n}, 2]}}
                %y{i} = neg %r{i}\n"
            );
        }
        text += "return %y0, %y1, %y2 }";
        check(&text, &[input(vec![5, 4], random)]);
    }
}

#[test]
fn products_from_the_left_and_over_batches() {
    let random = &mut Random(11);
    let mut text = String::from("graph @f(%x: f32[2, 4, 3]) {\n");
    text += &constant("w0", &[5, 4, 2], random);
    text += &constant("w1", &[3, 4, 2], random);
    for i in 0..2 {
        text += &format!(
            "%y{i} = contract %w{i}, %x {{lhs_batch = [2], rhs_batch = [0], lhs = [1], rhs = [1], out = f32}}\n"
        );
    }
    text += "return %y0, %y1 }";
    check(&text, &[input(vec![2, 4, 3], random)]);
}

#[test]
fn convolutions_of_one_image_are_one() {
    let random = &mut Random(3);
    let mut text = String::from("graph @f(%x: f32[1, 8, 6, 6]) {\n%zero = constant {value = f32[] [0.0]}\n");
    for (i, n) in [16, 8].into_iter().enumerate() {
        text += &constant(&format!("w{i}"), &[n, 8, 1, 1], random);
        text += &constant(&format!("b{i}"), &[n, 1, 1], random);
        text += &format!(
            "%c{i} = conv %x, %w{i} {{strides = [1, 1], dilations = [1, 1], pads_before = [0, 0], pads_after = [0, 0], groups = 1}}
            %d{i} = add %c{i}, %b{i}
            %y{i} = max %d{i}, %zero\n"
        );
    }
    text += "return %y0, %y1 }";
    let after = check(&text, &[input(vec![1, 8, 6, 6], random)]);
    // The parts are channels of one image: views.
    assert_eq!((products(&after), kernels(&after).len()), (1, 1), "{}", tcc_ir::text::print(&after));
    assert_eq!(after.nodes().filter(|(_, n)| matches!(n.op, Op::Slice(_))).count(), 2);
}

#[test]
fn vertical_fusion_leaves_siblings_alone() {
    let random = &mut Random(5);
    let mut text = String::from("graph @f(%x: f32[16, 16]) {\n");
    for i in 0..2 {
        text += &constant(&format!("w{i}"), &[16, 16], random);
        text += &format!(
            "%y{i} = contract %w{i}, %x {{lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}}\n"
        );
    }
    text += "return %y0, %y1 }";
    let after = fused(&text, &Options { fusion: FusionLevel::Vertical, ..Options::default() });
    assert_eq!(products(&after), 2);
    assert_eq!(products(&check(&text, &[input(vec![16, 16], random)])), 1);
}
