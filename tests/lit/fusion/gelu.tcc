// Gelu by the error function, and by the hyperbolic tangent, are one map each.
// RUN: %tcc opt %s | %FileCheck %s
// CHECK: = kernel %x
// CHECK: erf(
// CHECK: = kernel %y
// CHECK: tanh(
// CHECK-NOT: = kernel %
graph @f(%x: f32[N, 64], %y: f32[N, 64]) {
  %root = constant {value = f32[] [1.4142135]}
  %one = constant {value = f32[] [1.0]}
  %half = constant {value = f32[] [0.5]}
  %0 = div %x, %root
  %1 = erf %0
  %2 = add %1, %one
  %3 = mul %x, %2
  %4 = mul %3, %half
  %three = constant {value = f32[] [3.0]}
  %a = constant {value = f32[] [0.044715]}
  %b = constant {value = f32[] [0.7978846]}
  %5 = pow %y, %three
  %6 = mul %5, %a
  %7 = add %y, %6
  %8 = mul %7, %b
  %9 = tanh %8
  %10 = add %9, %one
  %11 = mul %y, %10
  %12 = mul %11, %half
  return %4, %12
}
