// Softmax is one kernel: the row's largest value, its exponentials and their sum never leave the cache.
// RUN: %tcc opt %s | %FileCheck %s
// CHECK: kernel @max_sub_exp_sum_div
// CHECK: outer(i0)
// CHECK: stage reduce(i1)
// CHECK: max(f32,
// CHECK: stage reduce(i1)
// CHECK: sum(f32,
// CHECK: stage map(i1)
// CHECK-NOT: = kernel %
graph @f(%x: f32[N, 256]) {
  %0 = reduce %x {kind = max, axes = [1], keepdims = true}
  %1 = sub %x, %0
  %2 = exp %1
  %3 = reduce %2 {kind = sum, axes = [1], keepdims = true}
  %4 = div %2, %3
  return %4
}
