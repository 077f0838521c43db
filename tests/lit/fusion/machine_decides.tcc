// Exponentials that two others read are stored where caches hold them, and computed twice where memory is slow.
// RUN: %tcc opt %s --machine cores=1 | %FileCheck %s --check-prefix=STORE
// RUN: %tcc opt %s --machine cores=1,l2=65536,l3=131072,bandwidth=1e9 | %FileCheck %s --check-prefix=AGAIN
// RUN: code=0; %tcc opt %s --machine cores=1,speed=9 2>%t.err || code=$?; test $code -eq 2
// RUN: %FileCheck %s --check-prefix=NAMES <%t.err
// STORE: %[[E:[0-9]+]], %{{[0-9]+}} = kernel %x, %y {kernel = kernel @exp
// STORE: = kernel %[[E]] {kernel = kernel @sum
// AGAIN: = kernel %x {kernel = kernel @exp_sum {
// AGAIN: = kernel %x, %y {kernel = kernel @exp_tanh_mul {
// AGAIN-NOT: = kernel %
// NAMES: cores, vector-bytes, hertz
graph @f(%x: f32[1024, 1024], %y: f32[1024, 1024]) {
  %0 = exp %x
  %1 = reduce %0 {kind = sum, axes = [0], keepdims = false}
  %2 = tanh %0
  %3 = mul %2, %y
  return %1, %3
}
