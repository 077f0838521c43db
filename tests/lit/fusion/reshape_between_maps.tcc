// A view between two maps doesn't keep them apart.
// RUN: %tcc opt %s | %FileCheck %s
// CHECK: = tanh(exp(b0[{{.*}}]) + b
// CHECK-NOT: = kernel %
graph @f(%x: f32[12, 8], %y: f32[8]) {
  %0 = exp %x
  %1 = reshape %0 {dims = [3, 4, 8]}
  %2 = add %1, %y
  %3 = tanh %2
  return %3
}
