//! The reference evaluator: runs a graph node by node with each operator's own definition. Slow and plain; what it
//! computes is right by definition, and everything else is tested against it.

use crate::diag::Loc;
use crate::graph::{Graph, SymbolSource, ValueId};
use crate::op::{EvalCx, EvalError};
use crate::tensor::Value;
use crate::types::{Symbol, Type};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// An evaluation that failed, and the node that it failed in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    pub loc: Loc,
    pub op: &'static str,
    pub error: EvalError,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.op, self.error)?;
        if self.loc.sources().is_empty() { Ok(()) } else { write!(f, " (node {})", self.loc) }
    }
}

impl std::error::Error for Failure {}

/// Evaluates a graph on concrete inputs.
///
/// # Errors
/// Inputs that don't fit the graph, a failed check, or a value that an operator forbids.
pub fn evaluate(graph: &Graph, inputs: &[Value]) -> Result<Vec<Value>, Failure> {
    evaluate_watched(graph, inputs, &mut |_, _| {})
}

/// As [`evaluate`]; `watch` sees every value of the outermost graph as it is computed.
pub fn evaluate_watched(
    graph: &Graph,
    inputs: &[Value],
    watch: &mut dyn FnMut(ValueId, &Value),
) -> Result<Vec<Value>, Failure> {
    Evaluator::default().graph(graph, inputs, watch)
}

#[derive(Default)]
struct Evaluator {
    /// Values of symbols, of this graph and the enclosing ones. Names are unique among nested graphs; a region's
    /// are overwritten each time it runs.
    symbols: RefCell<HashMap<Arc<str>, i64>>,
}

impl Evaluator {
    fn lookup(&self, s: &Symbol) -> Option<i64> {
        self.symbols.borrow().get(&s.name).copied()
    }

    fn graph(
        &self,
        graph: &Graph,
        inputs: &[Value],
        watch: &mut dyn FnMut(ValueId, &Value),
    ) -> Result<Vec<Value>, Failure> {
        let fail = |what: String| Failure { loc: Loc::default(), op: "graph", error: EvalError::new(what) };
        if inputs.len() != graph.inputs().len() {
            return Err(fail(format!("{} inputs given, {} expected", inputs.len(), graph.inputs().len())));
        }
        let mut values: HashMap<ValueId, Value> = HashMap::new();
        for (id, v) in graph.inputs().iter().zip(inputs) {
            if !v.matches(graph.ty(*id)) {
                let name = graph.value(*id).name.clone().unwrap_or_default();
                return Err(fail(format!("input `{name}` should be {}", graph.ty(*id))));
            }
            values.insert(*id, v.clone());
        }
        for (symbol, source) in graph.symbols() {
            if let SymbolSource::Input { input, axis } = source
                && let Value::Tensor(t) = &inputs[*input]
            {
                let v = t.shape()[*axis] as i64;
                if v < symbol.lo || symbol.hi.is_some_and(|hi| v > hi) {
                    let name = graph.value(graph.inputs()[*input]).name.clone().unwrap_or_default();
                    return Err(fail(format!("input `{name}`: {} = {v} is out of its bounds", symbol.name)));
                }
                self.symbols.borrow_mut().insert(symbol.name.clone(), v);
            }
        }
        for id in graph.inputs() {
            self.check_shape(graph, *id, &values[id]).map_err(fail)?;
            self.bind(graph, *id, &values[id]);
            watch(*id, &values[id]);
        }
        // Values are dropped after their last use, so that large graphs fit.
        let mut left = graph.use_counts();
        for (_, node) in graph.nodes() {
            let failure = |error: EvalError| Failure { loc: node.loc.clone(), op: node.op.name(), error };
            for c in &node.checks {
                let lookup = |s: &Symbol| self.lookup(s);
                let (a, b) = (c.a.eval(&lookup), c.b.eval(&lookup));
                let (a, b) = (a.map_err(|e| failure(e.into()))?, b.map_err(|e| failure(e.into()))?);
                if !c.cmp.holds(a, b) {
                    return Err(failure(EvalError::new(format!("{}: {a} against {b}", c.message))));
                }
            }
            let ins: Vec<Value> = node.inputs.iter().map(|v| values[v].clone()).collect();
            let types: Vec<Type> = node.outputs.iter().map(|v| graph.ty(*v).clone()).collect();
            let lookup = |s: &Symbol| self.lookup(s);
            let run = |g: &Graph, ins: &[Value]| {
                self.graph(g, ins, &mut |_, _| {}).map_err(|f| EvalError::new(f.to_string()))
            };
            let outs = node.op.eval(&EvalCx::new(&lookup, &types, &run), &ins).map_err(failure)?;
            for v in &node.inputs {
                let count = &mut left[v.0 as usize];
                *count -= 1;
                if *count == 0 {
                    values.remove(v);
                }
            }
            for (id, v) in node.outputs.iter().zip(outs) {
                self.bind(graph, *id, &v);
                watch(*id, &v);
                values.insert(*id, v);
            }
        }
        Ok(graph.outputs().iter().map(|v| values[v].clone()).collect())
    }

    /// Gives the symbols that a value defines their meaning.
    fn bind(&self, graph: &Graph, id: ValueId, value: &Value) {
        let Value::Tensor(t) = value else { return };
        for (symbol, source) in graph.symbols() {
            let v = match source {
                SymbolSource::Axis { value, axis } if *value == id => t.shape()[*axis] as i64,
                SymbolSource::Elem { value, index } if *value == id => {
                    i64::try_from(t.ints()[*index]).unwrap_or(i64::MAX)
                }
                _ => continue,
            };
            self.symbols.borrow_mut().insert(symbol.name.clone(), v);
        }
    }

    /// An input's extents must be those that its type says.
    fn check_shape(&self, graph: &Graph, id: ValueId, value: &Value) -> Result<(), String> {
        let (Value::Tensor(t), Type::Tensor(ty)) = (value, graph.ty(id)) else { return Ok(()) };
        for (axis, (d, have)) in ty.shape.iter().zip(t.shape()).enumerate() {
            let want = d.eval(&|s| self.lookup(s)).map_err(|e| e.to_string())?;
            if want != *have as i64 {
                let name = graph.value(id).name.clone().unwrap_or_default();
                return Err(format!("input `{name}` has {have} at axis {axis}, should have {d} = {want}"));
            }
        }
        Ok(())
    }
}
