// Where there are no packages, the error says what there is instead.
// RUN: %fails %tcc compile %s -o %t.tcc --target wasm32 2>&1 | %FileCheck %s
// RUN: %fails %tcc compile %s -o %t.tcc --target thumbv7em 2>&1 | %FileCheck %s
// CHECK: error[TCC4001]: there are no packages for {{wasm32|thumbv7em}}: {{.*}} --emit=obj,header makes an object
// RUN: %tcc compile %s --target thumbv7em --emit obj,header --out-dir %t.d && test -s %t.d/no_packages.o
graph @f(%x: f32[2]) {
  %y = exp %x
  return %y
}
