// A microcontroller without 64-bit floats: what it lacks is named.
// RUN: %fails %tcc compile %s --emit obj --target thumbv7em --out-dir %t.d 2>&1 | %FileCheck %s
// CHECK: error[TCC4001]: code for thumbv7em needs routines outside of it: {{.*}}__adddf3
// CHECK: help: the target has no instructions for them
graph @f(%x: f64[2]) {
  %y = add %x, %x
  return %y
}
