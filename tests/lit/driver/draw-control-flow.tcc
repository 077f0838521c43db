// Branches and loops are frames around their steps; wires lead in and out of them.
// RUN: %tcc inspect %s --draw %t.dot
// RUN: %FileCheck %s <%t.dot
// RUN: %tcc inspect %s --draw %t.svg
// RUN: %FileCheck %s --check-prefix=SVG <%t.svg
// CHECK: n[[X:[0-9]+]] [label="x\nf32[N]"
// CHECK: n[[C:[0-9]+]] [label="c\nbool"
// CHECK: n[[N:[0-9]+]] [label="n\ni64"
// CHECK: subgraph cluster[[IF:[0-9]+]] {
// CHECK-NEXT: label="if"; style=dashed
// CHECK: label="then"
// CHECK: [label="k{{.*}}exp\nf32[N]
// CHECK: n[[A:[0-9]+]] [label="copy\nf32[N]"
// CHECK: label="else"
// CHECK: [label="k{{.*}}tanh\nf32[N]
// CHECK: n[[B:[0-9]+]] [label="copy\nf32[N]"
// CHECK: label="loop"
// CHECK: n[[CARRIED:[0-9]+]] [label="carried{{.*}}\nf32[N]"
// CHECK: n[[SQRT:[0-9]+]] [label="k{{.*}}sqrt\nf32[N]
// CHECK: n[[NEXT:[0-9]+]] [label="next{{.*}}\nf32[N]"
// CHECK: n[[OUT:[0-9]+]] [label="z\nf32[N]"
// CHECK-DAG: n[[C]] -> n[[IF]] [label="bool", lhead=cluster[[IF]]];
// CHECK-DAG: n[[A]] -> n[[CARRIED]] [label="f32[N]"];
// CHECK-DAG: n[[B]] -> n[[CARRIED]] [label="f32[N]"];
// CHECK-DAG: n[[CARRIED]] -> n[[SQRT]] [label="f32[N]"];
// CHECK-DAG: n[[SQRT]] -> n[[NEXT]] [label="f32[N]"];
// CHECK-DAG: n[[NEXT]] -> n[[OUT]] [label="f32[N]"];
// SVG: <rect class="n choice"
// SVG: <rect class="n branch"
// SVG: <rect class="n branch"
// SVG: <rect class="n loop"
// SVG: <rect class="n small"
graph @f(%x: f32[N], %c: bool, %n: i64) {
  %y = if %c, %x {then_branch = graph @then(%t: f32[N]) prefix "t" {
    %a = exp %t
    return %a
  }, else_branch = graph @else(%e: f32[N]) prefix "e" {
    %b = tanh %e
    return %b
  }}
  %z = loop %n, %y {body = graph @body(%i: i64, %go: bool, %v: f32[N]) prefix "l" {
    %w = sqrt %v
    return %go, %w
  }, n_carried = 1, has_trip = true, has_cond = false}
  return %z
}
