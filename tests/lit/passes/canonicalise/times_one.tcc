// x * 1 is x, bit for bit, on either side.
// RUN: %tcc opt %s --passes=canonicalise,dce | %FileCheck %s
// CHECK: graph @f
// CHECK-NEXT: return %x
graph @f(%x: f32[2]) {
  %one = constant {value = f32[] [1.0]}
  %a = mul %x, %one
  %b = mul %one, %a
  return %b
}
