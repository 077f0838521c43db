// A loop of one iteration is its body; what it stacks is alone there.
// RUN: %tcc opt %s --passes=inline-loop | %FileCheck %s
// CHECK-NOT: loop
// CHECK: [[Y:%.*]] = add %x, %step : f32[2, N]
// CHECK: [[Z:%.*]] = exp [[Y]]
// CHECK: [[S:%.*]] = reshape [[Z]] {{.*}} : f32[1, 2, N]
// CHECK: return [[Y]] as y, [[S]]
graph @f(%x: f32[2, N], %step: f32[2, N]) {
  %n = constant {value = i64[] [1]}
  %go = constant {value = bool[] [true]}
  %y, %z = loop %n, %go, %x, %step {body = graph @body(%i: i64, %c: bool, %v: f32[2, N], %s: f32[2, N]) prefix "l" {
    %a = add %v, %s
    %b = exp %a
    %stop = constant {value = bool[] [false]}
    return %stop, %a, %b
  }, n_carried = 1, has_trip = true, has_cond = true}
  return %y, %z
}
