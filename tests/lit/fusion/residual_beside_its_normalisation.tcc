// A residual that is needed later is written by the kernel that normalises it.
// RUN: %tcc opt %s | %FileCheck %s
// CHECK: %y, %1 = kernel %x
// CHECK: stage map(i1) {
// CHECK: sqrt(
// CHECK-NOT: = kernel %
graph @residual(%x: f32[1024, 512], %r: f32[1024, 512], %g: f32[512]) {
  %n = constant {value = f32[] [512.0]}
  %y = add %x, %r
  %0 = reduce %y {kind = sum, axes = [1], keepdims = true}
  %1 = div %0, %n
  %2 = sub %y, %1
  %3 = mul %2, %2
  %4 = reduce %3 {kind = sum, axes = [1], keepdims = true}
  %5 = div %4, %n
  %7 = sqrt %5
  %8 = div %2, %7
  %9 = mul %8, %g
  return %y, %9
}
