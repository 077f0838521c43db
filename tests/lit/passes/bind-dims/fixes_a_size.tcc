// A size that the user fixes is a constant from the first pass on.
// RUN: %tcc compile %s --dim N=3 --emit=fused | %FileCheck %s
// CHECK: graph @f(%x: f32[3, 4]) -> (f32[3, 4])
// CHECK: axis i0: 3
graph @f(%x: f32[N, 4]) {
  %y = exp %x
  return %y
}
