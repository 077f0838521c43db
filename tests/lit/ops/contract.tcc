// The result has the batch axes, then what is left of both operands.
// RUN: %tcc opt %s --until=imported | %FileCheck %s
// CHECK: contract {{.*}} : f32[B, 2, 5]
graph @f(%x: f32[B, 2, 3], %y: f32[B, 3, 5]) {
  %z = contract %x, %y {lhs_batch = [0], rhs_batch = [0], lhs = [2], rhs = [1], out = f32}
  return %z
}
