// Two transposes in a row are one; where they undo each other they are none.
// RUN: %tcc opt %s --passes=canonicalise,dce | %FileCheck %s
// CHECK: graph @f
// CHECK-NEXT: return %x
graph @f(%x: f32[2, 3]) {
  %a = transpose %x {perm = [1, 0]}
  %b = transpose %a {perm = [1, 0]}
  return %b
}
