// A map is a thread an element; the last work-group is guarded.
// RUN: %tcc compile %s --target ptx --emit=ptx | %FileCheck %s --check-prefix=PTX
// RUN: %tcc compile %s --target spirv --emit=mlir | %FileCheck %s --check-prefix=SPIRV
// REQUIRES: ptx, spirv
// PTX: .target sm_80
// PTX: .visible .entry [[NAME:k0_[a-z_]*]](
// The input, the output, the params and the faults.
// PTX-COUNT-4: .param .u64
// PTX-NOT: .param
// PTX: .maxntid 128, 1, 1
// PTX: ld.global
// PTX: st.global
// SPIRV: gpu.func @[[NAME:k0_[a-z_]*]](%b0: memref<?xf32, #spirv.storage_class<StorageBuffer>>, %b1: {{.*}}, %params: {{.*}}xi64{{.*}}, %faults: {{.*}}xi32
// SPIRV: workgroup_size = [128, 1, 1]
// SPIRV: %[[INSIDE:.*]] = arith.cmpi slt, %tile, %tiles : index
// SPIRV: scf.if %[[INSIDE]]
// SPIRV: %[[MINE:.*]] = arith.cmpi slt, %{{.*}}, %d0 : index
// SPIRV: scf.if %[[MINE]]
graph @f(%x: f32[N]) {
  %0 = sqrt %x
  return %0
}
