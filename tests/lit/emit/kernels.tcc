// The kernels alone, in their text form, below the nodes that they compute; those of regions too.
// RUN: %tcc compile %s --emit kernels | %FileCheck %s
// CHECK: kernel @exp
// CHECK: axis i0: 2
// CHECK: kernel @neg
graph @f(%x: f32[2], %c: bool) {
  %y = if %c, %x {then_branch = graph @then(%x: f32[2]) prefix "t" {
    %a = exp %x
    return %a
  }, else_branch = graph @else(%x: f32[2]) prefix "e" {
    %b = neg %x
    return %b
  }}
  return %y
}
