// A layer of experts is one task graph: the router's product, its choice of two, the experts' products, and the sum of
// what the chosen ones give. A short axis is ranked by a kernel.
// RUN: %tcc compile %s --emit=plan | %FileCheck %s
// CHECK: block 0:
// CHECK-NEXT: task graph of
// CHECK-NOT: topk(
// CHECK: top_k
// CHECK-NOT: topk(
graph @moe(%x: f32[T, 16], %router: f32[16, 8], %up: f32[8, 16, 32], %down: f32[8, 32, 16]) {
  %zero = constant {value = f32[] [0.0]}
  %scores = contract %x, %router {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}
  %best, %chosen = top_k %scores {axis = 1, k = 2, largest = true, sorted = true}
  %none = sub %scores, %scores
  %gates = scatter_elements %none, %chosen, %best {axis = 1}
  %h = contract %up, %x {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [1], out = f32}
  %a = max %h, %zero
  %y = contract %a, %down {lhs_batch = [0], rhs_batch = [0], lhs = [1], rhs = [1], out = f32}
  %g = transpose %gates {perm = [1, 0]}
  %s = contract %g, %y {lhs_batch = [1], rhs_batch = [1], lhs = [0], rhs = [0], out = f32}
  return %s
}
