// A slice that is one stretch of memory is a view: rows 1 to 3 begin at byte 262144 of what they are part of. Another
// one is an index expression of what reads it.
// RUN: %tcc opt %s | %FileCheck %s
// RUN: %tcc compile %s --emit=plan --out-dir %t.d
// RUN: %FileCheck %s --check-prefix=PLAN --input-file %t.d/slice_is_a_view.plan.txt
// CHECK-COUNT-2: = kernel %
// CHECK-NOT: = kernel %
// PLAN: v[[E:[0-9]+]] tensor f32[4, 65536] arena
// PLAN: f32[3, 65536] view of v[[E]] at 262144
graph @f(%x: f32[4, 65536]) {
  %0 = exp %x
  %1 = slice %0 {starts = [1, 0], sizes = [3, 65536], steps = [1, 1]}
  %2 = slice %0 {starts = [0, 1], sizes = [4, 65535], steps = [1, 1]}
  %3 = tanh %2
  return %1, %3
}
