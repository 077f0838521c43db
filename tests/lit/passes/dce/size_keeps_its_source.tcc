// A node is needed when an output's extent is read from it.
// RUN: %tcc opt %s --passes=dce | %FileCheck %s
// CHECK: %n = add %k, %k
// CHECK: %y = broadcast %x {dims = [K]}
graph @f(%x: f32[1], %k: i64[1]) where K = elem(%n, 0) {
  %n = add %k, %k
  %y = broadcast %x {dims = [K]}
  return %y
}
