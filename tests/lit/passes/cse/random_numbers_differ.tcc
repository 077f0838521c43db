// Two draws are two draws, even with the same attributes.
// RUN: %tcc opt %s --passes=cse | %FileCheck %s
// CHECK-COUNT-2: random
graph @f() {
  %a = random {kind = uniform, dtype = f32, dims = [2], a = 0.0, b = 1.0, seed = 1}
  %b = random {kind = uniform, dtype = f32, dims = [2], a = 0.0, b = 1.0, seed = 1}
  %y = sub %a, %b
  return %y
}
