// Padding counts as the lowest number: where the elements are as low, the first of them is the position, not the padding.
// RUN: %tcc run %s --fill zeros >%t.compiled
// RUN: %tcc run %s --fill zeros --reference | diff - %t.compiled
// RUN: %FileCheck %s <%t.compiled
// CHECK: y: i64[1, 6] 0 0 1 2 3 4
// CHECK: z: i64[1, 6] 1 0 1 0 1 2
graph @f(%x: f32[1, 6]) {
  %low = constant {value = f32[] [-inf]}
  %0 = add %x, %low
  %y = window %0 {kind = arg_max, window = [3], strides = [1], dilations = [1], pads_before = [1], pads_after = [1]}
  %z = window %0 {kind = arg_max, window = [3], strides = [1], dilations = [2], pads_before = [3], pads_after = [1]}
  return %y, %z
}
