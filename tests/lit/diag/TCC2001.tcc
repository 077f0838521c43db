// An index out of range is found when the value is there.
// RUN: %fails %tcc run %s --fill zeros --reference 2>&1 | %FileCheck %s
// CHECK: error[TCC2001]
graph @f(%x: f32[2]) {
  %i = constant {value = i64[1] [5]}
  %y = gather %x, %i {axis = 0}
  return %y
}
