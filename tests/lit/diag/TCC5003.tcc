// An input that isn't given, with its type and the ways to give it.
// RUN: %fails %tcc run %s --reference 2>&1 | %FileCheck %s
// CHECK: error[TCC5003]: input `x` (f32[N]) isn't given
// CHECK: help: add --input
graph @f(%x: f32[N]) {
  %y = exp %x
  return %y
}
