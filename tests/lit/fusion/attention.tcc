// Attention is one kernel over blocks of queries: scores are as long as a row, and are never written.
// RUN: %tcc opt %s --fusion=horizontal | %FileCheck %s
// CHECK: = kernel %q, %k
// CHECK: input {{.*}}: f32[2, 8, 256, 64]
// CHECK-NOT: f32[2, 8, 256, 256]
// CHECK: outer(i0, i1, i2)
// CHECK: stage map(i3) reduce(i4)
// CHECK: max(f32,
// CHECK: exp(
// CHECK: sum(f32,
// CHECK: stage map(i4) reduce(i3)
// CHECK-NOT: = kernel %
// Nothing is kept between kernels; keys and values wait nowhere.
// RUN: %tcc compile %s --fusion=horizontal --target x86-64-v3 --stats -o %t.tcc | %FileCheck %s --check-prefix=ARENA
// ARENA: kernels compiled 1
// ARENA: planned arena bytes 0
// Without blocks of rows, as on a GPU, the products stay apart.
// RUN: %tcc compile %s --fusion=horizontal --target ptx --stats -o %t.tcc | %FileCheck %s --check-prefix=GPU
// REQUIRES: ptx
// GPU: kernels compiled 3
graph @f(%q: f32[2, 8, 256, 64], %k: f32[2, 8, 256, 64], %v: f32[2, 8, 256, 64], %m: f32[2, 1, 1, 256]) {
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
