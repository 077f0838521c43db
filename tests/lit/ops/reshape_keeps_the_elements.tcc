// A reshape that can't be right is refused.
// RUN: %fails %tcc opt %s 2>&1 | %FileCheck %s
// CHECK: error[TCC3002]: reshape: reshape of f32[2, 3] to f32[7] changes the element count
graph @f(%x: f32[2, 3]) {
  %z = reshape %x {dims = [7]}
  return %z
}
