// Convolution with bias and relu, then pooling.
graph @conv(%x: f32[1, 3, 9, 8]) {
  %w = constant {value = f32[2, 3, 3, 3] [-0.5, 0.75, -0.0, -0.0, 0.25, -0.25, -0.125, 0.25, 0.125, -0.625, 0.375, -0.25, -0.5, -0.5, -0.25, 0.875, -0.625, 0.125, -1.125, -0.0, 0.5, -0.125, -0.375, 0.125, 0.375, 0.375, 1.0, 0.125, -0.25, -0.125, -0.0, 0.0, -0.0, 0.125, -0.875, 0.375, -0.25, -0.625, 0.375, 0.625, 0.25, 0.125, -0.5, 1.375, 0.5, -0.625, -0.375, 0.0, -0.75, 0.125, -0.25, 0.625, 0.5, -1.375]}
  %b = constant {value = f32[2, 1, 1] [0.25, -0.75]}
  %0 = conv %x, %w {strides = [2, 1], dilations = [1, 1], pads_before = [1, 1], pads_after = [1, 1], groups = 1}
  %1 = add %0, %b
  %zero = constant {value = f32[] [0.0]}
  %2 = max %1, %zero
  %3 = window %2 {kind = max, window = [2, 2], strides = [2, 2], dilations = [1, 1], pads_before = [0, 0], pads_after = [0, 0]}
  %y = sigmoid %3
  return %y
}
