// x + 0 isn't x for floats: -0 + 0 is +0. Minus 0 is the neutral one.
// RUN: %tcc opt %s --passes=canonicalise | %FileCheck %s
// CHECK: %a = add %x, %zero
// CHECK-NOT: add
// CHECK: return %a
graph @f(%x: f32[2]) {
  %zero = constant {value = f32[] [0.0]}
  %minus = constant {value = f32[] [-0.0]}
  %a = add %x, %zero
  %b = add %a, %minus
  return %b
}
