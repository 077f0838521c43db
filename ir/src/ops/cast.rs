//! Conversion between element types.

use super::binary::fact_elems;
use super::indexing::select_by_sign;
use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::{Tensor, Value};
use crate::types::{Cmp, DType, Dim, TensorType, Type};

crate::attrs! {
    /// Each element converted to the type `to`. To float: rounds to nearest even, once; beyond the range it gives
    /// infinity or NaN as the type has them, or with `saturate` (8- and 4-bit floats only) the largest value.
    /// Float to integer: truncates, saturating, NaN to 0. Integer to integer: wraps. To bool: `!= 0`.
    /// To string: shortest plain decimal that reads back equal; `NaN`, `INF`, `-INF`; bools are `1` and `0`.
    /// From string: a decimal number, or one of the three words in any case, surrounded by space; integers wrap, a
    /// fraction is cut off.
    pub struct Cast { pub to: DType, pub saturate: bool }
}

impl OpDef for Cast {
    const NAME: &'static str = "cast";

    fn arity(&self) -> Arity {
        Arity::exactly(1)
    }

    fn infer(&self, _cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        let x = ins[0].tensor()?;
        if x.dtype != self.to && (x.dtype.is_complex() || self.to.is_complex()) {
            return Err(Mismatch::new(format!("{} can't be converted to {}", x.dtype, self.to)));
        }
        Ok(vec![Type::tensor(self.to, &x.shape)])
    }

    fn elems(&self, ins: &[Fact], _out: &TensorType) -> Option<Vec<Dim>> {
        let elems = fact_elems(&ins[0])?;
        let (zero, one) = (Dim::from(0), Dim::from(1));
        Some(match self.to {
            DType::Bool => elems.iter().map(|d| select_by_sign(Cmp::Ne, d, &one, &zero)).collect(),
            _ => elems,
        })
    }

    fn eval(&self, cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let (_, shape) = cx.out(0)?;
        Ok(vec![self.convert(ins[0].tensor(), shape)?.into()])
    }

    fn is_elementwise(&self) -> bool {
        true
    }
}

impl Cast {
    fn convert(&self, x: &Tensor, shape: Vec<usize>) -> Result<Tensor, EvalError> {
        let (from, to) = (x.dtype(), self.to);
        if from == to {
            return Ok(x.clone());
        }
        if to == DType::String {
            return Ok(Tensor::from_strings(shape, to_strings(x)));
        }
        if from == DType::String {
            return if to.is_float() {
                let elems: Vec<f64> =
                    x.strings().iter().map(|s| parse_float(s, to)).collect::<Result<_, _>>()?;
                Ok(self.floats(shape, elems))
            } else {
                let elems: Vec<i128> =
                    x.strings().iter().map(|s| parse_int(s, to)).collect::<Result<_, _>>()?;
                Ok(Tensor::from_ints(to, shape, elems))
            };
        }
        Ok(match (from.is_float(), to.is_float()) {
            (true, true) => self.floats(shape, x.floats()),
            (false, true) => self.floats(shape, x.ints().into_iter().map(|v| to.float_of_int(v)).collect()),
            (true, false) => {
                Tensor::from_ints(to, shape, x.floats().into_iter().map(|v| float_to_int(v, to)))
            }
            (false, false) => Tensor::from_ints(to, shape, x.ints()),
        })
    }

    fn floats(&self, shape: Vec<usize>, elems: Vec<f64>) -> Tensor {
        let to = self.to;
        let round = |v| if self.saturate { to.round_saturating(v) } else { v };
        Tensor::from_floats(to, shape, elems.into_iter().map(round))
    }
}

fn float_to_int(v: f64, to: DType) -> i128 {
    match to.int_range() {
        Some((lo, hi)) if to != DType::Bool => (v as i128).clamp(lo, hi),
        _ => i128::from(v != 0.0),
    }
}

fn to_strings(x: &Tensor) -> Vec<String> {
    match x.dtype() {
        DType::F64 => x.floats().into_iter().map(|v| float_text(v, v.to_string())).collect(),
        // The shortest text that tells an f32 apart does so for every narrower type.
        d if d.is_float() => x.floats().into_iter().map(|v| float_text(v, (v as f32).to_string())).collect(),
        _ => x.ints().iter().map(i128::to_string).collect(),
    }
}

fn float_text(v: f64, finite: String) -> String {
    if v.is_nan() {
        "NaN".to_string()
    } else if v.is_infinite() {
        if v > 0.0 { "INF" } else { "-INF" }.to_string()
    } else {
        finite
    }
}

fn parse_float(text: &str, to: DType) -> Result<f64, EvalError> {
    let text = text.trim();
    let parsed = if to == DType::F32 { text.parse::<f32>().map(f64::from) } else { text.parse::<f64>() };
    parsed.map_err(|_| EvalError::new(format!("`{text}` is no number")))
}

fn parse_int(text: &str, to: DType) -> Result<i128, EvalError> {
    if let Ok(v) = text.trim().parse::<i128>() {
        return Ok(v);
    }
    let v = parse_float(text, DType::F64)?;
    if !v.is_finite() {
        return Err(EvalError::new(format!("`{}` is no integer", text.trim())));
    }
    Ok(float_to_int(v, to))
}
