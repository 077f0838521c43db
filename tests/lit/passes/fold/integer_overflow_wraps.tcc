// Folded integers wrap as compiled ones do.
// RUN: %tcc opt %s --passes=fold | %FileCheck %s
// CHECK: %y = constant {value = i8[1] [-128]}
graph @f() {
  %a = constant {value = i8[1] [127]}
  %b = constant {value = i8[1] [1]}
  %y = add %a, %b
  return %y
}
