// Shapes that don't broadcast in a graph written as text, with the place in the text.
// RUN: %fails %tcc opt %s 2>&1 | %FileCheck %s
// CHECK: error[TCC3002]: binary: operands don't broadcast: 2 and 3
// CHECK-NEXT: TCC3002.tcc: [[@LINE+2]]:8
graph @f(%x: f32[2], %y: f32[3]) {
  %z = add %x, %y
  return %z
}
