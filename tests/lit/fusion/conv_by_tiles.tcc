// Where multiplying takes the time, a convolution with many channels runs by tiles, with bias and relu in its stores; its
// weights are transformed ahead. Tiles are large, but of a small image. One of few channels doesn't, nor one of another
// stride.
// RUN: %tcc opt %s --machine cores=1,flops-per-cycle=8 | %FileCheck %s
// RUN: %tcc opt %s --machine cores=1,flops-per-cycle=512 | %FileCheck %s --check-prefix=PLAIN
// RUN: %tcc opt %s --machine cores=1,flops-per-cycle=8 --numerics=exact | %FileCheck %s --check-prefix=PLAIN
// CHECK-DAG: constant {value = f32[36, 32, 32]
// CHECK-DAG: constant {value = f32[16, 32, 32]
// CHECK-DAG: kernel @winograd4_add_max {
// CHECK-DAG: kernel @winograd2 {
// CHECK-DAG: kernel @conv {
// CHECK-DAG: kernel @conv {
// CHECK-NOT: @winograd
// PLAIN-NOT: winograd
graph @f(%x: f32[N, 32, 28, 27], %y: f32[N, 2, 28, 28], %z: f32[N, 32, 7, 7], %b: f32[32, 1, 1]) {
  %one = constant {value = f32[1, 1, 1, 1] [1.0]}
  %zero = constant {value = f32[] [0.0]}
  %w = pad %one, %zero {before = [3, 2, 1, 1], after = [28, 29, 1, 1], mode = constant}
  %u = pad %one, %zero {before = [4, 2, 1, 1], after = [27, 29, 1, 1], mode = constant}
  %v = pad %one, %zero {before = [5, 2, 1, 1], after = [26, 29, 1, 1], mode = constant}
  %few = pad %one, %zero {before = [1, 0, 1, 1], after = [2, 1, 1, 1], mode = constant}
  %0 = conv %x, %w {strides = [1, 1], dilations = [1, 1], pads_before = [1, 1], pads_after = [1, 1], groups = 1}
  %1 = add %0, %b
  %2 = max %1, %zero
  %3 = conv %x, %v {strides = [2, 2], dilations = [1, 1], pads_before = [1, 1], pads_after = [1, 1], groups = 1}
  %4 = conv %y, %few {strides = [1, 1], dilations = [1, 1], pads_before = [1, 1], pads_after = [1, 1], groups = 1}
  %5 = conv %z, %u {strides = [1, 1], dilations = [1, 1], pads_before = [1, 1], pads_after = [1, 1], groups = 1}
  return %2, %3, %4, %5
}
