//! Repetition of a region.

use super::assemble::end_to_end;
use super::binary::fact_elems;
use super::join::{fits, is_a, is_local, outside, single};
use crate::graph::{Graph, SymbolSource};
use crate::op::{Arity, EvalCx, EvalError, Fact, InferCx, Mismatch, OpDef};
use crate::tensor::{Tensor, Value, n_elements};
use crate::types::{Cmp, DType, Dim, Type};

crate::attrs! {
    /// Runs `body` again and again. Inputs: the trip count (one i64) if `has_trip`, the first condition (one bool) if
    /// `has_cond`, `n_carried` values, then what the body uses from outside. Inputs of the body: the iteration's
    /// number (i64), the condition (bool), the carried values, the captures. Outputs of the body: the next condition,
    /// the carried values, and elements to stack. The loop ends after the trip count or, with `has_cond`, when the
    /// condition is false; without `has_cond` conditions are ignored. Outputs: the carried values at the end, then
    /// for each element its values of all iterations stacked along a new first axis. Carried values keep their type;
    /// extents that change must be symbols of the body's own.
    pub struct Loop { pub body: Graph, pub n_carried: usize, pub has_trip: bool, pub has_cond: bool }
}

impl Loop {
    fn n_controls(&self) -> usize {
        usize::from(self.has_trip) + usize::from(self.has_cond)
    }

    /// The types at the border of the body must be what the loop passes.
    fn check_body(&self, cx: &mut InferCx, ins: &[Fact]) -> Result<(), Mismatch> {
        let body = &self.body;
        if body.inputs().len() < 2 + self.n_carried || body.outputs().len() < 1 + self.n_carried {
            return Err(Mismatch::new(format!(
                "a body with {} inputs and {} outputs can't carry {} values",
                body.inputs().len(),
                body.outputs().len(),
                self.n_carried
            )));
        }
        for (input, dtype) in body.inputs().iter().zip([DType::I64, DType::Bool]) {
            if *body.ty(*input) != Type::tensor(dtype, Vec::<Dim>::new()) {
                return Err(Mismatch::new("a body starts with iteration (i64) and condition (bool)"));
            }
        }
        let cond = body.tensor_type(body.outputs()[0])?;
        if cond.dtype != DType::Bool || !cond.n_elements().is_const(1) {
            return Err(Mismatch::new(format!("the body's first output should be one bool, is {cond}")));
        }
        for (fact, input) in ins[self.n_controls()..].iter().zip(&body.inputs()[2..]) {
            fits(cx, fact.ty, body.ty(*input), body, "a value that enters the loop")?;
        }
        (0..self.n_carried).try_for_each(|i| self.check_carried(i))
    }

    /// The value carried out of an iteration must have the type of the next iteration's input.
    fn check_carried(&self, i: usize) -> Result<(), Mismatch> {
        let body = &self.body;
        let (given, want) = (body.ty(body.outputs()[1 + i]), body.ty(body.inputs()[2 + i]));
        let stays = match (given, want) {
            (Type::Tensor(g), Type::Tensor(w)) => {
                g.dtype == w.dtype
                    && g.rank() == w.rank()
                    && g.shape
                        .iter()
                        .zip(&w.shape)
                        .enumerate()
                        .all(|(axis, (x, y))| self.settles(i, axis, x, y))
            }
            _ => is_a(given, want, body),
        };
        if stays {
            return Ok(());
        }
        Err(Mismatch::new(format!("carried value {i} enters the body as {want} and leaves it as {given}")))
    }

    /// Whether extent `given` of carried value `i` is right for the next iteration, which takes `want`.
    fn settles(&self, i: usize, axis: usize, given: &Dim, want: &Dim) -> bool {
        if Dim::compare(Cmp::Eq, given, want) == Some(true) && !is_local(want, &self.body) {
            return true;
        }
        match want.as_symbol().and_then(|s| self.body.symbol_source(s)) {
            Some(SymbolSource::Input { input, axis: at }) if input == 2 + i && at == axis => true,
            // Named by another carried value: both must change in step.
            Some(SymbolSource::Input { input, axis: at }) if (2..2 + self.n_carried).contains(&input) => {
                let source = self.body.ty(self.body.outputs()[input - 1]).as_tensor();
                source.and_then(|t| t.shape.get(at)) == Some(given)
            }
            _ => given == want,
        }
    }

    /// The number of iterations, when no condition can end the loop early.
    fn trip_count(&self, ins: &[Fact]) -> Option<Dim> {
        let trip = fact_elems(ins.first().filter(|_| self.has_trip)?)?.into_iter().next()?;
        let body = &self.body;
        let next = *body.outputs().first()?;
        let always = |elems: Option<Vec<Dim>>| elems.is_some_and(|e| e.len() == 1 && e[0].is_const(1));
        let unconditional = !self.has_cond
            || (always(fact_elems(&ins[1]))
                && (body.inputs().get(1) == Some(&next) || always(fact_elems(&body.fact(next)))));
        unconditional.then(|| trip.maximum(&Dim::from(0)))
    }
}

