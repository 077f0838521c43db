// Bounds of a size are facts about its symbol, which stays.
// RUN: %tcc compile %s --dim N=1..8 --emit=fused | %FileCheck %s
// CHECK: graph @f(%x: f32[N, 4]) -> (f32[N, 4]) where N in 1..=8
graph @f(%x: f32[N, 4]) {
  %y = exp %x
  return %y
}
