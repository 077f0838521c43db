//! Elementwise functions of strings.

use super::broadcast::broadcast_to;
use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::{Tensor, Value};
use crate::types::{DType, TensorType, Type};

crate::attrs! {
    /// Two string tensors joined element by element, with multidirectional broadcasting.
    pub struct StringConcat {}
}

crate::attrs! {
    /// Whether each whole string matches `pattern`, a regular expression in RE2's syntax: bool of the input's shape.
    pub struct RegexFullMatch { pub pattern: String }
}

impl OpDef for StringConcat {
    const NAME: &'static str = "string_concat";

    fn arity(&self) -> Arity {
        Arity::exactly(2)
    }

    fn infer(&self, cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        let (a, b) = (strings(&ins[0])?, strings(&ins[1])?);
        Ok(vec![Type::tensor(DType::String, cx.broadcast_shapes(&[&a.shape, &b.shape])?)])
    }

    fn eval(&self, cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let (_, shape) = cx.out(0)?;
        let (a, b) = (broadcast_to(ins[0].tensor(), &shape), broadcast_to(ins[1].tensor(), &shape));
        let joined = a.strings().iter().zip(b.strings()).map(|(a, b)| format!("{a}{b}")).collect();
        Ok(vec![Tensor::from_strings(shape, joined).into()])
    }

    fn is_elementwise(&self) -> bool {
        true
    }
}

impl RegexFullMatch {
    fn regex(&self) -> Result<regex::Regex, Mismatch> {
        regex::Regex::new(&format!(r"\A(?:{})\z", self.pattern))
            .map_err(|e| Mismatch::new(format!("the pattern `{}` can't be used: {e}", self.pattern)))
    }
}

impl OpDef for RegexFullMatch {
    const NAME: &'static str = "regex_full_match";

    fn arity(&self) -> Arity {
        Arity::exactly(1)
    }

    fn infer(&self, _cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        let x = strings(&ins[0])?;
        self.regex()?;
        Ok(vec![Type::tensor(DType::Bool, &x.shape)])
    }

    fn eval(&self, _cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let x = ins[0].tensor();
        let regex = self.regex().map_err(|e| EvalError::new(e.0))?;
        let matches = x.strings().iter().map(|s| i128::from(regex.is_match(s)));
        Ok(vec![Tensor::from_ints(DType::Bool, x.shape().to_vec(), matches).into()])
    }

    fn is_elementwise(&self) -> bool {
        true
    }
}

/// The type of a string operand.
pub(super) fn strings<'a>(fact: &Fact<'a>) -> Result<&'a TensorType, Mismatch> {
    let t = fact.tensor()?;
    if t.dtype == DType::String { Ok(t) } else { Err(Mismatch::new(format!("expected strings, got {t}"))) }
}
