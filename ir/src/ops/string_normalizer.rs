//! Stop words and case of strings.

use super::string_ops::strings;
use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::{Tensor, Value};
use crate::types::{Cmp, DType, Dim, Type};

crate::attr_enum! {
    /// What happens to upper and lower case.
    pub enum CaseChange {
        None = "none",
        Lower = "lower",
        Upper = "upper",
    }
}

crate::attrs! {
    /// The strings of x, [n] or [1, n], without those that equal a stop word (letter case matters only if
    /// `case_sensitive`), then changed in case by Unicode's rules whatever the locale. When nothing is left: one
    /// empty string.
    pub struct StringNormalizer { pub case: CaseChange, pub case_sensitive: bool, pub stopwords: Vec<String> }
}

impl OpDef for StringNormalizer {
    const NAME: &'static str = "string_normalizer";

    fn arity(&self) -> Arity {
        Arity::exactly(1)
    }

    fn infer(&self, cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        let x = strings(&ins[0])?;
        if !(1..=2).contains(&x.rank()) {
            return Err(Mismatch::new(format!("expected strings [n] or [1, n], got {x}")));
        }
        let axis = x.rank() - 1;
        if axis == 1 {
            cx.require(Cmp::Eq, &x.shape[0], &Dim::from(1), "strings of two axes should be [1, n]")?;
        }
        let mut shape = x.shape.clone();
        shape[axis] = cx.fresh_dim(0, axis, 1, x.shape[axis].upper().map(|n| n.max(1)));
        if axis == 1 {
            shape[0] = Dim::from(1);
        }
        Ok(vec![Type::tensor(DType::String, shape)])
    }

    fn eval(&self, _cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let x = ins[0].tensor();
        let fold = |s: &String| if self.case_sensitive { s.clone() } else { s.to_lowercase() };
        let stops: Vec<String> = self.stopwords.iter().map(fold).collect();
        let mut kept: Vec<String> = x
            .strings()
            .iter()
            .filter(|s| !stops.contains(&fold(s)))
            .map(|s| match self.case {
                CaseChange::None => s.clone(),
                CaseChange::Lower => s.to_lowercase(),
                CaseChange::Upper => s.to_uppercase(),
            })
            .collect();
        if kept.is_empty() {
            kept.push(String::new());
        }
        let mut shape = vec![1; x.rank()];
        shape[x.rank() - 1] = kept.len();
        Ok(vec![Tensor::from_strings(shape, kept).into()])
    }
}
