// A product is stored in the order that heads are read in: each panel of columns lies in one head.
// RUN: %tcc opt %s | %FileCheck %s
// CHECK: reduce
// CHECK-NEXT: acc0 = sum
// CHECK-NEXT: [{{i[0-9]}} / 64, {{i[0-9]}}, mod({{i[0-9]}}, 64)] = (acc0 + {{.*}}) *
// CHECK-NOT: = kernel
graph @f(%x: f32[37, 96], %w: f32[96, 192], %b: f32[192], %scale: f32[]) {
  %0 = contract %x, %w {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}
  %1 = add %0, %b
  %2 = reshape %1 {dims = [37, 3, 64]}
  %3 = transpose %2 {perm = [1, 0, 2]}
  %4 = mul %3, %scale
  return %4
}
