//! A table of labels.

use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::{Tensor, Value};
use crate::types::Type;
use std::collections::HashMap;

crate::attrs! {
    /// Each element of x looked up in `keys` and replaced by the value at the same place, or by `default` (one
    /// element) when it isn't there. Of equal keys the last counts; NaN finds NaN, and -0 finds 0. `keys` and x have
    /// one element type, `values` and `default` another.
    pub struct LabelEncoder { pub keys: Tensor, pub values: Tensor, pub default: Tensor }
}

/// An element as something to look up.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Text(String),
    Int(i128),
    /// The bits, with one NaN and one zero.
    Float(u64),
}

fn keys(t: &Tensor) -> Vec<Key> {
    if !t.strings().is_empty() {
        t.strings().iter().map(|s| Key::Text(s.clone())).collect()
    } else if t.dtype().is_float() {
        let bits = |v: f64| if v.is_nan() { f64::NAN } else { v + 0.0 }.to_bits();
        t.floats().into_iter().map(|v| Key::Float(bits(v))).collect()
    } else {
        t.ints().into_iter().map(Key::Int).collect()
    }
}

impl OpDef for LabelEncoder {
    const NAME: &'static str = "label_encoder";

    fn arity(&self) -> Arity {
        Arity::exactly(1)
    }

    fn infer(&self, _cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        let x = ins[0].tensor()?;
        if x.dtype != self.keys.dtype() || self.values.dtype() != self.default.dtype() {
            return Err(Mismatch::new(format!(
                "{x} looked up in keys of {}, giving values of {} or {}",
                self.keys.dtype(),
                self.values.dtype(),
                self.default.dtype()
            )));
        }
        let (n, m) = (self.keys.n_elements(), self.values.n_elements());
        if n != m || self.default.n_elements() != 1 {
            return Err(Mismatch::new(format!("{n} keys with {m} values")));
        }
        Ok(vec![Type::tensor(self.values.dtype(), &x.shape)])
    }

    fn eval(&self, _cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let x = ins[0].tensor();
        let n = self.values.n_elements();
        let table: HashMap<Key, usize> = keys(&self.keys).into_iter().zip(0..).collect();
        // The default stands behind the values.
        let parts = [self.values.clone(), self.default.clone()];
        let values = super::assemble::end_to_end(self.values.dtype(), vec![n + 1], &parts);
        let found = keys(x).into_iter().map(|k| table.get(&k).copied().unwrap_or(n));
        Ok(vec![values.gather_linear(x.shape().to_vec(), found.collect::<Vec<_>>()).into()])
    }

    fn is_elementwise(&self) -> bool {
        true
    }
}
