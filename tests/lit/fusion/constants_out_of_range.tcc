// Constants are put together where no intermediate result leaves the range of its type: 300 * 300 is no f16, and with
// 1e30 * 1e30 a zero would become NaN. Weights take no infinite factor.
// RUN: %tcc opt %s | %FileCheck %s
// CHECK-DAG: constant {value = f32[2, 2] [1.0, 2.0, 0.0, 4.0]}
// CHECK-DAG: constant {value = f32[2] [inf, 2.0]}
// CHECK-DAG: constant {value = f16[] [300.0]}
// CHECK-DAG: constant {value = f32[] [1e30]}
// CHECK-DAG: constant {value = f32[] [6.0]}
graph @f(%x: f16[64], %y: f32[64], %z: f32[3, 2]) {
  %a = constant {value = f16[] [300.0]}
  %0 = mul %x, %a
  %1 = mul %0, %a
  %b = constant {value = f32[] [1e30]}
  %2 = mul %y, %b
  %3 = mul %2, %b
  %c = constant {value = f32[] [2.0]}
  %d = constant {value = f32[] [3.0]}
  %4 = mul %y, %c
  %5 = mul %4, %d
  %w = constant {value = f32[2, 2] [1.0, 2.0, 0.0, 4.0]}
  %s = constant {value = f32[2] [inf, 2.0]}
  %6 = contract %z, %w {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}
  %7 = mul %6, %s
  return %1, %3, %5, %7
}
