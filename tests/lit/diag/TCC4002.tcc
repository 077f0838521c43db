// A target that isn't there, and the ones that are.
// RUN: %fails %tcc compile %s --target nope 2>&1 | %FileCheck %s
// CHECK: error[TCC4002]: unknown target `nope`; known: host, {{.*}}aarch64
graph @f(%x: f32[2]) {
  return %x
}
