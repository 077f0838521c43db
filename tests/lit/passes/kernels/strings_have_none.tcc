// Operators on strings are code of the runtime, not loops.
// RUN: %tcc opt %s --passes=kernels | %FileCheck %s
// CHECK: %y = string_concat %a, %b
graph @f(%a: string[2], %b: string[2]) {
  %y = string_concat %a, %b
  return %y
}
