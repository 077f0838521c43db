// A branch that is always taken is part of the graph around it.
// RUN: %tcc opt %s --passes=inline-if | %FileCheck %s
// CHECK-NOT: if
// CHECK: exp %x
// CHECK-NOT: tanh
// CHECK: return
graph @f(%x: f32[2]) {
  %c = constant {value = bool[] [true]}
  %y = if %c, %x {then_branch = graph @then(%t: f32[2]) prefix "t" {
    %a = exp %t
    return %a
  }, else_branch = graph @else(%e: f32[2]) prefix "e" {
    %b = tanh %e
    return %b
  }}
  return %y
}
