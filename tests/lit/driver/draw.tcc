// The picture of a package is that of the model: kernels in the frame of their task graph, with shapes, bytes and weights.
// Names are only text in it, whatever they are.
// RUN: rm -rf %t && mkdir %t
// RUN: %tcc compile %s -o %t/p.tcc
// RUN: %tcc inspect %t/p.tcc --draw %t/p.svg | %FileCheck %s --check-prefix=TEXT
// RUN: %tcc inspect %s --draw %t/m.svg | %FileCheck %s --check-prefix=TEXT
// RUN: %FileCheck %s <%t/p.svg
// RUN: cmp %t/p.svg %t/m.svg && test $(ls %t | wc -l) -eq 3
// TEXT: outputs:
// CHECK: <svg xmlns="http://www.w3.org/2000/svg" width="[[W:[0-9]+]]" height="[[H:[0-9]+]]" viewBox="0 0 [[W]] [[H]]">
// CHECK: <title>mlp</title>
// CHECK: 2 kernels, 1 task graph<
// CHECK: <rect class="n tasks"
// CHECK-NEXT: >task graph 1: 2 kernels<
// A wire says what goes over it.
// CHECK: <title>f32[N, 512]</title><path class="w" d="M
// CHECK: <text class="l" {{.*}}>f32[N, 512]</text>
// CHECK: <rect class="n input"
// CHECK-NEXT: >x&lt;&amp;&quot;&apos;&gt;<
// CHECK-NEXT: >f32[N, 64]<
// CHECK: <rect class="n kernel"
// CHECK-NEXT: >k0_contract{{.*}}<
// CHECK-NEXT: >f32[N, 512]<
// CHECK-NEXT: >reads N × 256 B, writes N × 2 KiB<
// CHECK: <text class="c" {{.*}}>f32[{{.*}}] (128 KiB) a<
// CHECK: <rect class="n output"
// CHECK: </svg>
//
// Options of a compilation count for a model.
// RUN: %tcc inspect %s --draw %t/none.svg --fusion=none --dim N=2
// RUN: %FileCheck %s --check-prefix=NONE <%t/none.svg
// NONE: 4 kernels, 0 task graphs<
// NONE-NOT: class="n tasks"
// NONE: >reads 512 B, writes 4 KiB<
//
// RUN: %tcc inspect %s --draw %t/m.dot
// RUN: %FileCheck %s --check-prefix=DOT <%t/m.dot
// DOT: digraph "mlp" {
// DOT: n0 [label="x<&\"'>\nf32[N, 64]"
// DOT: subgraph cluster1 {
// DOT-NEXT: label="task graph 1: 2 kernels"
// DOT: n2 [label="k0_contract
// DOT: n3 [label="k1_contract
// DOT-NEXT: }
// DOT-NEXT: n4 [label=
// DOT-NEXT: n0 -> n2 [label="f32[N, 64]"];
// DOT-NEXT: n2 -> n3 [label="f32[N, 512]"];
// DOT-NEXT: n3 -> n4 [label="f32[N, 256]"];
// DOT-NEXT: }
graph @mlp(%"x<&\"'>": f32[N, 64]) {
  %a = constant {value = f32[64, 512] splat 0.5}
  %b = constant {value = f32[512, 256] splat 0.25}
  %0 = contract %"x<&\"'>", %a {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}
  %1 = tanh %0
  %2 = contract %1, %b {lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = f32}
  %y = tanh %2
  return %y
}
