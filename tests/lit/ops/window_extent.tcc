// Windowed extents stay symbolic.
// RUN: %tcc opt %s --until=imported | %FileCheck %s
// CHECK: : f32[1, 3, floordiv({{.*}}H{{.*}}, 2)
graph @f(%x: f32[1, 3, H]) {
  %z = window %x {kind = max, window = [2], strides = [2], dilations = [1], pads_before = [0], pads_after = [0]}
  return %z
}
