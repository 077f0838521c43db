// Heads of 20 columns cut the panels of a product: where an element goes would be computed for each of them.
// RUN: %tcc opt %s --fusion=vertical | %FileCheck %s
// CHECK-NOT: mod(
// CHECK: return
graph @f(%x: f32[2048, 96], %w: f32[96, 60]) {
  %0 = contract %x, %w {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}
  %1 = reshape %0 {dims = [2048, 3, 20]}
  %2 = transpose %1 {perm = [1, 0, 2]}
  return %2
}
