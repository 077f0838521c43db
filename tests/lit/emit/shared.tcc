// A library exports the model's function and needs no other.
// RUN: %tcc compile %s --emit shared --out-dir %t.d
// RUN: /usr/lib/llvm-22/bin/llvm-nm -D %t.d/shared.so | %FileCheck %s
// CHECK-NOT: U
// CHECK: T shared_run
// RUN: %fails %tcc compile %s --emit shared --target thumbv7em --out-dir %t.d 2>&1 | %FileCheck %s --check-prefix=BARE
// BARE: error[TCC4004]: thumbv7em has no shared libraries
graph @f(%x: f32[2]) {
  %y = exp %x
  return %y
}
