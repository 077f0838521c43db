graph @add(%x: f32[N, 4], %y: f32[N, 4]) -> (f32[N, 4]) {
  %sum = add %x, %y : f32[N, 4]
  return %sum
}
