// An activation between a transpose and its inverse: nothing is moved.
// RUN: %tcc opt %s | %FileCheck %s
// CHECK: b0[i0, i1, i2]
// CHECK-NOT: = kernel %
graph @f(%x: f32[4, 5, 6], %c: f32[4, 5, 6]) {
  %0 = transpose %x {perm = [0, 2, 1]}
  %1 = exp %0
  %2 = transpose %1 {perm = [0, 2, 1]}
  %3 = add %2, %c
  return %3
}
