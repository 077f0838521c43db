//! Every rule on random graphs that it matches: both sides through the evaluator.
//!
//! A sample is a graph in which `$T` stands for an element type and `$N`, `$M`, `$K` for extents, 0 and 1 among
//! them. Inputs whose names begin with `c` become constants.

mod algebra;
mod linear;
mod movement;
mod quantized;
mod range;
mod winograd;

use crate::Machine;
use crate::egraph::analysis::View;
use crate::egraph::language::Id;
use crate::egraph::region::Region;
use crate::egraph::rules::{New, Numerics, RULES, Rule};
use crate::testing::{Random, same};
use indexmap::IndexMap;
use tcc_ir::eval::evaluate;
use tcc_ir::ops::{Binary, BinaryKind, Transpose};
use tcc_ir::{DType, Graph, Loc, Op, Tensor, Value, ValueId};

use DType::{BF16, F16, F32, F64, I8, I32, U8};

struct Sample {
    rule: &'static str,
    dtypes: &'static [DType],
    text: &'static str,
}

const FLOATS: &[DType] = &[F32, F16, BF16, F64];
const NUMBERS: &[DType] = &[F32, F16, I32, I8];
const F: &[DType] = &[F32];
/// With those that have little room.
const F_NARROW: &[DType] = &[F32, F16, BF16];

const fn sample(rule: &'static str, dtypes: &'static [DType], text: &'static str) -> Sample {
    Sample { rule, dtypes, text }
}

/// By theme.
const SAMPLES: [&[Sample]; 5] =
    [algebra::SAMPLES, movement::SAMPLES, linear::SAMPLES, winograd::SAMPLES, quantized::SAMPLES];

/// A graph made from a sample; None when the sizes don't go together.
fn instantiate(
    sample: &Sample,
    dtype: DType,
    random: &mut Random,
    rule: &Rule,
) -> Option<(Graph, Vec<Value>)> {
    let mut text = sample.text.replace("$T", &dtype.to_string());
    for name in ["$N", "$M", "$K"] {
        text = text.replace(name, &random.pick(&[0, 1, 2, 3, 5]).to_string());
    }
    let mut graph = tcc_ir::text::parse(&text).ok()?;
    let mut inputs = Vec::new();
    for id in graph.inputs().to_vec() {
        let ty = graph.ty(id).as_tensor().expect("inputs are tensors").clone();
        let constant = graph.value(id).name.as_ref().is_some_and(|name| name.starts_with('c'));
        let value = tensor(random, dtype, ty.static_shape().expect("sizes are constants"), rule, constant);
        if constant {
            let first = graph.nodes().next().map(|(id, _)| id)?;
            let op = tcc_ir::ops::Constant { value: value.clone() };
            let constant = graph.insert(first, op, &[], &Loc::default()).ok()?[0];
            graph.replace_uses(id, constant);
        }
        inputs.push(Value::Tensor(value));
    }
    Some((graph, inputs))
}

/// Whether a rule may move infinities and NaN.
fn moves_infinities(rule: &Rule) -> bool {
    rule.numerics == Numerics::Approximate || rule.name == "sum-of-products"
}

/// Whether infinities and NaN in the data reach results that don't depend on them.
fn spreads_infinities(rule: &Rule) -> bool {
    rule.name.starts_with("winograd")
}

