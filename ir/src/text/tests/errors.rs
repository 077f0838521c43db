//! What is wrong is said with line and column, all of it at once.

use crate::Tensor;
use crate::text::{content_hash, parse, parse_with};

/// (text, expected `line:column message` parts, in order).
const WRONG: [(&str, &[&str]); 12] = [
    ("", &["1:1: expected `graph`, found the end of the text"]),
    ("graph @f() { return } x", &["1:23: expected the end of the text, found `x`"]),
    (
        "graph @f(%x: f32[2]) {\n  %0 = nope %x\n  %1 = exp %0\n  %2 = exp %9\n  return %2\n}",
        &["2:8: unknown operator `nope`", "4:12: %9 isn't defined before its use"],
    ),
    (
        "graph @f(%x: f32[2], %y: f32[3]) {\n  %0 = add %x, %y\n  return %z\n}",
        &["2:8: binary: operands don't broadcast", "3:10: %z isn't defined"],
    ),
    (
        "graph @f(%x: f32[2]) {\n  %0 = exp %x : f32[3]\n  return %0\n}",
        &["2:8: unary: the result is f32[2], not f32[3]"],
    ),
    ("graph @f(%x: f32[2]) -> f32[3] {\n  return %x\n}", &["1:25: the result is f32[2], not f32[3]"]),
    ("graph @f(%x: f32[N + 1]) { return %x }", &["1:18: symbol `N` gets no value"]),
    (
        "graph @f(%x: f32[2]) {\n  %0 = reshape %x {dims = [K*2]}\n  return %0 }",
        &["2:28: unknown symbol `K`"],
    ),
    (
        "graph @f(%x: f32[2]) {\n  %0 = reshape %x {dims = [1, 2], dims = 3}\n  return %0 }",
        &["2:35: attribute `dims` is given twice"],
    ),
    ("graph @f() {\n  %0 = constant {value = i8[2] [1, 200]}\n  return %0 }", &["2:26: 200 doesn't fit i8"]),
    (
        "graph @f() {\n  %0 = constant {value = i8[99999999999] splat 1}\n  return %0 }",
        &["2:26: i8[99999999999] is too large"],
    ),
    (
        "graph @f(%x: f32[2]) { \"\n return %x ` }",
        &["1:24: the string doesn't end", "2:12: unexpected character '`'"],
    ),
];

#[test]
fn errors_name_their_place() {
    for (text, expected) in WRONG {
        let errors = parse(text).unwrap_err();
        let shown: Vec<String> =
            errors.iter().map(|e| format!("{}: {}", e.place.join(": "), e.message)).collect();
        assert_eq!(shown.len(), expected.len(), "{text}\n{shown:#?}");
        for (got, want) in shown.iter().zip(expected) {
            let matches = want
                .split_once(": ")
                .zip(got.split_once(": "))
                .is_some_and(|((wp, w), (gp, g))| wp == gp && g.starts_with(w));
            assert!(matches, "{got}\n{want}\n{text}");
        }
    }
}

#[test]
fn deep_nesting_is_refused() {
    let parens = format!("graph @f(%x: f32[{}N{}]) {{ return }}", "(".repeat(5000), ")".repeat(5000));
    let types = format!("graph @f(%x: {}f32{}) {{ return }}", "seq<".repeat(5000), ">".repeat(5000));
    let graphs = "graph @f() { %0 = constant {value = ".repeat(5000);
    let lists = format!("graph @f() {{ %0 = constant {{value = {}", "[".repeat(5000));
    let product = format!(
        "graph @f(%a: f32[A, B, C, D, E, F, G, H]) {{\n %0 = reshape %a {{dims = [{}]}} return }}",
        vec!["(A+B+C+D+E+F+G+H)"; 50].join("*")
    );
    for (text, what) in
        [(parens, "deep"), (types, "deep"), (graphs, "deep"), (lists, "deep"), (product, "too many terms")]
    {
        let errors = parse(&text).unwrap_err();
        assert!(errors.iter().any(|e| e.message.contains(what)), "{:?}", &errors[..1]);
    }
}

#[test]
fn weights_must_be_what_the_text_says() {
    let t = Tensor::from_i64s(&[1, 2, 3]);
    let text = |ty: &str, hash: u64| {
        format!("graph @f() {{ %0 = constant {{value = {ty} @w0 #{hash:016x}}} return %0 }}")
    };
    let good = text("i64[3]", content_hash(&t));
    let give = |_: &super::WeightRef| Some(t.clone());
    assert_eq!(parse_with(&good, &give).unwrap().constant_of(crate::ValueId(0)), Some(&t));
    for (text, found) in
        [(good, None), (text("i64[4]", content_hash(&t)), Some(&t)), (text("i64[3]", 1), Some(&t))]
    {
        let errors = parse_with(&text, &|_| found.cloned()).unwrap_err();
        assert!(errors[0].message.contains("@w0"), "{}", errors[0]);
    }
}
