// With --fusion=none each operator is a kernel.
// RUN: %tcc opt %s --fusion=none | %FileCheck %s
// RUN: %fails %tcc opt %s --fusion=nope 2>&1 | %FileCheck %s --check-prefix=NOPE
// CHECK-COUNT-2: = kernel %
// NOPE: none, vertical
graph @f(%x: f32[4]) {
  %0 = exp %x
  %1 = tanh %0
  return %1
}
