// The model of standalone.c: two small layers.
graph @mlp(%x: f32[1, 8]) {
  %i = iota {dims = [8, 6], axis = 0, dtype = f32}
  %j = iota {dims = [8, 6], axis = 1, dtype = f32}
  %ij = mul %i, %j
  %w1 = cos %ij
  %0 = contract %x, %w1 {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}
  %zero = constant {value = f32[] [0.0]}
  %hidden = max %0, %zero
  %w2 = constant {value = f32[6, 3] [0.5, -0.25, 1.0, -1.0, 0.125, 0.75, -0.5, 0.25, 0.0, 0.5, 0.5, -0.75, 0.25, 1.0, 0.0, -0.5, 0.25, 0.5]}
  %1 = contract %hidden, %w2 {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}
  %y = sigmoid %1
  return %y
}
