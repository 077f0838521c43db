// Products of narrow integers go in pairs through one instruction, of the widest vectors that an x86 target has. Other
// targets have none.
// RUN: %tcc compile %s --target x86-64-v2 --emit=asm | %FileCheck %s --check-prefix=V2
// RUN: %tcc compile %s --target x86-64-v3 --emit=asm | %FileCheck %s --check-prefix=V3
// RUN: %tcc compile %s --target x86-64-v4 --emit=asm | %FileCheck %s --check-prefix=V4
// RUN: %tcc compile %s --target aarch64 --emit=asm | %FileCheck %s --check-prefix=NONE
// V2: {{[[:space:]]}}pmaddwd{{.*}}%xmm
// V3: vpmaddwd{{.*}}%ymm
// V4: vpmaddwd{{.*}}%zmm
// NONE-NOT: pmaddwd
// NONE: mla
// NONE-NOT: pmaddwd
graph @f(%x: u8[64, 256], %w: i8[256, 128]) {
  %0 = cast %x {to = i32, saturate = true}
  %1 = cast %w {to = i32, saturate = true}
  %2 = contract %0, %1 {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = i32}
  return %2
}
