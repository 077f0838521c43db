// Layer normalisation is one kernel with one read and one write of the tensor.
// RUN: %tcc opt %s | %FileCheck %s
// RUN: %tcc compile %s --stats -o %t.pkg | %FileCheck %s --check-prefix=STATS
// CHECK-COUNT-1: = kernel %
// CHECK: outer(i0)
// CHECK-NOT: = kernel %
// STATS: kernels 11 1
graph @f(%x: f32[64, 256], %g: f32[256], %b: f32[256]) {
  %n = constant {value = f32[] [0.00390625]}
  %eps = constant {value = f32[] [0.00001]}
  %0 = reduce %x {kind = sum, axes = [1], keepdims = true}
  %1 = mul %0, %n
  %2 = sub %x, %1
  %3 = mul %2, %2
  %4 = reduce %3 {kind = sum, axes = [1], keepdims = true}
  %5 = mul %4, %n
  %6 = add %5, %eps
  %7 = sqrt %6
  %8 = div %2, %7
  %9 = mul %8, %g
  %10 = add %9, %b
  return %10
}
