// A node that no output needs goes, and with it what only it needed.
// RUN: %tcc opt %s --passes=dce | %FileCheck %s
// CHECK: %a = exp %x
// CHECK-NEXT: return %a
graph @f(%x: f32[2]) {
  %a = exp %x
  %b = tanh %a
  %c = sin %b
  return %a
}
