//! An example of every canonicalisation rule, run before and after, and near misses that must stay.

use crate::canonicalise::{RULES, rewrite};
use crate::testing::{Random, same};
use tcc_ir::eval::evaluate;
use tcc_ir::ops::{
    Binary, BinaryKind, Bitcast, Broadcast, Cast, Compare, Concat, Constant, Pad, PadMode, Reshape, Select,
    Slice, Transpose, Unary, UnaryKind,
};
use tcc_ir::{Cmp, DType, Dim, Graph, Loc, Op, Symbol, Tensor, Type, Value, ValueId};

/// Builds expressions over an input `x` of shape [n, 1, 3] (n is 2) and `y` of the same type.
struct Example {
    graph: Graph,
    x: ValueId,
    y: ValueId,
}

impl Example {
    fn op(&mut self, op: impl Into<Op>, inputs: &[ValueId]) -> ValueId {
        self.graph.add1(op, inputs, &Loc::default()).expect("the example is well-typed")
    }
    fn unary(&mut self, kind: UnaryKind, x: ValueId) -> ValueId {
        self.op(Unary { kind }, &[x])
    }
    fn binary(&mut self, kind: BinaryKind, a: ValueId, b: ValueId) -> ValueId {
        self.op(Binary { kind }, &[a, b])
    }
    fn cast(&mut self, to: DType, x: ValueId) -> ValueId {
        self.op(Cast { to, saturate: false }, &[x])
    }
    fn constant(&mut self, value: Tensor) -> ValueId {
        self.op(Constant { value }, &[])
    }
    fn slice(&mut self, slices: [(Dim, Dim, i64); 3], x: ValueId) -> ValueId {
        let [a, b, c] = slices;
        let all = [a, b, c];
        let steps = all.iter().map(|s| Dim::from(s.2)).collect();
        let (starts, sizes) = all.into_iter().map(|s| (s.0, s.1)).unzip();
        self.op(Slice { starts, sizes, steps }, &[x])
    }
}

fn n() -> Dim {
    Dim::symbol(Symbol::new("n"))
}

fn dims(dims: &[i64]) -> Vec<Dim> {
    dims.iter().map(|d| if *d == 0 { n() } else { Dim::from(*d) }).collect()
}

fn whole() -> [(Dim, Dim, i64); 3] {
    [(0.into(), n(), 1), (0.into(), 1.into(), 1), (0.into(), 3.into(), 1)]
}

type Build = fn(&mut Example) -> ValueId;

use DType::{BF16, Bool, F16, F32, F64, I8, I32, U8};

