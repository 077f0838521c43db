// Extents that may differ are an error of run time, which the node checks; broadcasting of a known 1 needs no check.
// RUN: %tcc opt %s --until=imported | %FileCheck %s
// CHECK: add %x, %x1 : f32[N, 4]
// CHECK-NEXT: mul
graph @f(%x: f32[N, 4], %x1: f32[N, 1]) {
  %0 = add %x, %x1
  %1 = mul %0, %x
  return %1
}
