// Weights that are dequantized at the beginning of the graph are made where they are used, or inside of what uses them: they
// don't wait in the arena.
// RUN: %tcc compile %s -o %t.pkg --stats --numerics=exact | %FileCheck %s
// CHECK: planned arena bytes{{ +}}270336
graph @f(%x: f32[4, 256]) {
  %s = constant {value = f32[256] splat 0.01}
  %wa = constant {value = i8[256, 256] splat 3}
  %wb = constant {value = i8[256, 256] splat 5}
  %wc = constant {value = i8[256, 256] splat 7}
  %a0 = cast %wa {to = f32, saturate = true}
  %a = mul %a0, %s
  %b0 = cast %wb {to = f32, saturate = true}
  %b = mul %b0, %s
  %c0 = cast %wc {to = f32, saturate = true}
  %c = mul %c0, %s
  %0 = contract %x, %a {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}
  %1 = contract %0, %b {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}
  %2 = contract %1, %c {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}
  return %2
}
