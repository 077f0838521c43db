// A matrix product goes tile by tile through shared memory, between barriers.
// RUN: %tcc compile %s --target ptx --emit=asm | %FileCheck %s
// REQUIRES: ptx
// CHECK-DAG: ld.shared
// CHECK-DAG: bar.sync
// CHECK-DAG: fma.rn.f32
// CHECK-NOT: .extern
graph @f(%x: f32[N, 64], %w: f32[64, 100]) {
  %0 = contract %x, %w {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}
  return %0
}
