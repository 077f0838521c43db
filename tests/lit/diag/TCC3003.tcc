// A pass that isn't there, and the ones that are.
// RUN: %fails %tcc opt %s --passes=nope 2>&1 | %FileCheck %s
// CHECK: error[TCC3003]: there is no pass `nope`
// CHECK: help: the passes are {{.*}}fold{{.*}}egraph
graph @f(%x: f32[2]) {
  return %x
}
