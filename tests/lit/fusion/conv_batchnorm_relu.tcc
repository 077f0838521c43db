// A batch normalisation of constants goes into the weights of the convolution before it; with --numerics=exact the
// weights stay, and it goes into the store.
// RUN: %tcc opt %s | %FileCheck %s
// RUN: %tcc opt %s --numerics=exact | %FileCheck %s --check-prefix=EXACT
// CHECK: constant {value = f32[2, 1, 1, 1] [2.0, 6.0]}
// CHECK: acc0 = sum(f32,
// CHECK-NEXT: = max(acc0 + {{.*}})
// CHECK-NOT: = kernel %
// EXACT: constant {value = f32[2, 1, 1, 1] [1.0, 2.0]}
// EXACT: = max(acc0 * {{.*}} + {{.*}})
// EXACT-NOT: = kernel %
graph @f(%x: f32[2, 1, 8, 8]) {
  %w = constant {value = f32[2, 1, 1, 1] [1.0, 2.0]}
  %s = constant {value = f32[2, 1, 1] [2.0, 3.0]}
  %b = constant {value = f32[2, 1, 1] [0.5, 0.25]}
  %zero = constant {value = f32[] [0.0]}
  %0 = conv %x, %w {strides = [1, 1], dilations = [1, 1], pads_before = [0, 0], pads_after = [0, 0], groups = 1}
  %1 = mul %0, %s
  %2 = add %1, %b
  %3 = max %2, %zero
  return %3
}
