// A value that the model gives out is written, whoever else reads it.
// RUN: %tcc opt %s | %FileCheck %s
// CHECK: %a{{.*}} = kernel %x
// CHECK: return %a, %b
graph @f(%x: f32[4]) {
  %a = exp %x
  %b = tanh %a
  return %a, %b
}
