//! Texts that stay as they are, and what short forms mean.

use super::{assert_round_trip, read};
use crate::graph::SymbolSource;
use crate::text::print;
use crate::{DType, Dim, Graph, Loc, Symbol, Tensor, Type};

/// These texts are what the printer prints.
pub(super) const FIXED: [&str; 4] = [
    r#"graph @f(%x: f32[N, 64], %w: f32[N, 64]) -> (f32[N, 64]) where N in 1..=32 {
  %0 = add %x, %w : f32[N, 64]
  %1 = exp %0 : f32[N, 64]
  %y = lt %1, %x : bool[N, 64] loc("cmp" "Less", "b/2" "com.microsoft::X")
  %2 = reshape %1 {dims = [64*N]} : f32[64*N]
  return %1
}
"#,
    r#"graph @"a b"(%"12": i64[2] holds [p, q], %"input 1": f32[p, $"n + 1", min(4, $"n + 1")]) -> (i64[2], i64[2]) prefix "r." where $"n + 1" in 3.., p = elem(%"12", 0) in -2305843009213693952.., q = elem(%"12", 1) in 0..=7 {
  %0 as "12" = sizes {dtype = i64, shape = [2], elems = [p, -2*q + 1]} : i64[2]
  %1 = neg %0 : i64[2] holds ?
  %2 = neg %0 : i64[2]
  return %1, %2 as y
}
"#,
    r#"graph @c() -> () {
  %0 = constant {value = f32[5] [1.0, nan, -inf, -0.0, 0x7fc00001]} : f32[5]
  %1 = constant {value = f16[2] [0.099975586, 65504.0]} : f16[2]
  %2 = constant {value = bool[2] [true, false]} : bool[2]
  %3 = constant {value = u64[1] [18446744073709551615]} : u64[1]
  %4 = constant {value = string[2] ["a\"\\\n", "\u{0}é"]} : string[2]
  %5 = constant {value = c64[1] [(1.5, nan)]} : c64[1]
  %6 = constant {value = f64[] [0.1]} : f64
  %7 = constant {value = f32[1000, 2] splat 0.5} : f32[1000, 2]
  %8 = constant {value = i8[0] []} : i8[0]
  return
}
"#,
    r#"graph @checks(%x: f32[N], %y: f32[4]) -> (f32[4]) {
  %0 = add %x, %y : f32[4]
    check select(eq, N, 1, 4, N) == 4 "operands don't broadcast"
  %1 = add %x, %y : f32[4]
    check ?
  %2 = add %0, %1 : f32[4]
    check N >= 2 "too few"
  return %2 as "out 0"
}
"#,
];

/// A kernel with every construct.
pub(super) const KERNEL: &str = r#"graph @k(%x: f32[n, m]) -> (f32[n, m]) {
  %0 = kernel %x {kernel = kernel @softmax {
    input b0: f32[n, m]
    output b1: f32[n, m]
    temp b2: f32
    axis i0: n
    axis i1: m
    axis i2: m
    serial outer(i0)
    stage reduce(i1) {
      acc0 = max(f32, b0[i0, i1])
      b2[] = acc0
    }
    stage reduce(i2) scan {
      let t0 = exp(b0[i0, i2] - b2[])
      acc0 = sum(f32, t0)
      acc1 = arg_max_last(f32, t0)
      b1[i0, i2] add = (t0 / acc0 - 0x3fb999999999999a:f32) * (before0 + 1.5) if i2 + 1 < dim(2*m)
      b1[i0, acc1] = select(i0 == 1, f32(f16(t0)) - (t0 - 1.0), b0[i0, i2 if i2 >= -1])
      b1[i0, check(i2 < 1, i2)] = bitcast(f32, i32(acc1))
    }
  }} : f32[n, m]
  return %0
}
"#;

/// Many operators, each once, without types.
pub(super) const MANY: &str = include_str!("many.tcc");

#[test]
fn every_form_of_attribute_round_trips() {
    let graph = read(MANY);
    graph.verify().unwrap_or_else(|v| panic!("{}", v[0]));
    assert_round_trip(&graph);
}

#[test]
fn printed_texts_parse_to_themselves() {
    for text in FIXED {
        let graph = read(text);
        assert_eq!(print(&graph), text);
        graph.verify().unwrap();
        assert_round_trip(&graph);
    }
}

#[test]
fn what_the_text_leaves_out_is_inferred() {
    let g = read("graph @f(%x: f32[N], %y: f32[4]) {\n %z = add %x, %y // no type\n return %z }");
    let z = g.outputs()[0];
    assert_eq!(g.ty(z), &Type::tensor(DType::F32, [4i64]));
    assert_eq!(g.producer(z).unwrap().1.checks.len(), 1);
    assert_eq!(g.output_names(), ["z"]);
    // A stated type doesn't take the checks away.
    let typed = read("graph @f(%x: f32[N], %y: f32[4]) -> f32[4] {\n %z = add %x, %y : f32[4]\n return %z }");
    assert_eq!(g.renumbered(), typed.renumbered());
    // Nor does naming the results by value.
    let named =
        read("graph @f(%x: f32[N], %y: f32[4]) -> (%z) {\n %z = binary %x, %y {kind = add}\n return %z }");
    assert_eq!(g.renumbered(), named.renumbered());
}

#[test]
fn numbering_and_names_dont_matter() {
    let mut g = Graph::new("f");
    let n = Dim::symbol(Symbol::bounded("N", 1, Some(8)));
    let x = g.add_input("x", Type::tensor(DType::F32, [n]));
    let dead = g.constant(Tensor::from_i64s(&[1]), &Loc::default());
    let y =
        g.add1(crate::ops::Unary { kind: crate::ops::UnaryKind::Exp }, &[x], &Loc::node("e", "Exp")).unwrap();
    g.set_name(y, "x");
    g.set_outputs(vec![(y, "y".into()), (x, "x".into())]);
    g.erase(g.producer(dead).unwrap().0);
    assert_round_trip(&g);
    let text = print(&g);
    assert!(text.contains("%0 as x = exp %x : f32[N] loc(\"e\" \"Exp\")"), "{text}");
}

#[test]
fn symbols_of_a_reread_graph_never_collide_with_new_ones() {
    // `v1d0` is what inference calls an extent of value 1.
    let mut g = read("graph @f(%x: i64[2] holds [v1e0, 3]) where v1e0 = elem(%x, 0) { return }");
    let k = g.add_input("k", Type::tensor(DType::I64, [1i64]));
    let elems = g.elems(k).unwrap();
    assert_eq!(elems[0].to_string(), "v1e0_");
    assert!(matches!(g.symbols()[0].1, SymbolSource::Elem { .. }));
}

#[test]
fn kernels_round_trip_as_text() {
    let graph = read(KERNEL);
    assert_eq!(print(&graph), KERNEL);
    assert_round_trip(&graph);
}
