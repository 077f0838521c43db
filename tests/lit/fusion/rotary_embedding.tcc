// Rotary embedding: halves that are swapped, negated and joined are index expressions of one kernel; the tensor is
// never copied.
// RUN: %tcc opt %s | %FileCheck %s
// CHECK-COUNT-1: = kernel %
// CHECK-NOT: = kernel %
graph @f(%x: f32[2, 8, 16, 64], %cos: f32[16, 64], %sin: f32[16, 64]) {
  %0 = slice %x {starts = [0, 0, 0, 0], sizes = [2, 8, 16, 32], steps = [1, 1, 1, 1]}
  %1 = slice %x {starts = [0, 0, 0, 32], sizes = [2, 8, 16, 32], steps = [1, 1, 1, 1]}
  %2 = neg %1
  %3 = concat %2, %0 {axis = 3}
  %4 = mul %x, %cos
  %5 = mul %3, %sin
  %6 = add %4, %5
  return %6
}
