// One error lists every kernel that the target can't do, with its reason.
// RUN: %fails %tcc compile %s --target spirv -o %t 2>&1 | %FileCheck %s
// RUN: %tcc compile %s --target ptx -o %t
// REQUIRES: ptx, spirv
// CHECK: error[TCC{{[0-9]+}}]: target spirv can't do 2 kernels of this model yet
// CHECK-NEXT: kernel sin of node {{.*}}: sine, cosine and tangent of f64
// CHECK-NEXT: kernel cos of node {{.*}}: sine, cosine and tangent of f64
// CHECK-NEXT: help: compile for a CPU
// CHECK-NOT: error
graph @f(%x: f64[N], %y: f64[M]) {
  %0 = sin %x
  %1 = cos %y
  return %0, %1
}
