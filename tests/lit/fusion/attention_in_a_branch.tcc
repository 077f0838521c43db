// Sizes of the graph around a branch are known before a run there too: attention in it is one kernel, whose rows wait in
// scratch memory.
// RUN: %tcc opt %s --fusion=horizontal | %FileCheck %s
// CHECK: graph @then
// CHECK: = kernel %q, %k
// CHECK: outer(i0, i1, i2)
// CHECK-NOT: = kernel %
// CHECK: graph @else
graph @f(%q: f32[B, 8, S, 64], %k: f32[B, 8, S, 64], %v: f32[B, 8, S, 64], %given: bool) {
  %y = if %given, %q, %k, %v {then_branch = graph @then(%q: f32[B, 8, S, 64], %k: f32[B, 8, S, 64], %v: f32[B, 8, S, 64]) prefix "t" {
    %s = contract %q, %k {lhs_batch = [0, 1], rhs_batch = [0, 1], lhs = [3], rhs = [3], out = f32}
    %0 = reduce %s {kind = max, axes = [3], keepdims = true}
    %1 = sub %s, %0
    %2 = exp %1
    %3 = reduce %2 {kind = sum, axes = [3], keepdims = true}
    %4 = div %2, %3
    %5 = contract %4, %v {lhs_batch = [0, 1], rhs_batch = [0, 1], lhs = [3], rhs = [2], out = f32}
    return %5
  }, else_branch = graph @else(%q: f32[B, 8, S, 64], %k: f32[B, 8, S, 64], %v: f32[B, 8, S, 64]) prefix "e" {
    return %v
  }}
  return %y
}
