// The axes that are summed over must have one extent.
// RUN: %fails %tcc opt %s 2>&1 | %FileCheck %s
// CHECK: error[TCC3002]: contract: contracted axes differ: 3 = 4
graph @f(%x: f32[2, 3], %y: f32[4, 5]) {
  %z = contract %x, %y {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}
  return %z
}
