// A package never takes the place of its model.
// RUN: cp %s %t.tcc && %fails %tcc compile %t.tcc -o %t.tcc 2>&1 | %FileCheck %s
// RUN: cmp %s %t.tcc
// CHECK: error[TCC5002]: {{.*}}: the package would take the place of the model
// CHECK-NEXT: help: give it another name or folder with -o OUT.tcc
graph @f(%x: f32[2]) {
  %y = exp %x
  return %y
}
