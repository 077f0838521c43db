// Two layers and a softmax, over a symbolic batch.
graph @mlp(%x: f32[N, 64], %w0: f32[64, 100], %b0: f32[100], %w1: f32[100, 10]) {
  %0 = contract %x, %w0 {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}
  %1 = add %0, %b0
  %2 = tanh %1
  %3 = contract %2, %w1 {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}
  %4 = reduce %3 {kind = max, axes = [1], keepdims = true}
  %5 = sub %3, %4
  %6 = exp %5
  %7 = reduce %6 {kind = sum, axes = [1], keepdims = true}
  %8 = div %6, %7
  return %8
}
