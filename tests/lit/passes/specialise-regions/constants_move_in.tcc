// A branch has its own copy of a constant that it uses, so that passes inside see its value; the operand goes.
// RUN: %tcc opt %s --passes=specialise-regions | %FileCheck %s
// CHECK: if %c, %x {then_branch
// CHECK: constant {value = f32[] [2.0]}
// CHECK: else_branch
graph @f(%x: f32[2], %c: bool) {
  %two = constant {value = f32[] [2.0]}
  %y = if %c, %x, %two {then_branch = graph @then(%t: f32[2], %k: f32) prefix "t" {
    %a = mul %t, %k
    return %a
  }, else_branch = graph @else(%e: f32[2], %l: f32) prefix "e" {
    %b = exp %e
    return %b
  }}
  return %y
}