/// Numbers that hurt: all of them for exact rules. Others get data of ordinary size with special ones among them, and
/// constants from the whole range of the type; but those which may move infinities, which may overflow elsewhere,
/// get ordinary ones only; and none that aren't finite where these would spread.
fn tensor(random: &mut Random, dtype: DType, shape: Vec<usize>, rule: &Rule, constant: bool) -> Tensor {
    if rule.numerics == Numerics::Exact || !dtype.is_float() {
        return random.tensor(dtype, shape);
    }
    let ordinary = |r: &mut Random| r.below(64) as f64 / 8.0 - 4.0;
    let n: usize = shape.iter().product();
    if moves_infinities(rule) {
        let number = |r: &mut Random| if r.chance(16) { f64::NAN } else { ordinary(r) };
        let elems: Vec<f64> = (0..n).map(|_| number(random)).collect();
        return Tensor::from_floats(dtype, shape, elems);
    }
    // A scale for all elements, or one each.
    let exponents = match dtype {
        F64 => [0, 0, 0, 0, -1000, -400, 400, 1000],
        F16 => [0, 0, 0, 0, -14, -5, 5, 13],
        _ => [0, 0, 0, 0, -120, -50, 50, 120],
    };
    let scale = |r: &mut Random| if constant { f64::from(*r.pick(&exponents)).exp2() } else { 1.0 };
    let (all, each, clean) = (scale(random), random.chance(4), constant && !random.chance(4));
    let number = |r: &mut Random| {
        let special = r.chance(8).then(|| *r.pick(&[0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY]));
        let v = ordinary(r) * if each { scale(r) } else { all };
        let clean = clean || spreads_infinities(rule);
        special.filter(|v| !clean || *v == 0.0).unwrap_or(v)
    };
    let elems: Vec<f64> = (0..n).map(|_| number(random)).collect();
    Tensor::from_floats(dtype, shape, elems)
}

/// Whether a result is as good as another. Next to sums, what counts as small depends on the terms, of which `terms`
/// says how large they are.
fn close(a: &Value, b: &Value, rule: &Rule, terms: f64) -> bool {
    let (Value::Tensor(x), Value::Tensor(y)) = (a, b) else { return false };
    if rule.numerics == Numerics::Exact || !x.dtype().is_float() {
        return same(a, b);
    }
    let tolerance = match x.dtype() {
        F64 => 1e-12,
        F32 => 1e-5,
        F16 => 2e-2,
        _ => 1e-1,
    };
    let terms = if moves_infinities(rule) { 1.0 } else { terms };
    let equal = |(a, b): (&f64, &f64)| {
        (a.is_nan() && b.is_nan())
            || a == b
            || (a - b).is_finite() && (a - b).abs() <= tolerance * (terms + a.abs().max(b.abs()))
    };
    (x.dtype(), x.shape()) == (y.dtype(), y.shape()) && x.floats().iter().zip(&y.floats()).all(equal)
}

/// How large the terms of sums are: the largest finite number of a result made of products, or that is added.
fn terms(op: &Op, graph: &Graph, results: &[Value]) -> f64 {
    let products = graph.nodes().any(|(_, n)| matches!(n.op, Op::Contract(_) | Op::Conv(_)));
    let counted = match op {
        Op::Binary(Binary { kind: BinaryKind::Add }) => results,
        _ if products => &results[..1],
        _ => return 0.0,
    };
    let finite = counted.iter().flat_map(|v| v.tensor().floats()).filter(|v| v.is_finite());
    finite.fold(0.0, |m, v| v.abs().max(m))
}

/// Applies a rule wherever it fits in random instances of a sample; gives how often, or what is wrong.
fn check(rule: &Rule, sample: &Sample) -> Result<usize, String> {
    let mut fired = 0;
    for (seed, dtype) in (0..48u64).flat_map(|seed| sample.dtypes.iter().map(move |d| (seed, *d))) {
        let Some((graph, inputs)) = instantiate(sample, dtype, &mut Random(seed), rule) else {
            continue;
        };
        let nodes: Vec<_> =
            graph.nodes().filter(|(_, n)| !matches!(n.op, Op::Constant(_))).map(|(id, _)| id).collect();
        let region = Region::new(&graph, &nodes, &Machine::default());
        let values: IndexMap<Id, ValueId> =
            graph.values().filter_map(|(v, _)| Some((region.class_of(v)?, v))).collect();
        for id in &nodes {
            let node = graph.node(*id);
            let operands: Vec<Id> = node.inputs.iter().map(|v| region.find(*v)).collect();
            let Some(new) = (rule.apply)(View(&region.egraph), &node.op, &operands) else { continue };
            let mut after = graph.clone();
            let Some(made) = instance(&mut after, &new, &values) else { continue };
            let old = node.outputs[0];
            if after.ty(made) != after.ty(old) {
                return Err(format!("{} became {}", after.ty(old), after.ty(made)));
            }
            let operands = node.inputs.iter().map(|v| (*v, "operand".into()));
            after.set_outputs(
                [(made, "new".into()), (old, "old".into())].into_iter().chain(operands).collect(),
            );
            let Ok(out) = evaluate(&after, &inputs) else { continue };
            if !close(&out[1], &out[0], rule, terms(&node.op, &graph, &out[1..])) {
                return Err(format!(
                    "seed {seed}: {:?} became {:?} in {}",
                    out[1],
                    out[0],
                    tcc_ir::text::print(&after)
                ));
            }
            fired += 1;
        }
    }
    Ok(fired)
}

