//! What an operator is: the trait behind every entry of the operator table. Knows no operator by name.

use crate::attr::Attrs;
use crate::graph::{Check, Graph, SymbolSource, ValueId};
use crate::tensor::{Tensor, Value};
use crate::types::{Cmp, DType, Dim, DimError, Shape, Symbol, TensorType, Type};
use std::fmt;

/// One operator: everything that tcc knows of it except how targets run it.
pub trait OpDef: Attrs {
    /// Name in the text form, in docs and in file stems.
    const NAME: &'static str;

    /// How many inputs it takes.
    fn arity(&self) -> Arity;

    fn n_outputs(&self) -> usize {
        1
    }

    /// Output types from the inputs' facts, with every rule of the operator checked.
    ///
    /// Sizes that can't be proved equal become run-time checks through `cx`.
    fn infer(&self, cx: &mut InferCx, ins: &[Fact]) -> Result<Vec<Type>, Mismatch>;

    /// The elements of the first output as symbolic integers, where they follow from those of the inputs: exact, not
    /// wrapped to the element type.
    /// Called for small integer outputs of static shape only.
    fn elems(&self, _ins: &[Fact], _out: &TensorType) -> Option<Vec<Dim>> {
        None
    }

    /// Reference evaluation: wide accumulation, plain loops. Inputs have the types that `infer` accepted.
    fn eval(&self, cx: &EvalCx, ins: &[Value]) -> Result<Vec<Value>, EvalError>;

    /// Elementwise operators compute each output element from the elements at the same (broadcast) place.
    fn is_elementwise(&self) -> bool {
        false
    }

    /// Whether two evaluations on equal inputs may differ (random numbers): never folded, never merged.
    fn is_random(&self) -> bool {
        false
    }
}

/// Number of inputs that an operator takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arity {
    pub min: usize,
    pub max: usize,
}

impl Arity {
    pub const fn exactly(n: usize) -> Arity {
        Arity { min: n, max: n }
    }

    pub const fn at_least(n: usize) -> Arity {
        Arity { min: n, max: usize::MAX }
    }

    pub const fn between(min: usize, max: usize) -> Arity {
        Arity { min, max }
    }

    pub fn admits(self, n: usize) -> bool {
        (self.min..=self.max).contains(&n)
    }
}

impl fmt::Display for Arity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.min, self.max) {
            (min, max) if min == max => write!(f, "{min}"),
            (min, usize::MAX) => write!(f, "{min} or more"),
            (min, max) => write!(f, "{min} to {max}"),
        }
    }
}

/// What inference knows of an input.
#[derive(Clone, Copy, Debug)]
pub struct Fact<'a> {
    pub ty: &'a Type,
    /// Symbolic elements of a small integer tensor.
    pub elems: Option<&'a [Dim]>,
    /// The value, when it is a constant.
    pub constant: Option<&'a Tensor>,
}

impl<'a> Fact<'a> {
    pub fn tensor(&self) -> Result<&'a TensorType, Mismatch> {
        self.ty.as_tensor().ok_or_else(|| Mismatch::new(format!("expected a tensor, got {}", self.ty)))
    }
}

/// Operands that don't fit an operator: what is wrong, in terms of the operator.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Mismatch(pub String);

impl Mismatch {
    pub fn new(message: impl Into<String>) -> Self {
        Mismatch(message.into())
    }
}

/// Collects what inference of one node finds besides types: new symbols and run-time checks.
#[derive(Debug)]
pub struct InferCx<'a> {
    /// Prefix of the graph's symbol names, and the id that the node's first output will have.
    prefix: String,
    first_output: ValueId,
    /// Symbols whose names can't be given again.
    taken: &'a [(Symbol, SymbolSource)],
    pub(crate) symbols: Vec<(Symbol, SymbolSource)>,
    pub(crate) checks: Vec<Check>,
}

