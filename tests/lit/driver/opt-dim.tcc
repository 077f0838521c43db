// Sizes can be fixed or bounded for `tcc opt`, as for a compilation.
// RUN: %tcc opt %s --until=canonical --dim N=4 | %FileCheck %s --check-prefix=FIXED
// FIXED: %x: f32[4]
// RUN: %tcc opt %s --until=canonical --dim N=1..8 | %FileCheck %s --check-prefix=BOUNDED
// BOUNDED: N in 1..=8
graph @f(%x: f32[N]) {
  %y = exp %x
  return %y
}
