// A product isn't computed once for each reader of a view of it, or of what is computed from it.
// RUN: %tcc opt %s --fusion=horizontal | %FileCheck %s
// CHECK-COUNT-2: sum(f32,
// CHECK-NOT: sum(f32,
graph @f(%x: f32[64, 16], %w: f32[16, 256], %x2: f32[2000, 4], %w2: f32[4, 512]) {
  %p = contract %x, %w {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}
  %v = reshape %p {dims = [1, 64, 4, 64]}
  %a = transpose %v {perm = [0, 2, 1, 3]}
  %z = constant {value = f32[] [0.0]}
  %b = max %v, %z
  %q = contract %x2, %w2 {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}
  %r = max %q, %z
  %c = reduce %r {kind = max, axes = [0], keepdims = true}
  %d = reduce %r {kind = max, axes = [1], keepdims = true}
  return %a, %b, %c, %d
}
