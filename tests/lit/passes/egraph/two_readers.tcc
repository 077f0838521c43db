// A value that the model gives out is still written by the kernel that makes it.
// RUN: %tcc opt %s --passes=egraph,kernels | %FileCheck %s
// CHECK: return %a, %b
graph @f(%x: f32[2]) {
  %a = exp %x
  %b = tanh %a
  return %a, %b
}
