//! Kernels of several results.

use super::{check, input, kernels};
use crate::testing::Random;
use tcc_ir::Graph;

fn results(graph: &Graph) -> Vec<usize> {
    let outputs = |node: &tcc_ir::Node| node.outputs.len();
    graph.nodes().map(|(_, node)| outputs(node)).filter(|n| *n > 1).collect()
}

const SHAPES: [[usize; 2]; 6] = [[5, 7], [1, 6], [6, 1], [0, 3], [3, 0], [33, 20]];

#[test]
fn statistics_of_rows_are_one_kernel() {
    let random = &mut Random(3);
    for [rows, columns] in SHAPES {
        let text = format!(
            "graph @f(%x: f32[{rows}, {columns}]) {{
              %e = exp %x
              %0 = reduce %x {{kind = sum, axes = [1], keepdims = false}}
              %1 = reduce %e {{kind = sum, axes = [1], keepdims = false}}
              %2 = reduce %x {{kind = max, axes = [1], keepdims = false}}
              return %0, %1, %2
            }}"
        );
        check(&text, &[input(vec![rows, columns], random)]);
    }
    let text = "graph @f(%x: f32[64, 512]) {
      %0 = reduce %x {kind = sum, axes = [1], keepdims = false}
      %1 = reduce %x {kind = max, axes = [1], keepdims = false}
      return %0, %1
    }";
    let after = check(text, &[input(vec![64, 512], random)]);
    assert_eq!((results(&after), kernels(&after).len()), (vec![2], 1));
}

#[test]
fn sums_that_two_results_share_are_done_once() {
    let random = &mut Random(5);
    let text = "graph @f(%x: f32[16, 8], %w: f32[8, 24]) {
      %p = contract %x, %w {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}
      %q = tanh %p
      return %p, %q
    }";
    let after = check(text, &[input(vec![16, 8], random), input(vec![8, 24], random)]);
    let [kernel] = kernels(&after)[..] else { panic!("one kernel") };
    assert_eq!(kernel.kernel.stages[0].accs.len(), 1);
}

#[test]
fn a_residual_is_kept_beside_its_normalisation() {
    let random = &mut Random(7);
    for [rows, columns] in SHAPES {
        let text = format!(
            "graph @f(%x: f32[{rows}, {columns}], %r: f32[{rows}, {columns}]) {{
              %y = add %x, %r
              %0 = reduce %y {{kind = max, axes = [1], keepdims = true}}
              %1 = sub %y, %0
              %2 = exp %1
              %3 = reduce %2 {{kind = sum, axes = [1], keepdims = true}}
              %4 = div %2, %3
              return %y, %4
            }}"
        );
        check(&text, &[input(vec![rows, columns], random), input(vec![rows, columns], random)]);
    }
}

#[test]
fn what_only_stood_between_is_not_a_result() {
    let random = &mut Random(9);
    let text = "graph @f(%x: f32[64, 32], %w: f32[32, 64], %c: f32[]) {
      %0 = contract %x, %w {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}
      %1 = mul %0, %c
      %2 = tanh %0
      return %1, %2
    }";
    let after =
        check(text, &[input(vec![64, 32], random), input(vec![32, 64], random), input(vec![], random)]);
    assert_eq!((results(&after), kernels(&after).len()), (vec![2], 1));
}

/// `%o` reads what is made of `%y`, so they can't be one kernel; the statistics of `%r` can.
#[test]
fn a_result_that_needs_another_one_through_a_third_stays_apart() {
    let random = &mut Random(11);
    let text = "graph @f(%x: f32[256, 512], %r: f32[256, 512]) {
      %y = exp %x
      %z = reduce %y {kind = sum, axes = [0], keepdims = true}
      %o = div %y, %z
      %s = reduce %r {kind = sum, axes = [1], keepdims = false}
      %m = reduce %r {kind = max, axes = [1], keepdims = false}
      return %y, %o, %s, %m
    }";
    let after = check(text, &[input(vec![256, 512], random), input(vec![256, 512], random)]);
    assert!(results(&after).contains(&2), "{}", tcc_ir::text::print(&after));
}
