// A condition that comes in with the inputs leaves the choice to run time.
// RUN: %tcc opt %s --passes=inline-if | %FileCheck %s
// CHECK: if %c, %x
graph @f(%x: f32[2], %c: bool) {
  %y = if %c, %x {then_branch = graph @then(%t: f32[2]) prefix "t" {
    %a = exp %t
    return %a
  }, else_branch = graph @else(%e: f32[2]) prefix "e" {
    %b = tanh %e
    return %b
  }}
  return %y
}
