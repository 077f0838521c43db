// Bias, relu and scale are one map: one load of each element, one store.
// RUN: %tcc opt %s --numerics=exact | %FileCheck %s
// CHECK-COUNT-1: = kernel %
// CHECK: = max(b0[i0, i1] + b1[i1], b2[]) * b3[i1]
// CHECK-NOT: = kernel %
graph @f(%x: f32[N, 64], %b: f32[64], %s: f32[64]) {
  %0 = add %x, %b
  %zero = constant {value = f32[] [0.0]}
  %1 = max %0, %zero
  %2 = mul %1, %s
  return %2
}
