// What keeps a model from being an object of its own is listed at once.
// RUN: %fails %tcc compile %s --emit obj --out-dir %t.d 2>&1 | %FileCheck %s
// CHECK: error[TCC4001]: the model needs tcc's runtime, which an object of its own doesn't have
// CHECK: = size `N` (input `x`, axis 0) has no upper bound
// CHECK: routine `nonzero` of the runtime
// CHECK: its size {{.*}} is only known during a run
// CHECK: help: give each size a value or bounds, as --dim N=4 or --dim N=1..8; or a package
graph @f(%x: f32[N]) {
  %y = non_zero %x
  return %y
}
