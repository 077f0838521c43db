// A transpose between maps moves nothing: it is another index expression.
// RUN: %tcc opt %s | %FileCheck %s
// CHECK: axis i0: 3
// CHECK-NEXT: axis i1: 2
// CHECK: = tanh(exp(b0[i1, i0]))
// CHECK-NOT: = kernel
graph @f(%x: f32[2, 3]) {
  %0 = exp %x
  %1 = transpose %0 {perm = [1, 0]}
  %2 = tanh %1
  return %2
}
