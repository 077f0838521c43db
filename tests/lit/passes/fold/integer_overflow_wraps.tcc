// Folded integers wrap as compiled ones do, also on the way to others; sizes that may wrap are computed.
// RUN: %tcc opt %s --passes=fold | %FileCheck %s
// CHECK: %y = constant {value = i8[1] [-128]}
// CHECK: %z = constant {value = i32[1] [780]}
// CHECK: %n = sizes {dtype = u32, shape = [1], elems = [N]}
// CHECK: %d = sub %n, %five
// CHECK-NEXT: %w = cast %d {to = i64, saturate = true}
graph @f(%x: f32[N]) {
  %a = constant {value = i8[1] [127]}
  %b = constant {value = i8[1] [1]}
  %y = add %a, %b
  %p = constant {value = i32[1] [123457]}
  %q = constant {value = i32[1] [654321]}
  %r = constant {value = i32[1] [1009]}
  %h = mul %p, %q
  %z = mod %h, %r
  %n = sizes {dtype = u32, shape = [1], elems = [N]}
  %five = constant {value = u32[1] [5]}
  %d = sub %n, %five
  %w = cast %d {to = i64, saturate = true}
  return %y, %z, %w
}
