// What a branch computes is fused as everything else is, though its sizes are named by the graph around it.
// RUN: %tcc opt %s | %FileCheck %s
// CHECK: graph @then
// CHECK: = tanh(exp(b0[{{.*}}]))
// CHECK: graph @else
graph @f(%x: f32[N, 4], %c: bool) {
  %y = if %c, %x {then_branch = graph @then(%t: f32[N, 4]) prefix "t" {
    %a = exp %t
    %b = tanh %a
    return %b
  }, else_branch = graph @else(%e: f32[N, 4]) prefix "e" {
    %d = neg %e
    return %d
  }}
  return %y
}