impl<'a> InferCx<'a> {
    pub fn new(prefix: &str, first_output: ValueId) -> Self {
        InferCx {
            prefix: prefix.to_string(),
            first_output,
            taken: &[],
            symbols: Vec::new(),
            checks: Vec::new(),
        }
    }

    /// New symbols get names that `taken` doesn't have: ids are numbered anew when a graph is read from text.
    pub fn avoiding(self, taken: &'a [(Symbol, SymbolSource)]) -> Self {
        InferCx { taken, ..self }
    }

    /// Whether inference has asked for nothing but types: no symbol, no run-time check.
    pub fn is_settled(&self) -> bool {
        self.symbols.is_empty() && self.checks.is_empty()
    }

    /// A symbol for the extent of `axis` of the node's `output`: known only when the node has run.
    pub fn fresh_dim(&mut self, output: usize, axis: usize, lo: i64, hi: Option<i64>) -> Dim {
        let value = ValueId(self.first_output.0 + output as u32);
        let name = format!("{}v{}d{axis}", self.prefix, value.0);
        let symbol = Symbol::bounded(crate::graph::fresh_name(self.taken, name), lo, hi);
        self.symbols.push((symbol.clone(), SymbolSource::Axis { value, axis }));
        Dim::symbol(symbol)
    }

    /// Requires `cmp(a, b)`: an error when it can't hold, a run-time check when that isn't known.
    pub fn require(&mut self, cmp: Cmp, a: &Dim, b: &Dim, what: &str) -> Result<(), Mismatch> {
        match Dim::compare(cmp, a, b) {
            Some(true) => Ok(()),
            Some(false) => Err(Mismatch::new(format!("{what}: {a} {} {b} doesn't hold", sign(cmp)))),
            None => {
                self.check(cmp, a, b, what);
                Ok(())
            }
        }
    }

    /// Checks `cmp(a, b)` when the node runs, unless it always holds: for what is wrong only where a node is reached.
    pub fn check(&mut self, cmp: Cmp, a: &Dim, b: &Dim, what: &str) {
        let check = Check { cmp, a: a.clone(), b: b.clone(), message: what.to_string() };
        if Dim::compare(cmp, a, b) != Some(true) && !self.checks.contains(&check) {
            self.checks.push(check);
        }
    }

    /// Two extents that must be equal; returns the simpler one.
    pub fn same(&mut self, a: &Dim, b: &Dim, what: &str) -> Result<Dim, Mismatch> {
        self.require(Cmp::Eq, a, b, what)?;
        Ok(if b.as_const().is_some() { b.clone() } else { a.clone() })
    }

    /// Two shapes that must be equal.
    pub fn same_shape(&mut self, a: &[Dim], b: &[Dim], what: &str) -> Result<Shape, Mismatch> {
        if a.len() != b.len() {
            return Err(Mismatch::new(format!("{what}: ranks {} and {} differ", a.len(), b.len())));
        }
        a.iter().zip(b).map(|(x, y)| self.same(x, y, what)).collect()
    }

    /// Extent of two broadcast operands along one axis (ONNX multidirectional broadcasting: equal, or one is 1).
    pub fn broadcast_dim(&mut self, a: &Dim, b: &Dim) -> Result<Dim, Mismatch> {
        if a == b || b.is_const(1) {
            return Ok(a.clone());
        }
        if a.is_const(1) {
            return Ok(b.clone());
        }
        let what = "operands don't broadcast";
        match (a.as_const(), b.as_const()) {
            (Some(x), Some(y)) => Err(Mismatch::new(format!("{what}: {x} and {y}"))),
            (Some(_), None) => self.broadcast_to(b, a),
            (None, Some(_)) => self.broadcast_to(a, b),
            (None, None) => {
                // The result is a where b is 1, else b; where neither is 1 they must be equal.
                let one = Dim::from(1);
                let out = Dim::select(Cmp::Eq, b, &one, a, b);
                let other = Dim::select(Cmp::Eq, a, &one, &out, a);
                self.require(Cmp::Eq, &other, &out, what)?;
                Ok(out)
            }
        }
    }

