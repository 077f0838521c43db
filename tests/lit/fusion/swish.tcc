// Swish with a logistic function that is spelled out: the function is found, and all is one map.
// RUN: %tcc opt %s | %FileCheck %s
// CHECK-COUNT-1: = kernel %
// CHECK: sigmoid(
// CHECK-NOT: exp(
// CHECK-NOT: = kernel %
graph @f(%x: f32[N, 64]) {
  %one = constant {value = f32[] [1.0]}
  %0 = neg %x
  %1 = exp %0
  %2 = add %1, %one
  %3 = div %one, %2
  %4 = mul %x, %3
  return %4
}
