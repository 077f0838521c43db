//! Maps labels to labels by a table.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::number::{floats, store_floats, store_integers};
use super::{Builtin, Routine, integers};
use crate::executor::{Call, Outcome};
use crate::object::Tensor;

/// A list of labels of one type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Labels {
    Strings(Vec<String>),
    Integers(Vec<i64>),
    Floats(Vec<f64>),
}

/// ONNX-ML LabelEncoder. Argument: a tensor of keys. Result: for each the value beside the equal key, else the default.
/// NaN equals NaN. `default` has one element, of the values' type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LabelEncoder {
    pub keys: Labels,
    pub values: Labels,
    pub default: Labels,
}

impl Builtin for LabelEncoder {
    const NAME: &'static str = "label_encoder";
    const INPUTS: RangeInclusive<usize> = 1..=1;
    const OUTPUTS: RangeInclusive<usize> = 1..=1;
}

impl Routine for LabelEncoder {
    fn run(&self, call: &mut Call<'_>) -> Outcome {
        let shape = match call.object(0) {
            Some(_) => call.strings(0)?.0,
            None => call.tensor(0)?.shape,
        };
        let rows = match &self.keys {
            Labels::Strings(keys) => look_up(keys.iter(), call.strings(0)?.1.iter()),
            Labels::Integers(keys) => look_up(keys.iter().copied(), integers(&call.tensor(0)?)?),
            Labels::Floats(keys) => {
                look_up(keys.iter().map(|&key| float_key(key)), floats(&call.tensor(0)?)?.map(float_key))
            }
        };
        let Some(dtype) = call.output_dtype(0) else { return Ok(()) };
        match (&self.values, &self.default) {
            (Labels::Strings(values), Labels::Strings(default)) => {
                let labels =
                    rows.iter().map(|&row| choose(row, values, default).cloned()).collect::<Outcome<_>>()?;
                call.set(0, crate::object::Object::Tensor(Tensor::strings(shape.to_vec(), labels)))
            }
            (Labels::Integers(values), Labels::Integers(default)) => {
                let labels: Vec<i64> =
                    rows.iter().map(|&row| choose(row, values, default).copied()).collect::<Outcome<_>>()?;
                store_integers(dtype, call.output(0, dtype, shape)?, labels.into_iter())
            }
            (Labels::Floats(values), Labels::Floats(default)) => {
                let labels: Vec<f64> =
                    rows.iter().map(|&row| choose(row, values, default).copied()).collect::<Outcome<_>>()?;
                store_floats(dtype, call.output(0, dtype, shape)?, labels.into_iter())
            }
            _ => Err("the default isn't of the values' type".into()),
        }
    }
}

/// The position of each element among the keys; of equal keys the first counts.
fn look_up<K: Ord>(keys: impl Iterator<Item = K>, elements: impl Iterator<Item = K>) -> Vec<Option<usize>> {
    let mut table = BTreeMap::new();
    for (at, key) in keys.enumerate() {
        table.entry(key).or_insert(at);
    }
    elements.map(|element| table.get(&element).copied()).collect()
}

/// Equal for equal numbers, for both zeros, and for all NaN.
fn float_key(x: f64) -> u64 {
    match x {
        x if x.is_nan() => f64::NAN.to_bits(),
        0.0 => 0,
        x => x.to_bits(),
    }
}

fn choose<'a, T>(row: Option<usize>, values: &'a [T], default: &'a [T]) -> Outcome<&'a T> {
    match row {
        Some(at) => values.get(at).ok_or_else(|| "there are fewer values than keys".into()),
        None => default.first().ok_or_else(|| "there is no default value".into()),
    }
}