fn instance(graph: &mut Graph, new: &New, values: &IndexMap<Id, ValueId>) -> Option<ValueId> {
    match new {
        New::Class(id) => values.get(id).copied(),
        New::Op(op, operands) => {
            let ids: Vec<ValueId> =
                operands.iter().map(|o| instance(graph, o, values)).collect::<Option<_>>()?;
            graph.add1(op.clone(), &ids, &Loc::default()).ok()
        }
    }
}

#[test]
fn every_rule_is_sound() {
    for rule in RULES.iter().copied().flatten() {
        let samples: Vec<&Sample> = SAMPLES.into_iter().flatten().filter(|s| s.rule == rule.name).collect();
        assert!(!samples.is_empty(), "{} has no sample", rule.name);
        for sample in samples {
            match check(rule, sample) {
                Ok(fired) => assert!(fired > 5, "{} fits {fired} times only: {}", rule.name, sample.text),
                Err(what) => panic!("{} is unsound: {what}", rule.name),
            }
        }
    }
}

#[test]
fn samples_name_rules_that_are_there() {
    for sample in SAMPLES.into_iter().flatten() {
        assert!(RULES.iter().copied().flatten().any(|r| r.name == sample.rule), "{}", sample.rule);
    }
}

/// Whether the harness finds a rule that is wrong.
fn caught(apply: fn(View, &Op, &[Id]) -> Option<New>, text: &'static str, dtypes: &'static [DType]) -> bool {
    let rule = Rule { name: "broken", numerics: Numerics::Exact, apply };
    check(&rule, &Sample { rule: "broken", dtypes, text }).is_err()
}

#[test]
fn swapped_operands_are_caught() {
    fn broken(_: View, op: &Op, ins: &[Id]) -> Option<New> {
        let Op::Binary(Binary { kind: BinaryKind::Sub }) = op else { return None };
        Some(New::op(op.clone(), [ins[1].into(), ins[0].into()]))
    }
    assert!(caught(
        broken,
        "graph @f(%x: $T[$N], %y: $T[$N]) { %0 = sub %x, %y
        return %0 }",
        &[F32, I32, U8]
    ));
}

#[test]
fn permutations_composed_in_the_wrong_order_are_caught() {
    fn broken(view: View, op: &Op, ins: &[Id]) -> Option<New> {
        let Op::Transpose(second) = op else { return None };
        view.ops(ins[0]).find_map(|(o, x)| {
            let Op::Transpose(first) = o else { return None };
            let perm = first.perm.iter().map(|a| second.perm[*a]).collect();
            Some(New::op(Transpose { perm }, [x[0].into()]))
        })
    }
    assert!(caught(
        broken,
        "graph @f(%x: $T[2, 2, 2, 2]) { %0 = transpose %x {perm = [1, 2, 3, 0]}
        %1 = transpose %0 {perm = [0, 2, 1, 3]}
        return %1 }",
        &[F32]
    ));
}

#[test]
fn a_dropped_broadcast_is_caught() {
    fn broken(_: View, op: &Op, ins: &[Id]) -> Option<New> {
        matches!(op, Op::Broadcast(_)).then(|| ins[0].into())
    }
    assert!(caught(
        broken,
        "graph @f(%x: $T[1, $M]) { %0 = broadcast %x {dims = [3, $M]}
        return %0 }",
        &[F32]
    ));
}
