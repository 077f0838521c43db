// A depthwise convolution copies each channel with its padding; then all results are one row of 8 * 10 positions, with no
// guard in its loop, and each of the 9 weights is multiplied with the copy from another place on.
// RUN: %tcc compile %s --target x86-64-v3 --emit mlir | %FileCheck %s
// CHECK: %[[N:.*]] = arith.constant 80 : index
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[N]]
// CHECK-NOT: scf.if
// CHECK-COUNT-9: math.fma
// CHECK-NOT: math.fma
graph @f(%x: f32[1, 4, 8, 8], %w: f32[4, 1, 3, 3]) {
  %y = conv %x, %w {strides = [1, 1], dilations = [1, 1], pads_before = [1, 1], pads_after = [1, 1], groups = 4}
  return %y
}
