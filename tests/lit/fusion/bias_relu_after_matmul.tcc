// Bias and relu go into the store of the matrix product: the product itself is never in memory.
// RUN: %tcc opt %s | %FileCheck %s
// CHECK: stage map({{.*}}) reduce({{.*}}) {
// CHECK-NEXT: acc0 = sum(f32, {{.*}} * {{.*}})
// CHECK-NEXT: = max(acc0 + {{.*}})
// CHECK-NOT: = kernel
graph @f(%x: f32[4, 64], %w: f32[64, 10], %b: f32[10]) {
  %0 = contract %x, %w {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}
  %1 = add %0, %b
  %zero = constant {value = f32[] [0.0]}
  %2 = max %1, %zero
  return %2
}
