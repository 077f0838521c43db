// Two layers, wide enough that products are blocked and packed. Weights are waves, folded when the model is compiled.
graph @mlp(%x: f32[5, 33]) {
  %i = iota {dims = [33, 17], axis = 0, dtype = f32}
  %j = iota {dims = [33, 17], axis = 1, dtype = f32}
  %seven = constant {value = f32[] [7.0]}
  %ij = mul %i, %seven
  %at = add %ij, %j
  %w1 = sin %at
  %b1 = constant {value = f32[17] [0.5, -0.25, 0.0, 1.0, -1.0, 0.125, 0.75, -0.5, 0.25, 0.0, 0.5, 0.5, -0.75, 0.25, 1.0, 0.0, -0.5]}
  %0 = contract %x, %w1 {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}
  %1 = add %0, %b1
  %zero = constant {value = f32[] [0.0]}
  %hidden = max %1, %zero
  %k = iota {dims = [17, 10], axis = 0, dtype = f32}
  %l = iota {dims = [17, 10], axis = 1, dtype = f32}
  %kl = mul %k, %l
  %w2 = cos %kl
  %2 = contract %hidden, %w2 {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}
  %y = tanh %2
  return %y
}