/// (rule, element type of the inputs, expression). In `dims`, 0 stands for n.
const EXAMPLES: &[(&str, DType, Build)] = &[
    ("movement-of-nothing", F32, |e| e.op(Reshape { dims: dims(&[0, 1, 3]) }, &[e.x])),
    ("movement-of-nothing", F32, |e| e.op(Broadcast { dims: dims(&[0, 1, 3]) }, &[e.x])),
    ("movement-of-nothing", F32, |e| e.op(Transpose { perm: vec![0, 1, 2] }, &[e.x])),
    ("movement-of-nothing", F32, |e| e.slice(whole(), e.x)),
    ("movement-of-nothing", F32, |e| e.cast(F32, e.x)),
    ("movement-of-nothing", I32, |e| e.op(Bitcast { to: I32 }, &[e.x])),
    ("movement-of-nothing", F32, |e| {
        let zero = e.constant(Tensor::scalar(F32, 0.0));
        let none = vec![Dim::from(0); 3];
        e.op(Pad { before: none.clone(), after: none, mode: PadMode::Edge }, &[e.x, zero])
    }),
    ("concat-of-one", I8, |e| e.op(Concat { axis: 2 }, &[e.x])),
    ("reshape-of-reshape", F32, |e| {
        let flat = e.op(Reshape { dims: vec![n() * Dim::from(3)] }, &[e.x]);
        e.op(Reshape { dims: dims(&[3, 0]) }, &[flat])
    }),
    ("broadcast-of-broadcast", F32, |e| {
        let wide = e.op(Broadcast { dims: dims(&[0, 4, 3]) }, &[e.x]);
        e.op(Broadcast { dims: dims(&[2, 0, 4, 3]) }, &[wide])
    }),
    ("transpose-of-transpose", F32, |e| {
        let wide = e.op(Broadcast { dims: dims(&[0, 4, 3]) }, &[e.x]);
        let once = e.op(Transpose { perm: vec![1, 2, 0] }, &[wide]);
        e.op(Transpose { perm: vec![0, 2, 1] }, &[once])
    }),
    ("transpose-of-transpose", F32, |e| {
        let once = e.op(Transpose { perm: vec![2, 1, 0] }, &[e.x]);
        e.op(Transpose { perm: vec![2, 1, 0] }, &[once])
    }),
    ("slice-of-slice", F32, |e| {
        let reversed =
            e.slice([(n() - 1.into(), n(), -1), (0.into(), 1.into(), 1), (2.into(), 3.into(), -1)], e.x);
        e.slice([(0.into(), n(), 1), (0.into(), 1.into(), 1), (0.into(), 2.into(), 2)], reversed)
    }),
    ("cast-of-cast", F16, |e| {
        let wide = e.cast(F64, e.x);
        e.cast(BF16, wide)
    }),
    ("cast-of-cast", I8, |e| {
        let wide = e.cast(I32, e.x);
        e.cast(U8, wide)
    }),
    ("cast-of-cast", I8, |e| {
        let wide = e.cast(I32, e.x);
        e.cast(F16, wide)
    }),
    ("cast-of-cast", F32, |e| {
        let wide = e.cast(F64, e.x);
        e.cast(I8, wide)
    }),
    ("transpose-is-reshape", F32, |e| e.op(Transpose { perm: vec![1, 0, 2] }, &[e.x])),
    ("broadcast-is-reshape", F32, |e| e.op(Broadcast { dims: dims(&[1, 1, 0, 1, 3]) }, &[e.x])),
    ("elementwise-of-broadcast", F32, |e| {
        let wide = e.op(Broadcast { dims: dims(&[0, 4, 3]) }, &[e.x]);
        let row = e.constant(Tensor::from_floats(F32, vec![4, 1], [1.0, 2.0, 3.0, -0.0]));
        let sum = e.binary(BinaryKind::Sub, e.y, row);
        e.binary(BinaryKind::Sub, wide, sum)
    }),
    ("neutral-operand", F32, |e| {
        let one = e.constant(Tensor::scalar(F32, 1.0));
        e.binary(BinaryKind::Mul, one, e.x)
    }),
    ("neutral-operand", F32, |e| {
        let zero = e.constant(Tensor::scalar(F32, -0.0));
        e.binary(BinaryKind::Add, e.x, zero)
    }),
    ("neutral-operand", F16, |e| {
        let zero = e.constant(Tensor::from_floats(F16, vec![3], [0.0; 3]));
        e.binary(BinaryKind::Sub, e.x, zero)
    }),
    ("neutral-operand", F32, |e| {
        let lowest = e.constant(Tensor::scalar(F32, f64::NEG_INFINITY));
        let wide = e.op(Broadcast { dims: dims(&[0, 1, 3]) }, &[lowest]);
        e.binary(BinaryKind::Max, wide, e.x)
    }),
    ("neutral-operand", F32, |e| {
        let one = e.constant(Tensor::scalar(F32, 1.0));
        e.binary(BinaryKind::Pow, e.x, one)
    }),
    ("neutral-operand", U8, |e| {
        let ones = e.constant(Tensor::scalar(U8, 255.0));
        e.binary(BinaryKind::And, e.x, ones)
    }),
    ("neutral-operand", I8, |e| {
        let lowest = e.constant(Tensor::scalar(I8, -128.0));
        e.binary(BinaryKind::Max, e.x, lowest)
    }),
    ("neutral-operand", Bool, |e| {
        let no = e.constant(Tensor::scalar(Bool, 0.0));
        e.binary(BinaryKind::Xor, e.x, no)
    }),
    ("binary-of-equals", F32, |e| e.binary(BinaryKind::Max, e.x, e.x)),
    ("twice-undone", F32, |e| {
        let once = e.unary(UnaryKind::Neg, e.x);
        e.unary(UnaryKind::Neg, once)
    }),
    ("twice-undone", Bool, |e| {
        let once = e.unary(UnaryKind::Not, e.x);
        e.unary(UnaryKind::Not, once)
    }),
    ("twice-as-once", F32, |e| {
        let once = e.unary(UnaryKind::Round, e.x);
        e.unary(UnaryKind::Floor, once)
    }),
    ("twice-as-once", F32, |e| {
        let once = e.unary(UnaryKind::Sign, e.x);
        e.unary(UnaryKind::Sign, once)
    }),
    ("abs-of-neg", I8, |e| {
        let once = e.unary(UnaryKind::Neg, e.x);
        e.unary(UnaryKind::Abs, once)
    }),
    ("add-of-neg", F32, |e| {
        let once = e.unary(UnaryKind::Neg, e.x);
        e.binary(BinaryKind::Add, once, e.y)
    }),
    ("add-of-neg", F32, |e| {
        let once = e.unary(UnaryKind::Neg, e.x);
        e.binary(BinaryKind::Sub, e.y, once)
    }),
    ("not-of-compare", F32, |e| {
        let equal = e.op(Compare { cmp: Cmp::Eq }, &[e.x, e.y]);
        e.unary(UnaryKind::Not, equal)
    }),
    ("not-of-compare", I32, |e| {
        let less = e.op(Compare { cmp: Cmp::Lt }, &[e.x, e.y]);
        e.unary(UnaryKind::Not, less)
    }),
    ("select-of-known", F32, |e| {
        let cond = e.op(Compare { cmp: Cmp::Lt }, &[e.x, e.y]);
        e.op(Select {}, &[cond, e.y, e.y])
    }),
    ("select-of-known", F32, |e| {
        let cond = e.constant(Tensor::from_ints(Bool, vec![4, 1], [0; 4]));
        e.op(Select {}, &[cond, e.x, e.y])
    }),
    ("constant-on-the-right", F32, |e| {
        let two = e.constant(Tensor::scalar(F32, 2.0));
        e.binary(BinaryKind::Mul, two, e.x)
    }),
];

