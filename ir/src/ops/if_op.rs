//! A choice between two regions.

use super::join::{fits, fresh, join, outside, single};
use crate::graph::Graph;
use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::Value;
use crate::types::{DType, Type};

crate::attrs! {
    /// Runs `then_branch` when the first input (one bool) is true, else `else_branch`. The other inputs are what the
    /// branches use from outside: both branches take all of them. Outputs of the branches agree in number and element
    /// type; extents in which they differ are known only when the node has run.
    pub struct If { pub then_branch: Graph, pub else_branch: Graph }
}

impl OpDef for If {
    const NAME: &'static str = "if";

    fn arity(&self) -> Arity {
        Arity::exactly(1 + self.then_branch.inputs().len())
    }

    fn n_outputs(&self) -> usize {
        self.then_branch.outputs().len()
    }

    fn infer(&self, cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        single(cx, &ins[0], DType::Bool, "the condition")?;
        let branches = [&self.then_branch, &self.else_branch];
        for branch in branches {
            if branch.inputs().len() + 1 != ins.len() {
                return Err(Mismatch::new("both branches must take all captured values"));
            }
            for (fact, input) in ins[1..].iter().zip(branch.inputs()) {
                fits(cx, fact.ty, branch.ty(*input), branch, "a captured value")?;
            }
        }
        let (then, other) = (self.then_branch.outputs(), self.else_branch.outputs());
        if then.len() != other.len() {
            return Err(Mismatch::new(format!(
                "the branches have {} and {} outputs",
                then.len(),
                other.len()
            )));
        }
        let mut types = Vec::with_capacity(then.len());
        for (i, (t, e)) in then.iter().zip(other).enumerate() {
            let (t, e) = (self.then_branch.ty(*t), self.else_branch.ty(*e));
            let joined = join(t, e, &mut |axis, a, b| fresh(cx, i, axis, a, b));
            let joined = joined
                .ok_or_else(|| Mismatch::new(format!("output {i} of the branches has types {t} and {e}")))?;
            types.push(outside(cx, &joined, &branches, i, 0));
        }
        Ok(types)
    }

    fn eval(&self, cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let taken = ins[0].tensor().ints().first().is_some_and(|v| *v != 0);
        cx.run(if taken { &self.then_branch } else { &self.else_branch }, &ins[1..])
    }
}
