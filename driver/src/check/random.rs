//! Models that draw random numbers: no other generator gives the same, but what was drawn must be of its distribution, and
//! all that is computed from it must be right.

use tcc_ir::graph::Graph;
use tcc_ir::ops::RandomKind;
use tcc_ir::{Op, Value};

use super::origin::{Origin, draws, with_draws};
use crate::compare::{self, Tolerance};
use crate::execute;

/// Compares the outputs of one run of `graph`, to which the numbers that it drew are appended, with those of another generator.
/// Returns what was compared instead of the values that depend on chance; `None` where none does.
///
/// # Errors
/// What differs.
pub fn compare(
    graph: &Graph,
    origins: &[Origin],
    inputs: &[Value],
    got: &[Value],
    want: &[Value],
    tolerance: &dyn Fn(usize) -> Tolerance,
) -> Result<Option<String>, String> {
    let random = |index: usize| origins.get(index).is_some_and(|origin| origin.random);
    let outputs = &got[..graph.outputs().len().min(got.len())];
    let stated = &outputs[..want.len().min(outputs.len())];
    for (index, (got, want)) in stated.iter().zip(want).enumerate() {
        let compared =
            if random(index) { same_type(got, want) } else { compare::value(got, want, tolerance(index)) };
        compared.map_err(|what| format!("output {index}: {what}"))?;
    }
    if !(0..outputs.len()).any(random) {
        return Ok(None);
    }
    let drawn = &got[outputs.len()..];
    for (node, drawn) in draws(graph).into_iter().zip(drawn) {
        if let Op::Random(op) = &graph.node(node).op {
            within(op.kind, (op.a.0, op.b.0), drawn).map_err(|what| format!("drawn numbers: {what}"))?;
        }
    }
    if drawn.is_empty() {
        return Ok(Some("values are random inside control flow: types and shapes compared".to_string()));
    }
    // With the numbers given, the reference evaluator says what must come of them.
    let replay = with_draws(graph, drawn);
    let again = execute::evaluate(&replay, inputs).map_err(|found| format!("replay: {found}"))?;
    for (index, (got, again)) in outputs.iter().zip(&again).enumerate().filter(|(index, _)| random(*index)) {
        compare::value(got, again, tolerance(index))
            .map_err(|what| format!("output {index}, replayed with the numbers drawn: {what}"))?;
    }
    Ok(Some(
        "values are random: types, shapes, range and what is computed from the draws compared".to_string(),
    ))
}

/// Compares all but elements.
fn same_type(got: &Value, want: &Value) -> Result<(), String> {
    match (got, want) {
        (Value::Tensor(got), Value::Tensor(want))
            if got.dtype() != want.dtype() || got.shape() != want.shape() =>
        {
            Err(format!("{}, expected {}", got.tensor_type(), want.tensor_type()))
        }
        (Value::Tensor(_), Value::Tensor(_))
        | (Value::Sequence(_), Value::Sequence(_))
        | (Value::Optional(_), Value::Optional(_)) => Ok(()),
        _ => Err("a value of another kind".to_string()),
    }
}

