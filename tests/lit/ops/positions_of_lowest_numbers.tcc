// Padding counts as the lowest number: where the elements are as low, the first of them is the position, not the padding.
// Without elements it is 0.
// RUN: %tcc run %s --fill zeros >%t.compiled
// RUN: %tcc run %s --fill zeros --reference | diff - %t.compiled
// RUN: %FileCheck %s <%t.compiled
// CHECK: y: i64[1, 6] 0 0 1 2 3 4
// CHECK: z: i64[1, 6] 1 0 1 0 1 2
// CHECK: past: i64[1, 4] 0 1 0 0
// CHECK: above: i64[1, 1, 3, 2] 0 0 0 1 2 3
graph @f(%x: f32[1, 6], %two: f32[1, 2], %square: f32[1, 1, 2, 2]) {
  %low = constant {value = f32[] [-inf]}
  %0 = add %x, %low
  %y = window %0 {kind = arg_max, window = [3], strides = [1], dilations = [1], pads_before = [1], pads_after = [1]}
  %z = window %0 {kind = arg_max, window = [3], strides = [1], dilations = [2], pads_before = [3], pads_after = [1]}
  %past = window %two {kind = arg_max, window = [1], strides = [1], dilations = [1], pads_before = [0], pads_after = [2]}
  %above = window %square {kind = arg_max, window = [1, 1], strides = [1, 1], dilations = [1, 1], pads_before = [1, 0], pads_after = [0, 0]}
  return %y, %z, %past, %above
}
