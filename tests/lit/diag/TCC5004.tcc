// A package that is cut short.
// RUN: %tcc compile %s -o %t.pkg && head -c 600 %t.pkg > %t.cut
// RUN: %fails %tcc run %t.cut --fill zeros 2>&1 | %FileCheck %s
// CHECK: error[TCC5004]: {{.*}}is the file complete?
graph @f(%x: f32[2]) {
  %y = exp %x
  return %y
}
