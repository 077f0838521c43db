//! Which constants are put together, and which are left where they are.

use crate::Machine;
use crate::egraph::analysis::View;
use crate::egraph::language::Id;
use crate::egraph::region::Region;
use crate::egraph::rules::RULES;
use tcc_ir::Op;

/// Whether a rule offers something for a node of a graph.
fn offers(rule: &str, text: &str) -> bool {
    let graph = tcc_ir::text::parse(text).unwrap_or_else(|e| panic!("{e:?} in {text}"));
    let rule = RULES.iter().copied().flatten().find(|r| r.name == rule).expect("there is such a rule");
    let computes = |op: &Op| !matches!(op, Op::Constant(_));
    let nodes: Vec<_> = graph.nodes().filter(|(_, n)| computes(&n.op)).map(|(id, _)| id).collect();
    let region = Region::new(&graph, &nodes, &Machine::default());
    nodes.iter().any(|id| {
        let node = graph.node(*id);
        let operands: Vec<Id> = node.inputs.iter().map(|v| region.find(*v)).collect();
        (rule.apply)(View(&region.egraph), &node.op, &operands).is_some()
    })
}

/// `(x op a) op b`, of matrices of this many rows: those of 100 are larger than what is evaluated.
fn chain(op: &str, dtype: &str, rows: usize, a: &str, b: &str) -> bool {
    let text = format!(
        "graph @f(%x: {dtype}[{rows}, 100]) {{
        %a = constant {{value = {dtype}[{rows}, 100] splat {a}}}
        %b = constant {{value = {dtype}[{rows}, 100] splat {b}}}
        %0 = {op} %x, %a
        %1 = {op} %0, %b
        return %1 }}"
    );
    offers("constants-together", &text)
}

#[test]
fn factors_stay_where_their_product_would_leave_the_range() {
    let rows = [
        ("f32", "2.5", "1e-6", true),
        ("f32", "1e15", "1e-15", true),
        ("f32", "0.0", "3.0", true),
        ("f32", "1e30", "1e30", false),
        ("f32", "1e-30", "1e-30", false),
        ("f32", "1e30", "1e-30", false),
        ("f32", "1e12", "1e12", false),
        ("f32", "inf", "0.5", false),
        ("f32", "0.5", "nan", false),
        ("f64", "1e30", "1e30", true),
        ("f64", "1e200", "1e200", false),
        ("bf16", "1e30", "1e30", false),
        ("f16", "8.0", "0.125", true),
        ("f16", "300.0", "300.0", false),
        ("f16", "100.0", "100.0", false),
        ("f16", "1e-4", "1e-4", false),
        ("f8e4m3fn", "2.0", "2.0", false),
    ];
    for (dtype, a, b, fits) in rows {
        for n in [1, 100] {
            assert_eq!(chain("mul", dtype, n, a, b), fits, "{a} and {b} of {dtype}, {n} rows");
        }
    }
    assert!(chain("mul", "i32", 1, "2000000000", "3"), "integers wrap alike");
}

#[test]
fn terms_stay_where_their_sum_would_overflow_or_take_digits() {
    let rows = [
        ("f32", "1.5", "-1.5", true),
        ("f32", "1000.0", "1e-9", true),
        ("f32", "3e38", "3e38", false),
        ("f32", "12582912.0", "-12582912.0", false),
        ("f32", "-inf", "1.0", false),
        ("f16", "3.0", "-0.25", true),
        ("f16", "60000.0", "60000.0", false),
    ];
    for (dtype, a, b, fits) in rows {
        for n in [1, 100] {
            assert_eq!(chain("add", dtype, n, a, b), fits, "{a} and {b} of {dtype}, {n} rows");
        }
    }
}

/// `(x @ w + bias) * s` with one row of weights for each of two channels.
fn scaled(dtype: &str, w: [&str; 4], bias: Option<&str>, s: [&str; 2]) -> bool {
    let sum = bias.map_or("%1 = mul %0, %s".into(), |bias| {
        format!(
            "%b = constant {{value = {dtype}[2] splat {bias}}}
            %a = add %0, %b
            %1 = mul %a, %s"
        )
    });
    let rule = if bias.is_some() { "scale-past-bias" } else { "scale-into-weights" };
    let (w, s) = (w.join(", "), s.join(", "));
    let text = format!(
        "graph @f(%x: {dtype}[3, 2]) {{
        %w = constant {{value = {dtype}[2, 2] [{w}]}}
        %s = constant {{value = {dtype}[2] [{s}]}}
        %0 = contract %x, %w {{lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [1], out = {dtype}}}
        {sum}
        return %1 }}"
    );
    offers(rule, &text)
}

