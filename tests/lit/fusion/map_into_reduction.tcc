// What a reduction reads is computed where it is read: the squares are never in memory.
// RUN: %tcc opt %s | %FileCheck %s
// CHECK: let t0 = b0[i0, i1]
// CHECK-NEXT: acc0 = sum(f32, t0 * t0)
// CHECK-NOT: = kernel %
graph @f(%x: f32[4, 8]) {
  %0 = mul %x, %x
  %1 = reduce %0 {kind = sum, axes = [1], keepdims = false}
  return %1
}
