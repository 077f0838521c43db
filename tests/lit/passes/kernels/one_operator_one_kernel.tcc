// Each operator with a loop nest becomes a kernel of its own; grouping is the next pass.
// RUN: %tcc opt %s --passes=kernels | %FileCheck %s
// CHECK: kernel %x {kernel = kernel @exp {
// CHECK: b1[i0] = exp(b0[i0])
// CHECK: kernel @tanh
graph @f(%x: f32[2]) {
  %a = exp %x
  %b = tanh %a
  return %b
}