#[test]
fn weights_take_a_factor_that_leaves_the_largest_of_each_channel_in_range() {
    let w = ["1.0", "-2.0", "0.5", "0.0"];
    assert!(scaled("f32", w, None, ["2.0", "0.25"]));
    assert!(scaled("f32", w, None, ["2.0", "0.0"]));
    assert!(scaled("f16", w, None, ["2.0", "0.25"]));
    assert!(!scaled("f32", w, None, ["inf", "2.0"]));
    assert!(!scaled("f32", w, None, ["nan", "2.0"]));
    assert!(!scaled("f32", w, None, ["1e30", "2.0"]));
    assert!(!scaled("f16", w, None, ["500.0", "2.0"]));
    assert!(!scaled("f16", w, None, ["1.0", "1e-5"]), "the second channel would be subnormal");
    assert!(!scaled("f16", ["200.0"; 4], None, ["1.0", "1.0"]));
    assert!(!scaled("f32", ["1e-30", "2e-30", "1.0", "1.0"], None, ["1e-12", "1.0"]));
    assert!(!scaled("f8e5m2", w, None, ["2.0", "0.5"]));
}

#[test]
fn small_weights_beside_larger_ones_don_t_matter() {
    assert!(scaled("f32", ["1e-44", "1.0", "1.0", "1.0"], None, ["1e-3", "1.0"]));
    assert!(scaled("f16", ["1e-7", "1.0", "1.0", "1.0"], None, ["0.125", "1.0"]));
}

#[test]
fn channels_that_training_has_switched_off_don_t_matter() {
    assert!(scaled("f32", ["1e-25", "-1e-24", "1.0", "1.0"], None, ["1e-22", "1.0"]));
    assert!(scaled("f32", ["1e-41", "0.0", "1.0", "1.0"], None, ["0.1", "1.0"]));
    assert!(!scaled("f16", ["1e-3", "1e-3", "1.0", "1.0"], None, ["1e-3", "1.0"]), "those of f16 are near");
}

#[test]
fn a_bias_is_scaled_where_it_doesn_t_overflow() {
    let w = ["1.0", "-2.0", "0.5", "0.0"];
    assert!(scaled("f32", w, Some("1000.0"), ["2.0", "0.25"]));
    assert!(scaled("f16", w, Some("-30.0"), ["2.0", "0.25"]));
    assert!(!scaled("f16", w, Some("-600.0"), ["100.0", "1.0"]));
    assert!(!scaled("f32", w, Some("1e30"), ["2.0", "0.25"]));
    assert!(!scaled("f32", w, Some("inf"), ["2.0", "0.25"]));
}

#[test]
fn large_weights_are_scaled_twice() {
    let twice = |first: &str| {
        format!(
            "graph @f(%x: f32[3, 100]) {{
            %w = constant {{value = f32[100, 100] splat 2.0}}
            %s = constant {{value = f32[100, 1] splat {first}}}
            %t = constant {{value = f32[100] splat 3.0}}
            %v = mul %w, %s
            %0 = contract %x, %v {{lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [1], out = f32}}
            %1 = mul %0, %t
            return %1 }}"
        )
    };
    assert!(offers("scale-into-weights", &twice("4.0")));
    assert!(!offers("scale-into-weights", &twice("1e30")));
}

#[test]
fn a_factor_that_varies_along_axes_in_another_order_stays() {
    let batches = |order: &str| {
        format!(
            "graph @f(%x: f32[2, 2, 3, 4]) {{
            %w = constant {{value = f32[2, 2, 4, 5] splat 2.0}}
            %s = constant {{value = f32[2, 2, 1, 1] [1.0, 2.0, 3.0, 4.0]}}
            %0 = contract %x, %w {{lhs_batch = [0, 1], rhs_batch = {order}, lhs = [3], rhs = [2], out = f32}}
            %1 = mul %0, %s
            return %1 }}"
        )
    };
    assert!(offers("scale-into-weights", &batches("[0, 1]")));
    assert!(!offers("scale-into-weights", &batches("[1, 0]")));
}

#[test]
fn narrow_types_keep_the_order_of_sums_and_products_of_data() {
    let product = |x: &str, y: &str| {
        format!("contract {x}, {y} {{lhs_batch = [], rhs_batch = [], lhs = [1], rhs = [0], out = $T}}")
    };
    let (xw, yw, xu, uv) =
        (product("%x", "%w"), product("%y", "%w"), product("%x", "%u"), product("%0", "%v"));
    let constant = |name| format!("%{name} = constant {{value = $T[2, 2] splat 0.5}}");
    let (u, v) = (constant("u"), constant("v"));
    let s = constant("s").replace("[2, 2]", "[2]");
    let rows = [
        ("common-factor", "%0 = mul %x, %w\n%1 = mul %y, %w\n%2 = add %0, %1".to_string()),
        ("sum-of-products", format!("%0 = {xw}\n%1 = {yw}\n%2 = add %0, %1")),
        ("product-of-products", format!("{u}\n{v}\n%0 = {xu}\n%2 = {uv}")),
        ("operand-scale-into-contract", format!("{s}\n{v}\n%0 = mul %x, %s\n%2 = {uv}")),
    ];
    for (rule, body) in rows {
        let text = format!("graph @f(%x: $T[2, 2], %y: $T[2, 2], %w: $T[2, 2]) {{ {body}\nreturn %2 }}");
        for (dtype, offered) in [("f32", true), ("f16", false), ("bf16", false)] {
            assert_eq!(offers(rule, &text.replace("$T", dtype)), offered, "{rule} of {dtype}");
        }
    }
}
