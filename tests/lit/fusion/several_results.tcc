// What is computed of the same data in the same loops is one kernel of several results: statistics of rows, maps of one
// value.
// RUN: %tcc opt %s | %FileCheck %s
// RUN: %tcc opt %s --fusion=vertical | %FileCheck %s --check-prefix=APART
// CHECK: graph @statistics
// CHECK-COUNT-1: = kernel %x
// CHECK: acc0 = sum(f32, [[T:.*]])
// CHECK-NEXT: acc1 = max(f32, [[T]])
// CHECK-NOT: = kernel %
// APART-COUNT-2: = kernel %x
graph @statistics(%x: f32[1024, 512]) {
  %0 = reduce %x {kind = sum, axes = [1], keepdims = false}
  %1 = reduce %x {kind = max, axes = [1], keepdims = false}
  return %0, %1
}
