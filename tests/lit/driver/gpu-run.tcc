// A package for Vulkan gives the CPU's numbers, at sizes that only the run decides, and on a part of the results of a
// routine of the host.
// RUN: rm -rf %t && mkdir %t && %tcc compile %s --target spirv -o %t/gpu.pkg && %tcc compile %s -o %t/cpu.pkg
// RUN: %tcc run %t/gpu.pkg --fill random:1 --dim N=5 --output-dir %t/gpu
// RUN: %tcc run %t/cpu.pkg --fill random:1 --dim N=5 --output-dir %t/cpu
// RUN: cmp %t/gpu/out0.npy %t/cpu/out0.npy && cmp %t/gpu/out1.npy %t/cpu/out1.npy
// RUN: %tcc run %t/gpu.pkg --fill ones --dim N=0 | %FileCheck %s --check-prefix=EMPTY
// RUN: %tcc run %t/gpu.pkg --fill ones --dim N=3 --profile | %FileCheck %s --check-prefix=PROFILE
// RUN: %tcc bench %t/gpu.pkg --fill ones --seconds 0 --json | %FileCheck %s --check-prefix=BENCH
// REQUIRES: spirv, vulkan
// EMPTY: out0: f32[0, 8]
// EMPTY: out1: i64[2, 0]
// PROFILE: in {{[0-9]+}} steps
// PROFILE: out0: f32[3, 8] min 0.000000, max 0.000000
// PROFILE: out1: i64[2, 24]
// BENCH: "latency_ms_median":
graph @f(%x: f32[N, 8]) {
  %0 = add %x, %x
  %1 = reduce %0 {kind = max, axes = [1], keepdims = true}
  %2 = sub %0, %1
  %3 = non_zero %0
  %4 = add %3, %3
  return %2, %4
}
