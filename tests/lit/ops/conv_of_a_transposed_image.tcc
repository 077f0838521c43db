// The transpose goes into the convolution. Whether a column reads padding then depends on its position as well as on the
// element.
// RUN: %tcc run %s --fill ones >%t.compiled
// RUN: %tcc run %s --fill ones --reference | diff - %t.compiled
// RUN: %FileCheck %s <%t.compiled
// CHECK: y: f32[1, 64, 16, 16] min 48.000000, max 147.000000
graph @f(%x: f32[1, 32, 32, 3]) {
  %0 = transpose %x {perm = [0, 3, 1, 2]}
  %w = constant {value = f32[64, 3, 7, 7] splat 1.0}
  %y = conv %0, %w {strides = [2, 2], dilations = [1, 1], pads_before = [3, 3], pads_after = [3, 3], groups = 1}
  return %y
}
