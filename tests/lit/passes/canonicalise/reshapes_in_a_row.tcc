// Only the last of several reshapes matters.
// RUN: %tcc opt %s --passes=canonicalise,dce | %FileCheck %s
// CHECK: reshape %x {dims = [12]}
// CHECK-NOT: reshape
graph @f(%x: f32[4, 3]) {
  %a = reshape %x {dims = [2, 6]}
  %b = reshape %a {dims = [12]}
  %c = slice %b {starts = [0], steps = [1], sizes = [6]}
  return %c
}
