// What two others read is computed twice where that is cheap, and once where it isn't.
// RUN: %tcc opt %s | %FileCheck %s
// CHECK-NOT: exp(b0[{{.*}}]) * {{.*}}exp
// CHECK-COUNT-3: = kernel %
graph @f(%x: f32[64, 1024, 64]) {
  %0 = pow %x, %x
  %1 = reduce %0 {kind = sum, axes = [0], keepdims = false}
  %2 = reduce %0 {kind = max, axes = [1], keepdims = false}
  return %1, %2
}
