// TCC_VULKAN_DEVICE chooses a device by number or name; a wrong one is an error that lists what there is.
// RUN: %tcc compile %s --target spirv -o %t
// RUN: TCC_VULKAN_DEVICE=0 %tcc run %t --fill ones
// RUN: TCC_VULKAN_DEVICE=Voodoo %fails %tcc run %t --fill ones 2>&1 | %FileCheck %s
// REQUIRES: spirv, vulkan
// CHECK: error[TCC5004]: {{.*}} TCC_VULKAN_DEVICE is "Voodoo", and there is no such device
// CHECK-SAME: 0 "
graph @f(%x: f32[8]) {
  %0 = add %x, %x
  return %0
}
