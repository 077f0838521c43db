// Without a linker the error says which are looked for.
// RUN: code=0; PATH=/nonexistent %tcc compile %s --emit shared --out-dir %t.d 2>%t.err || code=$?; test $code -eq 1
// RUN: %FileCheck %s <%t.err
// CHECK: error[TCC4004]: no linker is on PATH: looked for ld.lld, ld.lld-22
graph @f(%x: f32[2]) {
  %y = exp %x
  return %y
}
