// Equal operators on equal operands are computed once.
// RUN: %tcc opt %s --passes=cse | %FileCheck %s
// CHECK: %a = exp %x
// CHECK-NEXT: %y = add %a, %a
graph @f(%x: f32[2]) {
  %a = exp %x
  %b = exp %x
  %y = add %a, %b
  return %y
}
