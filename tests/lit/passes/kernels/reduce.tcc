// A reduction is an accumulator over the reduced axis.
// RUN: %tcc opt %s --passes=kernels | %FileCheck %s
// CHECK: stage map([[M:i[0-9]]]) reduce([[R:i[0-9]]]) {
// CHECK-NEXT: acc0 = sum(f32, b0{{\[}}[[M]], [[R]]])
// CHECK-NEXT: b1{{\[}}[[M]]] = acc0
graph @f(%x: f32[3, 5]) {
  %y = reduce %x {kind = sum, axes = [1], keepdims = false}
  return %y
}
