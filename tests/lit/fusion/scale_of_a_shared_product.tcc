// A product that something else reads too isn't scaled through its weights: it would be computed twice.
// RUN: %tcc opt %s | %FileCheck %s
// CHECK-COUNT-1: acc0 = sum(f32,
// CHECK-NOT: acc0 = sum(f32,
graph @f(%x: f32[64, 32]) {
  %one = constant {value = f32[] [1.5]}
  %w = broadcast %one {dims = [32, 64]}
  %w2 = exp %w
  %two = constant {value = f32[] [2.0]}
  %0 = contract %x, %w2 {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}
  %1 = mul %0, %two
  %2 = tanh %0
  return %1, %2
}
