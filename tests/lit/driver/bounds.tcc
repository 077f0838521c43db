// Bounds of a size hold for the package, too: memory was planned for no others.
// RUN: %tcc compile %s -o %t.pkg --dim N=2..4
// RUN: %tcc run %t.pkg --fill ones --dim N=4 | %FileCheck %s
// CHECK: y: f32[4]
// RUN: %fails %tcc run %t.pkg --fill ones --dim N=5 2>&1 | %FileCheck %s --check-prefix=MOST
// MOST: input "x": the size N must be at most 4 (5 and 4)
// RUN: %fails %tcc run %t.pkg --fill ones --dim N=1 2>&1 | %FileCheck %s --check-prefix=LEAST
// LEAST: input "x": the size N must be at least 2 (2 and 1)
graph @f(%x: f32[N]) {
  %y = exp %x
  return %y
}
