// Bias and relu go into the store of the convolution.
// RUN: %tcc opt %s | %FileCheck %s
// CHECK: kernel @conv_add_max
// CHECK: acc0 = sum(f32, {{.*}} * {{.*}})
// CHECK-NEXT: = max(acc0 + {{.*}})
// CHECK-NOT: = kernel %
graph @f(%x: f32[2, 3, 8, 8], %w: f32[4, 3, 3, 3], %b: f32[4, 1, 1]) {
  %0 = conv %x, %w {strides = [1, 1], dilations = [1, 1], pads_before = [1, 1], pads_after = [1, 1], groups = 1}
  %1 = add %0, %b
  %zero = constant {value = f32[] [0.0]}
  %2 = max %1, %zero
  return %2
}
