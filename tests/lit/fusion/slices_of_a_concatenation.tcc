// What is joined and cut again where it was joined isn't moved.
// RUN: %tcc opt %s --numerics=exact | %FileCheck %s
// CHECK: = kernel %x, %y
// CHECK: = b0[i0, i1] * b1[i0, i1]
// CHECK-NOT: = kernel %
graph @f(%x: f32[4, 8], %y: f32[4, 8]) {
  %0 = concat %x, %y {axis = 1}
  %1 = slice %0 {starts = [0, 0], sizes = [4, 8], steps = [1, 1]}
  %2 = slice %0 {starts = [0, 8], sizes = [4, 8], steps = [1, 1]}
  %3 = mul %1, %2
  return %3
}
