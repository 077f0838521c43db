// Arithmetic on sizes gives sizes, although none of them is a constant.
// RUN: %tcc opt %s --passes=fold | %FileCheck %s
// CHECK: %y = sizes {dtype = i64, shape = [2], elems = [N + 1, 5]}
graph @f(%x: f32[N, 4]) {
  %n = sizes {dtype = i64, shape = [2], elems = [N, 4]}
  %one = constant {value = i64[1] [1]}
  %y = add %n, %one
  return %y
}
