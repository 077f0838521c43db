// Padding adds nothing to a sum, also where the type has no zero: code 0 of f8e8m0 is 2^-127.
// RUN: %tcc run %s --fill ones >%t.compiled
// RUN: %tcc run %s --fill ones --reference | diff - %t.compiled
// RUN: %FileCheck %s <%t.compiled
// CHECK: : f32[1, 3] 0.000000 1.000000 1.000000
graph @f(%x: f8e8m0[1, 2]) {
  %0 = cast %x {to = f32, saturate = true}
  %1 = window %0 {kind = sum, window = [3], strides = [1], dilations = [1], pads_before = [3], pads_after = [0]}
  // Of a sum of tiny numbers as well.
  %2 = sign %1
  return %2
}