/// Expressions that look like a rule's but aren't equal: no rule may touch them.
const NEAR_MISSES: &[(&str, DType, Build)] = &[
    ("x + 0 turns -0 into 0", F32, |e| {
        let zero = e.constant(Tensor::scalar(F32, 0.0));
        e.binary(BinaryKind::Add, e.x, zero)
    }),
    ("x - -0 turns -0 into 0", F32, |e| {
        let zero = e.constant(Tensor::scalar(F32, -0.0));
        e.binary(BinaryKind::Sub, e.x, zero)
    }),
    ("x * 0 keeps NaN and the sign", F32, |e| {
        let zero = e.constant(Tensor::scalar(F32, 0.0));
        e.binary(BinaryKind::Mul, e.x, zero)
    }),
    ("x - x is NaN for infinities", F32, |e| e.binary(BinaryKind::Sub, e.x, e.x)),
    ("1 / x", F32, |e| {
        let one = e.constant(Tensor::scalar(F32, 1.0));
        e.binary(BinaryKind::Div, one, e.x)
    }),
    ("not less isn't greater or equal with NaN", F32, |e| {
        let less = e.op(Compare { cmp: Cmp::Lt }, &[e.x, e.y]);
        e.unary(UnaryKind::Not, less)
    }),
    ("a cast that loses digits", F32, |e| {
        let narrow = e.cast(BF16, e.x);
        e.cast(F64, narrow)
    }),
    ("a float between integers saturates", I32, |e| {
        let float = e.cast(F64, e.x);
        e.cast(I8, float)
    }),
    ("an operand that widens the other", F32, |e| {
        let ones = e.constant(Tensor::from_floats(F32, vec![4, 1], [1.0; 4]));
        e.binary(BinaryKind::Mul, e.x, ones)
    }),
    ("a transpose that moves elements", F32, |e| e.op(Transpose { perm: vec![2, 1, 0] }, &[e.x])),
    ("a slice with another start", F32, |e| {
        e.slice([(0.into(), n(), 1), (0.into(), 1.into(), 1), (2.into(), 3.into(), -1)], e.x)
    }),
];

/// The rules that fired on an expression; fails if its value changed.
fn fired(name: &str, dtype: DType, build: Build) -> Vec<&'static str> {
    let mut graph = Graph::new("example");
    let x = graph.add_input("x", Type::tensor(dtype, dims(&[0, 1, 3])));
    let y = graph.add_input("y", Type::tensor(dtype, dims(&[0, 1, 3])));
    let mut example = Example { graph, x, y };
    let output = build(&mut example);
    let before = {
        let mut graph = example.graph;
        graph.set_outputs(vec![(output, "out".into())]);
        graph
    };
    let mut after = before.clone();
    let rules = rewrite(&mut after);
    after.verify().unwrap_or_else(|e| panic!("{name}: {e:?}"));
    for seed in 0..50 {
        let mut random = Random(seed);
        let inputs: Vec<Value> = (0..2).map(|_| random.tensor(dtype, vec![2, 1, 3]).into()).collect();
        let (a, b) = (evaluate(&before, &inputs).unwrap(), evaluate(&after, &inputs).unwrap());
        assert!(same(&a[0], &b[0]), "{name} on {inputs:?}: {a:?} became {b:?}");
    }
    rules
}

#[test]
fn every_rule_has_an_example_that_it_rewrites_exactly() {
    for rule in RULES.iter().copied().flatten() {
        assert!(EXAMPLES.iter().any(|(name, ..)| *name == rule.name), "no example of {}", rule.name);
    }
    for (name, dtype, build) in EXAMPLES {
        let rules = fired(name, *dtype, *build);
        assert!(rules.contains(name), "{name} didn't fire, only {rules:?}");
    }
}

#[test]
fn near_misses_stay() {
    for (name, dtype, build) in NEAR_MISSES {
        assert_eq!(fired(name, *dtype, *build), [""; 0], "{name}");
    }
}
