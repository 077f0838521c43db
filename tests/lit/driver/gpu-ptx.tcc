// A package for CUDA can be inspected; running it is one error that says what can be done.
// RUN: %tcc compile %s --target ptx-sm90 -o %t && %tcc inspect %t | %FileCheck %s
// RUN: %fails %tcc run %t --fill ones 2>&1 | %FileCheck %s --check-prefix=REFUSED
// REQUIRES: ptx-sm90
// CHECK: code{{ +}}ptx-sm90
// CHECK: launches:
// CHECK-NEXT: {{[a-z0-9_]+}}: {{[0-9]+}} threads a group, entry {{[a-z0-9_]+}},
// REFUSED: error[TCC5004]: {{.*}} no executor for CUDA; compile with --target spirv
// REFUSED-NOT: error
graph @f(%x: f32[8]) {
  %0 = add %x, %x
  return %0
}
