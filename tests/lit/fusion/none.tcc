// With --fusion=none each operator is a kernel.
// RUN: %tcc opt %s --fusion=none | %FileCheck %s
// RUN: code=0; %tcc opt %s --fusion=nope 2>%t.err || code=$?; test $code -eq 2
// RUN: %FileCheck %s --check-prefix=NOPE <%t.err
// CHECK-COUNT-2: = kernel %
// NOPE: none, vertical
graph @f(%x: f32[4]) {
  %0 = exp %x
  %1 = tanh %0
  return %1
}
