// A node with constant operands becomes a constant; one with an input among its operands stays.
// RUN: %tcc opt %s --passes=fold | %FileCheck %s
// CHECK: %c = constant {value = f32[2] [11.0, 22.0]}
// CHECK: %y = mul %x, %c
graph @f(%x: f32[2]) {
  %a = constant {value = f32[2] [1.0, 2.0]}
  %b = constant {value = f32[2] [10.0, 20.0]}
  %c = add %a, %b
  %y = mul %x, %c
  return %y
}
