// No conversion is implied.
// RUN: %fails %tcc opt %s 2>&1 | %FileCheck %s
// CHECK: error[TCC3002]: binary: operands have element types f32 and f16
graph @f(%x: f32[2], %y: f16[2]) {
  %z = add %x, %y
  return %z
}
