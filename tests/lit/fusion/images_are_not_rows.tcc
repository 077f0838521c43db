// Convolutions in a row stay kernels of their own: the images of a batch, of which there may be one, are no rows.
// RUN: %tcc opt %s | %FileCheck %s
// CHECK: kernel @conv_max
// CHECK: kernel @conv_max
graph @f(%x: f32[N, 256, 14, 14], %v: f32[64, 256, 1, 1], %w: f32[64, 64, 3, 3]) {
  %zero = constant {value = f32[] [0.0]}
  %0 = conv %x, %v {strides = [1, 1], dilations = [1, 1], pads_before = [0, 0], pads_after = [0, 0], groups = 1}
  %1 = max %0, %zero
  %2 = conv %1, %w {strides = [1, 1], dilations = [1, 1], pads_before = [1, 1], pads_after = [1, 1], groups = 1}
  %3 = max %2, %zero
  return %3
}
