// One run shows every error of a text, each with line and column, and none that only follows from another.
// RUN: %fails %tcc opt %s 2>&1 | %FileCheck %s
// CHECK: error[TCC3001]: unknown operator `nope`
// CHECK-NEXT: TCC3001.tcc: [[@LINE+6]]:8
// CHECK-NEXT: error[TCC3002]: %undefined isn't defined before its use
// CHECK-NEXT: TCC3001.tcc: [[@LINE+6]]:12
// CHECK-NOT: error[
graph @f(%x: f32[2]) {
  // %b isn't reported: what is wrong is %a.
  %a = nope %x
  %b = exp %a
  %c = exp %undefined
  return %b, %c
}
