// The largest of a row is found by vectors, as a sum is, with NaN passed on.
// RUN: %tcc compile %s --target x86-64-v3 --emit=llvm-ir | %FileCheck %s
// CHECK: call nsz <8 x float> @llvm.maximum.v8f32
// CHECK: call nsz float @llvm.vector.reduce.fmaximum.v8f32
graph @f(%x: f32[64, 512]) {
  %0 = reduce %x {kind = max, axes = [1], keepdims = false}
  return %0
}
