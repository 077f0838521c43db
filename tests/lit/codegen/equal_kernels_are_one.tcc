// Products of the same shapes are compiled once, with what they call.
// RUN: %tcc compile %s --target x86-64-v3 --stats -o %t.tcc | %FileCheck %s
// CHECK: kernels compiled 1
graph @f(%x: f32[64, 64], %v: f32[64, 64], %w: f32[64, 64]) {
  %0 = contract %x, %v {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}
  %1 = contract %0, %w {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}
  return %1
}
