// The kernels of a small network are valid for Vulkan, and its package says what it needs of a device.
// RUN: rm -rf %t && %tcc compile %S/Inputs/mlp.tcc --target spirv --emit=spirv --out-dir %t
// RUN: for f in %t/*.spv; do spirv-val --target-env vulkan1.1 $f; done
// RUN: %tcc compile %S/Inputs/mlp.tcc --target spirv -o %t/mlp.pkg
// RUN: %tcc inspect %t/mlp.pkg | %FileCheck %s
// REQUIRES: spirv, spirv-val
// CHECK: shaderInt64
