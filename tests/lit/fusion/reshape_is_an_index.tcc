// Heads of attention: an axis is split and moved, and the product reads where the elements lie.
// RUN: %tcc opt %s | %FileCheck %s
// CHECK-COUNT-1: = kernel %
// CHECK: sum(f32, b0[{{.*}}i2, i0{{.*}}i1] * b1[
// CHECK-NOT: = kernel %
graph @f(%q: f32[32, 64], %k: f32[32, 64]) {
  %0 = reshape %q {dims = [1, 32, 4, 16]}
  %1 = transpose %0 {perm = [0, 2, 1, 3]}
  %2 = reshape %1 {dims = [4, 32, 16]}
  %3 = reshape %k {dims = [1, 32, 4, 16]}
  %4 = transpose %3 {perm = [0, 2, 3, 1]}
  %5 = reshape %4 {dims = [4, 16, 32]}
  %6 = contract %2, %5 {lhs_batch = [0], rhs_batch = [0], lhs = [2], rhs = [1], out = f32}
  return %6
}