impl OpDef for Loop {
    const NAME: &'static str = "loop";

    fn arity(&self) -> Arity {
        Arity::exactly(self.n_controls() + self.body.inputs().len().saturating_sub(2))
    }

    fn n_outputs(&self) -> usize {
        self.body.outputs().len().saturating_sub(1)
    }

    fn infer(&self, cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch> {
        if self.n_controls() == 0 {
            return Err(Mismatch::new("a loop without trip count and condition never ends"));
        }
        if self.has_trip {
            single(cx, &ins[0], DType::I64, "the trip count")?;
        }
        if self.has_cond {
            single(cx, &ins[self.n_controls() - 1], DType::Bool, "the condition")?;
        }
        self.check_body(cx, ins)?;
        let body = &self.body;
        let mut types: Vec<Type> =
            (0..self.n_carried).map(|i| outside(cx, body.ty(body.inputs()[2 + i]), &[body], i, 0)).collect();
        let mut count = self.trip_count(ins);
        for output in self.n_carried..self.n_outputs() {
            let element = body.ty(body.outputs()[1 + output]);
            if element.as_tensor().is_none() {
                return Err(Mismatch::new(format!("{element} can't be stacked")));
            }
            let count = count.get_or_insert_with(|| cx.fresh_dim(output, 0, 0, None)).clone();
            let mut stacked = outside(cx, element, &[body], output, 1);
            if let Type::Tensor(t) = &mut stacked {
                t.shape.insert(0, count);
            }
            types.push(stacked);
        }
        Ok(types)
    }

    fn eval(&self, cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError> {
        let (controls, rest) = ins.split_at(self.n_controls());
        let (carried, captures) = rest.split_at(self.n_carried);
        let first = |t: &Tensor| t.ints().first().copied().unwrap_or(0);
        let trip = if self.has_trip { Some(first(controls[0].tensor())) } else { None };
        let mut cond = !self.has_cond || first(controls[self.n_controls() - 1].tensor()) != 0;
        let mut carried = carried.to_vec();
        let mut scans: Vec<Vec<Tensor>> = vec![Vec::new(); self.n_outputs() - self.n_carried];
        let mut iteration = 0i128;
        while cond && trip.is_none_or(|n| iteration < n) {
            let mut given = vec![
                Value::Tensor(Tensor::scalar_int(DType::I64, iteration)),
                Value::Tensor(Tensor::scalar_int(DType::Bool, 1)),
            ];
            given.append(&mut carried);
            given.extend_from_slice(captures);
            let mut outs = cx.run(&self.body, &given)?.into_iter();
            let next = outs.next().ok_or_else(|| EvalError::new("the body has no output"))?;
            cond = !self.has_cond || first(next.tensor()) != 0;
            carried = outs.by_ref().take(self.n_carried).collect();
            scans.iter_mut().zip(outs).for_each(|(s, v)| s.push(v.tensor().clone()));
            iteration += 1;
        }
        for (i, parts) in scans.iter().enumerate() {
            carried.push(stack(cx, self.n_carried + i, parts)?.into());
        }
        Ok(carried)
    }
}

/// The elements of all iterations along a new first axis.
fn stack(cx: &EvalCx, output: usize, parts: &[Tensor]) -> Result<Tensor, EvalError> {
    let Some(first) = parts.first() else {
        let Some(t) = cx.out_types[output].as_tensor() else {
            return Err(EvalError::new("a stacked value is no tensor"));
        };
        // No iteration says how large an element is: extents that don't follow from outside are 0.
        let inner = t.shape[1..].iter().map(|d| cx.extent(d).unwrap_or(0));
        return Ok(end_to_end(t.dtype, std::iter::once(0).chain(inner).collect(), &[]));
    };
    if let Some(odd) = parts.iter().find(|p| p.shape() != first.shape()) {
        let shapes = format!("{:?} and {:?}", first.shape(), odd.shape());
        return Err(EvalError::new(format!("iterations give elements of different shapes: {shapes}")));
    }
    let shape: Vec<usize> = std::iter::once(parts.len()).chain(first.shape().iter().copied()).collect();
    if n_elements(&shape).is_none_or(|n| n > crate::op::MAX_ELEMENTS) {
        return Err(EvalError::new(format!("a tensor of shape {shape:?} is too large")));
    }
    Ok(end_to_end(first.dtype(), shape, parts))
}
