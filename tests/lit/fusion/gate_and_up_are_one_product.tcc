// The gate of a gated MLP and what it gates come out of one matrix product: the hidden layer is read once.
// RUN: %tcc opt %s --fusion=horizontal | %FileCheck %s
// CHECK: input {{.*}}: f32[1024, 8]
// CHECK: [[ROW:b[0-9]+]][i1] = acc0
// CHECK: let t0 = [[ROW]][i3]
// CHECK: t0 * sigmoid(t0) * [[ROW]][i3 + 4]
// CHECK-NOT: = kernel %
graph @f(%x: f32[512, 1024]) {
  %wg = constant {value = f32[1024, 4] splat 0.5}
  %wu = constant {value = f32[1024, 4] splat 0.25}
  %0 = contract %x, %wg {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}
  %1 = contract %x, %wu {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}
  %2 = sigmoid %0
  %3 = mul %0, %2
  %4 = mul %3, %1
  return %4
}
