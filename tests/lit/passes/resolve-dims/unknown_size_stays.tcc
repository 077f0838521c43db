// A size that an input of the model holds is known at run time only; so is whether it fits.
// RUN: %tcc opt %s --passes=fold,resolve-dims | %FileCheck %s
// CHECK: %y = reshape %x {dims = [K]} : f32[K]
// CHECK-NEXT: check 4 == K "reshape of f32[4] to f32[K] changes the element count"
graph @f(%x: f32[4], %n: i64[1]) where K = elem(%n, 0) {
  %y = reshape %x {dims = [K]}
  return %y
}
