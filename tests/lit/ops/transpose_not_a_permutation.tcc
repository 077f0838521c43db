// `perm` names each axis once.
// RUN: %fails %tcc opt %s 2>&1 | %FileCheck %s
// CHECK: error[TCC{{.*}}permutation
graph @f(%x: f32[2, 3]) {
  %z = transpose %x {perm = [0, 0]}
  return %z
}
