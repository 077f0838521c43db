//! Numbers from strings and strings from numbers.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::number::{floats, store_floats, store_integers};
use super::{Builtin, Routine, integers};
use crate::executor::{Call, Outcome};
use crate::package::DType;

/// ONNX Cast from strings to the result's type: integers, or floats in plain, scientific, `INF` or `NaN` notation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StringToNumber {}

/// ONNX Cast to strings: the shortest text that reads back as the same number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NumberToString {}

impl Builtin for StringToNumber {
    const NAME: &'static str = "string_to_number";
    const INPUTS: RangeInclusive<usize> = 1..=1;
    const OUTPUTS: RangeInclusive<usize> = 1..=1;
}

impl Builtin for NumberToString {
    const NAME: &'static str = "number_to_string";
    const INPUTS: RangeInclusive<usize> = 1..=1;
    const OUTPUTS: RangeInclusive<usize> = 1..=1;
}

fn is_float(dtype: DType) -> bool {
    matches!(dtype, DType::F64 | DType::F32 | DType::F16 | DType::BF16)
}

impl Routine for StringToNumber {
    fn run(&self, call: &mut Call<'_>) -> Outcome {
        let (shape, strings) = call.strings(0)?;
        let Some(dtype) = call.output_dtype(0) else { return Ok(()) };
        let fail = |text: &String| format!("\"{text}\" isn't a number of type {dtype}");
        if is_float(dtype) || dtype == DType::Bool {
            let numbers = strings
                .iter()
                .map(|text| text.trim().parse::<f64>().map_err(|_| fail(text).into()))
                .collect::<Outcome<Vec<f64>>>()?;
            return store_floats(dtype, call.output(0, dtype, shape)?, numbers.into_iter());
        }
        let numbers = strings
            .iter()
            .map(|text| text.trim().parse::<i64>().map_err(|_| fail(text).into()))
            .collect::<Outcome<Vec<i64>>>()?;
        store_integers(dtype, call.output(0, dtype, shape)?, numbers.into_iter())
    }
}

impl Routine for NumberToString {
    fn run(&self, call: &mut Call<'_>) -> Outcome {
        let input = call.tensor(0)?;
        let texts = match input.dtype {
            // The shortest text of a float depends on its width.
            DType::F32 | DType::F16 | DType::BF16 => {
                floats(&input)?.map(|x| float_text(&(x as f32).to_string(), x)).collect()
            }
            DType::F64 => floats(&input)?.map(|x| float_text(&x.to_string(), x)).collect(),
            DType::U64 => {
                let number = |b: &[u8]| u64::from_ne_bytes(super::number::array(b)).to_string();
                input.bytes.chunks_exact(8).map(number).collect()
            }
            DType::Bool => integers(&input)?.map(|x| if x != 0 { "True" } else { "False" }.into()).collect(),
            _ => integers(&input)?.map(|x| x.to_string()).collect(),
        };
        call.set_strings(0, input.shape, texts)
    }
}

/// Whole numbers keep a decimal point away; infinities and NaN are spelled as ONNX does.
fn float_text(shortest: &str, x: f64) -> String {
    match x {
        x if x.is_nan() => "NaN".into(),
        f64::INFINITY => "INF".into(),
        f64::NEG_INFINITY => "-INF".into(),
        _ => shortest.into(),
    }
}
