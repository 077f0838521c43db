// A chain of elementwise operators with a broadcast is one kernel; each operand is read once.
// RUN: %tcc opt %s | %FileCheck %s
// CHECK: kernel %x, %y {kernel = kernel @add_tanh_mul {
// CHECK: let t0 = b0[i0, i1]
// CHECK-NEXT: b2[i0, i1] = tanh(t0 + b1[i1]) * t0
// CHECK-NOT: = kernel
graph @f(%x: f32[N, 64], %y: f32[64]) {
  %0 = add %x, %y
  %1 = tanh %0
  %2 = mul %1, %x
  return %2
}
