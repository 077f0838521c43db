// A product, its bias and residual, and the normalisation of its rows are one kernel.
// RUN: %tcc opt %s --fusion=horizontal | %FileCheck %s
// CHECK: = kernel %x
// CHECK: outer(i0)
// CHECK: stage map(i1) reduce(i2)
// CHECK: sqrt(
// CHECK-NOT: = kernel %
graph @f(%x: f32[512, 384], %w: f32[384, 256], %bias: f32[256], %r: f32[512, 256]) {
  %n = constant {value = f32[] [0.00390625]}
  %p = contract %x, %w {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}
  %p1 = add %p, %bias
  %y = add %p1, %r
  %0 = reduce %y {kind = sum, axes = [1], keepdims = true}
  %1 = mul %0, %n
  %2 = sub %y, %1
  %3 = mul %2, %2
  %4 = reduce %3 {kind = sum, axes = [1], keepdims = true}
  %5 = mul %4, %n
  %6 = sqrt %5
  %7 = div %2, %6
  return %7
}
