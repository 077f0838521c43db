// Two products with one matrix are one of the sum. Two products with constants are one with their product, but for
// infinities: that is only done when asked for.
// RUN: %tcc opt %s | %FileCheck %s --check-prefix=SUM
// RUN: %tcc opt %s --numerics=approximate | %FileCheck %s
// RUN: %tcc opt %s --numerics=exact | %FileCheck %s --check-prefix=EXACT
// CHECK-COUNT-2: acc0 = sum(f32,
// CHECK-NOT: acc0 = sum(f32,
// SUM-COUNT-3: acc0 = sum(f32,
// SUM-NOT: acc0 = sum(f32,
// EXACT-COUNT-4: acc0 = sum(f32,
graph @f(%x: f32[64, 32], %y: f32[64, 32], %z: f32[64, 32], %w: f32[32, 64]) {
  %v = constant {value = f32[32, 16] splat 0.5}
  %u = constant {value = f32[16, 32] splat 0.25}
  %0 = contract %x, %v {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}
  %1 = contract %0, %u {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}
  %2 = contract %y, %w {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}
  %3 = contract %z, %w {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}
  %4 = add %2, %3
  return %1, %4
}
