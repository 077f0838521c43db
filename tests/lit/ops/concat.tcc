// Extents add up along the axis, symbolic or not.
// RUN: %tcc opt %s --until=imported | %FileCheck %s
// CHECK: concat %x, %y {axis = 0} : f32[N + 2, 3]
graph @f(%x: f32[N, 3], %y: f32[2, 3]) {
  %z = concat %x, %y {axis = 0}
  return %z
}
