// A reshape that fits for some sizes only is checked when they are known.
// RUN: %tcc opt %s --until=imported | %FileCheck %s
// CHECK: reshape %x {dims = [6]} : f32[6]
// CHECK-NEXT: check
graph @f(%x: f32[N, 3]) {
  %z = reshape %x {dims = [6]}
  return %z
}
