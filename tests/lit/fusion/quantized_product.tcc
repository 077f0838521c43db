// A product of dequantized operands is one of integers: no dequantized tensor is written, and the zero point is taken away
// where the operand is made.
// RUN: %tcc opt %s | %FileCheck %s
// CHECK: output [[P:b[0-9]+]]: i16[64, 256]
// CHECK: i16(i32(u8({{.*}})) + {{.*}})
// CHECK: input {{.*}}: i8[256, 128]
// CHECK: acc0 = sum(i32, i32({{.*}}) * i32({{.*}}))
// CHECK: f32(acc0) * b
// CHECK-NOT: = kernel %
// With the bits that the model as written has there are two dequantized operands.
// RUN: %tcc opt %s --numerics=exact | %FileCheck %s --check-prefix=EXACT
// EXACT: acc0 = sum(f32, b
graph @f(%x: f32[64, 256]) {
  %s = constant {value = f32[] [0.02]}
  %z = constant {value = u8[] [114]}
  %0 = div %x, %s
  %1 = round %0
  %2 = cast %z {to = f32, saturate = true}
  %3 = add %1, %2
  %4 = cast %3 {to = u8, saturate = true}
  %5 = cast %4 {to = i32, saturate = true}
  %6 = cast %z {to = i32, saturate = true}
  %7 = sub %5, %6
  %8 = cast %7 {to = f32, saturate = true}
  %9 = mul %8, %s
  %w = constant {value = i8[256, 128] splat 3}
  %t = constant {value = f32[128] splat 0.01}
  %10 = cast %w {to = f32, saturate = true}
  %11 = mul %10, %t
  %12 = contract %9, %11 {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}
  return %12
}
