// A recurrent cell: a loop with state, and rows that it stacks.
graph @lstm(%x: f32[6, 2, 4], %h0: f32[2, 3], %c0: f32[2, 3]) {
  %w = constant {value = f32[12, 4] [0.125, 0.375, 0.125, -0.625, 0.5, 0.25, -0.25, 0.25, 0.125, 0.125, 0.0, 0.25, -0.375, -0.125, -0.25, 0.25, 0.0, -0.125, -0.375, -0.125, 0.0, -0.125, 0.625, 0.5, -1.375, -1.0, -0.125, -0.25, 0.125, 0.125, 1.0, -0.5, -0.25, 1.0, 0.375, 0.375, -0.25, -0.875, 0.125, 0.0, -0.625, -0.375, -0.0, -0.5, -0.0, 0.0, 0.0, -0.25]}
  %r = constant {value = f32[12, 3] [0.25, 0.5, 0.125, -0.375, 0.375, -0.25, 0.5, -0.5, 0.5, -0.0, -0.625, -0.125, 0.0, 0.125, -0.5, -0.5, 0.125, -0.25, 0.125, 0.375, -0.875, 0.125, 0.625, -0.125, -0.375, 0.375, 0.125, 0.5, -0.125, -0.75, -0.0, -0.25, 0.375, 0.125, -0.875, -0.625]}
  %b = constant {value = f32[12] [0.5, 0.375, -0.375, -0.0, 0.25, 0.25, 0.5, 0.125, -0.0, -0.125, 0.5, -1.125]}
  %0 = contract %x, %w {lhs_batch = [], rhs_batch = [], lhs = [2], rhs = [1], out = f32}
  %gates = add %0, %b
  %steps = constant {value = i64[] [6]}
  %h, %c, %y = loop %steps, %h0, %c0, %gates, %r {body = graph @step(%t: i64, %go: bool, %h: f32[2, 3], %c: f32[2, 3], %gates: f32[6, 2, 12], %r: f32[12, 3]) prefix "r1" {
    %0 = gather %gates, %t {axis = 0}
    %1 = contract %h, %r {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [1], out = f32}
    %2 = add %0, %1
    %3 = slice %2 {starts = [0, 0], sizes = [2, 3], steps = [1, 1]}
    %in = sigmoid %3
    %4 = slice %2 {starts = [0, 3], sizes = [2, 3], steps = [1, 1]}
    %out = sigmoid %4
    %5 = slice %2 {starts = [0, 6], sizes = [2, 3], steps = [1, 1]}
    %forget = sigmoid %5
    %6 = slice %2 {starts = [0, 9], sizes = [2, 3], steps = [1, 1]}
    %new = tanh %6
    %7 = mul %forget, %c
    %8 = mul %in, %new
    %c1 = add %7, %8
    %9 = tanh %c1
    %h1 = mul %out, %9
    return %go, %h1, %c1, %h1
  }, n_carried = 2, has_trip = true, has_cond = false}
  return %y, %h
}
