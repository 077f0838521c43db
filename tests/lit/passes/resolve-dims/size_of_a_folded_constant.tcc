// A size that is read from a value which fold made a constant is that number, and its run-time check goes.
// RUN: %tcc opt %s --passes=fold,resolve-dims | %FileCheck %s
// CHECK: graph @f(%x: f32[4]) -> (f32[4]) {
// CHECK: %y = reshape %x {dims = [4]} : f32[4]
// CHECK-NOT: check
graph @f(%x: f32[4]) where K = elem(%n, 0) {
  %a = constant {value = i64[1] [3]}
  %b = constant {value = i64[1] [1]}
  %n = add %a, %b
  %y = reshape %x {dims = [K]}
  return %y
}