    /// `from` (not provably 1) must be 1 or `to`, a constant that isn't 1.
    fn broadcast_to(&mut self, from: &Dim, to: &Dim) -> Result<Dim, Mismatch> {
        let one = Dim::from(1);
        let widened = Dim::select(Cmp::Eq, from, &one, to, from);
        self.require(Cmp::Eq, &widened, to, "operands don't broadcast")?;
        Ok(to.clone())
    }

    /// Shape of operands broadcast together, aligned at their last axes.
    pub fn broadcast_shapes(&mut self, shapes: &[&[Dim]]) -> Result<Shape, Mismatch> {
        let rank = shapes.iter().map(|s| s.len()).max().unwrap_or(0);
        let mut out: Shape = vec![Dim::from(1); rank];
        for shape in shapes {
            let lead = rank - shape.len();
            for (slot, d) in out[lead..].iter_mut().zip(shape.iter()) {
                *slot = self.broadcast_dim(&slot.clone(), d)?;
            }
        }
        Ok(out)
    }
}

fn sign(cmp: Cmp) -> &'static str {
    match cmp {
        Cmp::Eq => "=",
        Cmp::Ne => "!=",
        Cmp::Lt => "<",
        Cmp::Le => "<=",
        Cmp::Gt => ">",
        Cmp::Ge => ">=",
    }
}

/// What evaluation of a node may ask for.
pub struct EvalCx<'a> {
    pub(crate) dims: &'a dyn Fn(&Symbol) -> Option<i64>,
    /// Types of the node's outputs.
    pub out_types: &'a [Type],
    pub(crate) run: &'a dyn Fn(&Graph, &[Value]) -> Result<Vec<Value>, EvalError>,
}

impl<'a> EvalCx<'a> {
    /// A context for evaluating one operator alone.
    pub fn new(
        dims: &'a dyn Fn(&Symbol) -> Option<i64>,
        out_types: &'a [Type],
        run: &'a dyn Fn(&Graph, &[Value]) -> Result<Vec<Value>, EvalError>,
    ) -> Self {
        EvalCx { dims, out_types, run }
    }

    pub fn dim(&self, d: &Dim) -> Result<i64, EvalError> {
        Ok(d.eval(self.dims)?)
    }

    /// An extent: not negative.
    pub fn extent(&self, d: &Dim) -> Result<usize, EvalError> {
        let v = self.dim(d)?;
        usize::try_from(v).map_err(|_| EvalError::new(format!("size {d} is negative: {v}")))
    }

    pub fn shape(&self, shape: &[Dim]) -> Result<Vec<usize>, EvalError> {
        let shape: Vec<usize> = shape.iter().map(|d| self.extent(d)).collect::<Result<_, _>>()?;
        match crate::tensor::n_elements(&shape) {
            Some(n) if n <= MAX_ELEMENTS => Ok(shape),
            _ => Err(EvalError::new(format!("a tensor of shape {shape:?} is too large"))),
        }
    }

    /// Element type and concrete shape of output `i`.
    pub fn out(&self, i: usize) -> Result<(DType, Vec<usize>), EvalError> {
        match &self.out_types[i] {
            Type::Tensor(t) => Ok((t.dtype, self.shape(&t.shape)?)),
            other => Err(EvalError::new(format!("output {i} is no tensor: {other}"))),
        }
    }

    /// Evaluates a region.
    pub fn run(&self, graph: &Graph, inputs: &[Value]) -> Result<Vec<Value>, EvalError> {
        (self.run)(graph, inputs)
    }
}

/// Elements beyond which the evaluator refuses to make a tensor.
pub const MAX_ELEMENTS: usize = 1 << 31;

/// A value met at run time that the operator forbids.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct EvalError(pub String);

impl EvalError {
    pub fn new(message: impl Into<String>) -> Self {
        EvalError(message.into())
    }
}

impl From<DimError> for EvalError {
    fn from(e: DimError) -> Self {
        EvalError(e.to_string())
    }
}
