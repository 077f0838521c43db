// One bit of the weights changed: an error, not another result.
// RUN: %tcc compile %s -o %t.pkg
// RUN: %tcc run %t.pkg --fill ones | %FileCheck %s
// CHECK: y: f32[4] 2.000000 3.000000 4.000000 5.000000
// RUN: size=$(wc -c <%t.pkg); printf '\177' | dd of=%t.pkg bs=1 seek=$((size - 1)) conv=notrunc 2>/dev/null
// RUN: %fails %tcc run %t.pkg --fill ones 2>&1 | %FileCheck %s --check-prefix=DAMAGED
// RUN: %fails %tcc inspect %t.pkg 2>&1 | %FileCheck %s --check-prefix=DAMAGED
// RUN: %fails %tcc bench %t.pkg --fill ones 2>&1 | %FileCheck %s --check-prefix=DAMAGED
// DAMAGED: error[TCC{{[0-9]+}}]: {{.*}}weights
graph @f(%x: f32[4]) {
  %w = constant {value = f32[4] [1.0, 2.0, 3.0, 4.0]}
  %y = add %x, %w
  return %y
}
