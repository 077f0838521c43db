// What the evaluator refuses is left for run time, where it may never be reached.
// RUN: %tcc opt %s --passes=fold | %FileCheck %s
// CHECK: %y = gather %a, %i
graph @f() {
  %a = constant {value = f32[2] [1.0, 2.0]}
  %i = constant {value = i64[1] [7]}
  %y = gather %a, %i {axis = 0}
  return %y
}
