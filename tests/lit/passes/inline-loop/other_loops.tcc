// Loops stay that run twice, that may not begin, or that a condition alone ends.
// RUN: %tcc opt %s --passes=inline-loop | %FileCheck %s
// CHECK: loop %two
// CHECK: loop %one, %go
// CHECK: loop %yes
graph @f(%x: f32[2], %go: bool) {
  %one = constant {value = i64[] [1]}
  %two = constant {value = i64[] [2]}
  %yes = constant {value = bool[] [true]}
  %a = loop %two, %x {body = graph @a(%i: i64, %c: bool, %v: f32[2]) prefix "a" {
    %e = exp %v
    return %c, %e
  }, n_carried = 1, has_trip = true, has_cond = false}
  %b = loop %one, %go, %a {body = graph @b(%i: i64, %c: bool, %v: f32[2]) prefix "b" {
    %e = exp %v
    return %c, %e
  }, n_carried = 1, has_trip = true, has_cond = true}
  %d = loop %yes, %b {body = graph @d(%i: i64, %c: bool, %v: f32[2]) prefix "d" {
    %stop = constant {value = bool[] [false]}
    %e = exp %v
    return %stop, %e
  }, n_carried = 1, has_trip = false, has_cond = true}
  return %d
}
