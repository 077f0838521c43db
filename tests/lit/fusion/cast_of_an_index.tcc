// The conversion of indices happens where they are used, and so does the check of their range.
// RUN: %tcc opt %s | %FileCheck %s
// CHECK: kernel @cast_gather
// CHECK: let [[I:t[0-9]]] = i64({{.*}})
// CHECK: let [[J:t[0-9]]] = select([[I]] < 0, [[I]] + 8, [[I]])
// CHECK: check(and([[J]] >= 0, [[J]] < 8), [[J]])
// CHECK-NOT: = kernel
graph @f(%x: f32[8, 4], %i: i32[3]) {
  %0 = cast %i {to = i64, saturate = true}
  %1 = gather %x, %0 {axis = 0}
  return %1
}
