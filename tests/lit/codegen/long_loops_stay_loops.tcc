// Loops of known length stay loops in kernels of many stages: written out, this one is a megabyte, and takes half a
// minute to compile.
// RUN: rm -rf %t.d
// RUN: %tcc compile %s --emit llvm-ir --out-dir %t.d
// RUN: test $(cat %t.d/*.ll | wc -c) -lt 400000
graph @f(%x0: f32[1, 32, 28, 28], %x1: f32[1, 32, 28, 28], %x2: f32[1, 32, 28, 28], %x3: f32[1, 32, 28, 28], %x4: f32[1, 32, 28, 28], %x5: f32[1, 32, 28, 28], %x6: f32[1, 32, 28, 28], %x7: f32[1, 32, 28, 28], %x8: f32[1, 32, 28, 28], %x9: f32[1, 32, 28, 28], %x10: f32[1, 32, 28, 28], %x11: f32[1, 32, 28, 28], %s: f32[1, 384, 1, 1], %b: f32[1, 384, 1, 1]) {
  %z = constant {value = f32[] [0.0]}
  %0 = concat %x0, %x1, %x2, %x3, %x4, %x5, %x6, %x7, %x8, %x9, %x10, %x11 {axis = 1}
  %1 = mul %0, %s
  %2 = add %1, %b
  %3 = max %2, %z
  return %3
}
