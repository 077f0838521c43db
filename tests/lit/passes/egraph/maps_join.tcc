// Two maps are one kernel, and what is between them stays in a register.
// RUN: %tcc opt %s --passes=egraph,kernels | %FileCheck %s
// CHECK-COUNT-1: = kernel
// CHECK: b1[i0] = tanh(exp(b0[i0]))
// CHECK-NOT: = kernel
graph @f(%x: f32[2]) {
  %a = exp %x
  %b = tanh %a
  return %b
}
