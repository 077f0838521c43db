// An MLP is one task graph: its kernels run as one parallel region. Below that level each has a region of its own, as
// have kernels whose sizes only the run decides.
// RUN: %tcc compile %s --emit=plan | %FileCheck %s
// RUN: %tcc compile %s --emit=plan --fusion=horizontal | %FileCheck %s --check-prefix=STEPS
// RUN: %tcc compile %s -o %t.pkg --stats | %FileCheck %s --check-prefix=STATS
// CHECK: block 0:
// CHECK-NEXT: task graph of 2 steps:
// CHECK-NEXT: = k0_contract
// CHECK-NEXT: = k1_contract
// STEPS-NOT: task graph
// STATS: task graphs 1
// STATS-NEXT: parallel regions 1
graph @mlp(%x: f32[N, 64], %a: f32[64, 512], %b: f32[512, 256]) {
  %0 = contract %x, %a {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}
  %1 = tanh %0
  %2 = contract %1, %b {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}
  %3 = tanh %2
  return %3
}
