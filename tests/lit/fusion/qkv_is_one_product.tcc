// Queries, keys and values of attention come out of one matrix product with one bias; each is read where it lies.
// RUN: %tcc opt %s --fusion=horizontal | %FileCheck %s
// RUN: %tcc opt %s --fusion=vertical | %FileCheck %s --check-prefix=VERTICAL
// CHECK: kernel @contract_add {
// CHECK: output b2: f32[32, 160]
// CHECK-NOT: kernel @contract_add {
// VERTICAL-COUNT-3: kernel @contract_add
graph @f(%x: f32[32, 48]) {
  %wq = constant {value = f32[48, 64] splat 0.5}
  %wk = constant {value = f32[48, 64] splat 0.25}
  %wv = constant {value = f32[48, 32] splat 0.125}
  %bq = constant {value = f32[64] splat 1.5}
  %bk = constant {value = f32[64] splat 2.5}
  %bv = constant {value = f32[32] splat 3.5}
  %0 = contract %x, %wq {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}
  %1 = add %0, %bq
  %2 = contract %x, %wk {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}
  %3 = add %2, %bk
  %4 = contract %x, %wv {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}
  %5 = add %4, %bv
  %6 = reshape %1 {dims = [32, 4, 16]}
  %q = transpose %6 {perm = [1, 0, 2]}
  %7 = reshape %3 {dims = [32, 4, 16]}
  %k = transpose %7 {perm = [1, 2, 0]}
  %8 = reshape %5 {dims = [32, 4, 8]}
  %v = transpose %8 {perm = [1, 0, 2]}
  %9 = contract %q, %k {lhs_batch = [0], rhs_batch = [0], lhs = [2], rhs = [1], out = f32}
  %10 = exp %9
  %11 = contract %10, %v {lhs_batch = [0], rhs_batch = [0], lhs = [2], rhs = [1], out = f32}
  return %11
}