/// Whether numbers can be of their distribution: 0 or 1, inside the interval, a whole number from 0 on, finite.
fn within(kind: RandomKind, (a, b): (f64, f64), drawn: &Value) -> Result<(), String> {
    let Some(tensor) = drawn.as_tensor() else { return Err("not a tensor".to_string()) };
    let numbers: Vec<f64> = match tensor.dtype().is_float() {
        true => tensor.floats(),
        false => tensor.ints().into_iter().map(|n| n as f64).collect(),
    };
    let (low, high) = (tensor.dtype().round_float(a.min(b)), tensor.dtype().round_float(a.max(b)));
    let fits = |n: &&f64| match kind {
        RandomKind::Bernoulli => **n == 0.0 || **n == 1.0,
        RandomKind::Uniform => low <= **n && **n <= high,
        RandomKind::Multinomial => **n >= 0.0 && n.fract() == 0.0,
        RandomKind::Normal => n.is_finite(),
    };
    match numbers.iter().find(|n| !fits(n)) {
        Some(n) => Err(format!("{n} isn't {}", kind.name())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::origin::{of_outputs, with_draws_as_outputs};
    use tcc_ir::{DType, Tensor};

    /// A dropout of `x` and its mask, and `x` plus 1.
    const DROPOUT: &str = "graph @f(%x: f32[4]) {
        %p = constant {value = f32[4] [0.5, 0.5, 0.5, 0.5]}
        %mask = random %p {kind = bernoulli, dtype = bool, dims = [4], a = 0.0, b = 1.0, seed = 1}
        %two = constant {value = f32[] [2.0]}
        %scaled = mul %x, %two
        %zero = constant {value = f32[] [0.0]}
        %y = select %mask, %scaled, %zero
        %one = constant {value = f32[] [1.0]}
        %z = add %x, %one
        return %y, %mask, %z
    }";

    fn floats(elems: [f64; 4]) -> Value {
        Value::Tensor(Tensor::from_floats(DType::F32, vec![4], elems))
    }

    fn mask(elems: [i128; 4]) -> Value {
        Value::Tensor(Tensor::from_ints(DType::Bool, vec![4], elems))
    }

    fn verdict(got: [Value; 4]) -> Result<Option<String>, String> {
        let graph = tcc_ir::text::parse(DROPOUT).unwrap();
        let origins = of_outputs(&graph);
        assert_eq!(origins.iter().map(|origin| origin.random).collect::<Vec<_>>(), [true, true, false]);
        assert_eq!(with_draws_as_outputs(&graph).outputs().len(), 4);
        let want = [floats([0.0; 4]), mask([0; 4]), floats([2.0, 3.0, 4.0, 5.0])];
        let inputs = [floats([1.0, 2.0, 3.0, 4.0])];
        compare(&graph, &origins, &inputs, &got, &want, &|_| Tolerance::default())
    }

    #[test]
    fn what_follows_from_the_draws_is_compared() {
        let drawn = mask([1, 0, 1, 0]);
        let right = floats([2.0, 0.0, 6.0, 0.0]);
        let fixed = floats([2.0, 3.0, 4.0, 5.0]);
        assert!(verdict([right.clone(), drawn.clone(), fixed.clone(), drawn.clone()]).unwrap().is_some());
        let wrong = floats([1.0, 0.0, 3.0, 0.0]);
        assert!(verdict([wrong, drawn.clone(), fixed, drawn.clone()]).unwrap_err().contains("replayed"));
        let other = floats([2.0, 3.0, 4.0, 6.0]);
        assert!(
            verdict([right.clone(), drawn.clone(), other, drawn.clone()]).unwrap_err().contains("output 2")
        );
        let short = Value::Tensor(Tensor::from_floats(DType::F32, vec![1], [0.0]));
        assert!(verdict([short, drawn.clone(), right, drawn]).unwrap_err().contains("expected f32[4]"));
    }

    #[test]
    fn draws_lie_in_their_range() {
        let two = |a, b| floats([a, b, a, b]);
        assert!(within(RandomKind::Bernoulli, (0.0, 1.0), &two(0.0, 1.0)).is_ok());
        assert!(within(RandomKind::Bernoulli, (0.0, 1.0), &two(0.0, 0.5)).is_err());
        assert!(within(RandomKind::Uniform, (-1.0, 1.0), &two(-1.0, 0.5)).is_ok());
        assert!(within(RandomKind::Uniform, (-1.0, 1.0), &two(-1.5, 0.5)).is_err());
        assert!(within(RandomKind::Multinomial, (0.0, 1.0), &two(3.0, 0.5)).is_err());
        assert!(within(RandomKind::Normal, (0.0, 1.0), &two(f64::NAN, 0.5)).is_err());
    }
}
