// Attention over any number of queries and keys is one kernel too.
// RUN: %tcc opt %s --fusion=horizontal | %FileCheck %s
// CHECK: = kernel %q, %k
// CHECK: input {{.*}}: f32[B, 8, S, 64]
// CHECK-NOT: f32[B, 8, S, T]
// CHECK: outer(i0, i1, i2)
// CHECK: stage map(i4) reduce(i3)
// CHECK-NOT: = kernel %
graph @f(%q: f32[B, 8, S, 64], %k: f32[B, 8, T, 64], %v: f32[B, 8, T, 64], %m: f32[B, 1, 1, T]) {
  %c = constant {value = f32[] [0.125]}
  %s = contract %q, %k {lhs_batch = [0, 1], rhs_batch = [0, 1], lhs = [3], rhs = [3], out = f32}
  %s1 = mul %s, %c
  %s2 = add %s1, %m
  %0 = reduce %s2 {kind = max, axes = [3], keepdims = true}
  %1 = sub %s2, %0
  %2 = exp %1
  %3 = reduce %2 {kind = sum, axes = [3], keepdims = true}
  %4 = div %2, %3
  %5 = contract %4, %v {lhs_batch = [0, 1], rhs_batch = [0, 1], lhs = [3], rhs = [2], out = f32}
  return %5
}
