//! Random graphs with inputs, for tests: whatever is done to a graph, it must go on computing the same.

use tcc_ir::ops::{
    Binary, BinaryKind, Bitcast, Broadcast, Cast, Compare, Concat, Constant, Gather, Iota, Pad, PadMode,
    Reshape, Select, Sizes, Slice, Transpose, Unary, UnaryKind,
};
use tcc_ir::{Cmp, DType, Dim, Graph, Loc, Op, Shape, Symbol, Tensor, Type, Value, ValueId};

/// A graph and inputs to run it on.
#[derive(Clone, Debug)]
pub struct Case {
    pub graph: Graph,
    pub inputs: Vec<Value>,
}

/// Bits from a seed (SplitMix64).
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `n`, which isn't 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }

    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    pub fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    /// A tensor of small numbers and, of floats, special values.
    pub fn tensor(&mut self, dtype: DType, shape: Vec<usize>) -> Tensor {
        const SPECIAL: [f64; 8] = [0.0, -0.0, 1.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e30];
        let n: usize = shape.iter().product();
        if dtype.is_float() {
            let elems: Vec<f64> = (0..n)
                .map(
                    |_| if self.chance(4) { *self.pick(&SPECIAL) } else { self.below(64) as f64 / 8.0 - 4.0 },
                )
                .collect();
            return Tensor::from_floats(dtype, shape, elems);
        }
        let elems: Vec<i128> = (0..n).map(|_| self.below(9) as i128 - 4).collect();
        Tensor::from_ints(dtype, shape, elems)
    }
}

/// Element types that random graphs compute in.
const DTYPES: [DType; 6] = [DType::F32, DType::F32, DType::F16, DType::I32, DType::I64, DType::Bool];

/// A random graph of about `n_nodes` nodes with a few outputs. The sizes `n` and `m` of its inputs are symbols; the
/// inputs that come with it give them small values, 0 and 1 among them. Evaluating it may fail.
pub fn random_case(seed: u64, n_nodes: usize) -> Case {
    let mut random = Random(seed);
    let sizes = [("n", random.below(4) as i64), ("m", 1 + random.below(3) as i64)];
    let mut graph = Graph::new(format!("random{seed}"));
    let mut inputs = Vec::new();
    for i in 0..4 {
        let (dtype, rank) = (*random.pick(&DTYPES), random.below(4));
        let shape: Shape = (0..rank).map(|_| random_dim(&mut random)).collect();
        let concrete = shape.iter().map(|d| value_of(d, &sizes)).collect();
        graph.add_input(format!("x{i}"), Type::tensor(dtype, shape));
        inputs.push(Value::Tensor(random.tensor(dtype, concrete)));
    }
    let mut builder = Builder { graph, random, sizes };
    for _ in 0..n_nodes {
        builder.add();
    }
    let Builder { mut graph, mut random, .. } = builder;
    let values: Vec<ValueId> = graph.values().map(|(id, _)| id).collect();
    let n_outputs = 1 + random.below(4);
    // Late values depend on more; now and then an early one, an input or the same one twice.
    let outputs = (0..n_outputs).map(|i| {
        let from = if random.chance(4) { 0 } else { values.len() / 2 };
        (values[from + random.below(values.len() - from)], format!("y{i}"))
    });
    let outputs = outputs.collect();
    graph.set_outputs(outputs);
    Case { graph, inputs }
}

/// Whether two results are the same bit for bit, but for which NaN it is.
pub fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Tensor(a), Value::Tensor(b)) => {
            let bits = |t: &Tensor| -> Vec<u64> {
                t.floats().iter().map(|v| if v.is_nan() { f64::NAN.to_bits() } else { v.to_bits() }).collect()
            };
            (a.dtype(), a.shape()) == (b.dtype(), b.shape())
                && if a.dtype().is_float() { bits(a) == bits(b) } else { a == b }
        }
        (Value::Sequence(a), Value::Sequence(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Optional(a), Value::Optional(b)) => match (a, b) {
            (Some(a), Some(b)) => same(a, b),
            (None, None) => true,
            _ => false,
        },
        _ => false,
    }
}

fn random_dim(random: &mut Random) -> Dim {
    match random.below(6) {
        0 => Dim::symbol(Symbol::new("n")),
        1 => Dim::symbol(Symbol::new("m")),
        2 => Dim::from(1),
        k => Dim::from(k as i64 - 1),
    }
}

fn value_of(dim: &Dim, sizes: &[(&str, i64)]) -> usize {
    let lookup = |s: &Symbol| sizes.iter().find(|(name, _)| *name == &*s.name).map(|(_, v)| *v);
    dim.eval(&lookup).ok().and_then(|v| usize::try_from(v).ok()).unwrap_or(0)
}

struct Builder {
    graph: Graph,
    random: Random,
    sizes: [(&'static str, i64); 2],
}

impl Builder {
    /// Adds a node; one whose operands don't fit is dropped.
    fn add(&mut self) {
        const MAKERS: [fn(&mut Builder) -> Option<(Op, Vec<ValueId>)>; 17] = [
            Builder::constant,
            Builder::constant,
            Builder::sizes,
            Builder::unary,
            Builder::unary,
            Builder::binary,
            Builder::binary,
            Builder::binary,
            Builder::compare,
            Builder::select,
            Builder::cast,
            Builder::reshape,
            Builder::broadcast,
            Builder::transpose,
            Builder::slice,
            Builder::assemble,
            Builder::index,
        ];
        let make = *self.random.pick(&MAKERS);
        let Some((op, inputs)) = make(self) else { return };
        let loc = Loc::node(&format!("node{}", self.graph.n_nodes()), op.name());
        // An error says that the operands don't fit; the next try may do better.
        let _ = self.graph.add(op, &inputs, &loc);
    }

    /// A value, preferring late ones.
    fn value(&mut self) -> ValueId {
        let n = self.graph.n_values();
        let from = if self.random.chance(2) { 0 } else { n / 2 };
        ValueId((from + self.random.below(n - from)) as u32)
    }

    fn value_where(&mut self, wanted: &dyn Fn(&Type) -> bool) -> Option<ValueId> {
        let tried: Vec<ValueId> = (0..16).map(|_| self.value()).collect();
        tried.into_iter().find(|v| wanted(self.graph.ty(*v)))
    }

    fn shape(&self, v: ValueId) -> Shape {
        self.graph.ty(v).as_tensor().map(|t| t.shape.clone()).unwrap_or_default()
    }

    fn dtype(&self, v: ValueId) -> DType {
        self.graph.ty(v).as_tensor().map_or(DType::Bool, |t| t.dtype)
    }

    fn like(&mut self, v: ValueId) -> Option<ValueId> {
        let dtype = self.dtype(v);
        self.value_where(&|ty| ty.as_tensor().is_some_and(|t| t.dtype == dtype))
    }

    fn constant(&mut self) -> Option<(Op, Vec<ValueId>)> {
        let like = self.value();
        let shape = if self.random.chance(2) { Vec::new() } else { self.shape(like) };
        let shape: Vec<usize> = shape.iter().map(|d| value_of(d, &self.sizes)).collect();
        let dtype = self.dtype(like);
        let value = if self.random.chance(2) {
            let one = self.random.tensor(dtype, Vec::new());
            let n: usize = tcc_ir::tensor::n_elements(&shape)?;
            one.gather_linear(shape, std::iter::repeat_n(0, n))
        } else {
            self.random.tensor(dtype, shape)
        };
        Some((Constant { value }.into(), vec![]))
    }

    /// The shape of a value, as a tensor, or the position along an axis.
    fn sizes(&mut self) -> Option<(Op, Vec<ValueId>)> {
        let like = self.value();
        let dims = self.shape(like);
        if self.random.chance(2) && !dims.is_empty() {
            let (axis, dtype) = (self.random.below(dims.len()), *self.random.pick(&DTYPES));
            return Some((Iota { dims, axis, dtype }.into(), vec![]));
        }
        Some((Sizes { dtype: DType::I64, shape: vec![dims.len()], elems: dims }.into(), vec![]))
    }

    fn unary(&mut self) -> Option<(Op, Vec<ValueId>)> {
        let kind = *self.random.pick(UnaryKind::ALL);
        Some((Unary { kind }.into(), vec![self.value()]))
    }

    fn binary(&mut self) -> Option<(Op, Vec<ValueId>)> {
        let a = self.value();
        let b = if self.random.chance(6) { a } else { self.like(a)? };
        Some((Binary { kind: *self.random.pick(BinaryKind::ALL) }.into(), vec![a, b]))
    }

    fn compare(&mut self) -> Option<(Op, Vec<ValueId>)> {
        let a = self.value();
        let cmp = self.random.pick(&Cmp::ALL).0;
        Some((Compare { cmp }.into(), vec![a, self.like(a)?]))
    }

    fn select(&mut self) -> Option<(Op, Vec<ValueId>)> {
        let cond = self.value_where(&|ty| ty.as_tensor().is_some_and(|t| t.dtype == DType::Bool))?;
        let a = self.value();
        Some((Select {}.into(), vec![cond, a, self.like(a)?]))
    }

    fn cast(&mut self) -> Option<(Op, Vec<ValueId>)> {
        let to = *self.random.pick(&DTYPES);
        let op =
            if self.random.chance(5) { Bitcast { to }.into() } else { Cast { to, saturate: false }.into() };
        Some((op, vec![self.value()]))
    }

    /// Another shape of as many elements: flat, with an axis of 1, its own, or one from a tensor at run time.
    fn reshape(&mut self) -> Option<(Op, Vec<ValueId>)> {
        let x = self.value();
        let mut dims = self.shape(x);
        match self.random.below(4) {
            0 => dims = vec![Dim::product(dims)],
            1 => dims.insert(self.random.below(dims.len() + 1), Dim::from(1)),
            2 => dims.reverse(),
            _ => {
                let sizes = self.value_where(&|ty| {
                    ty.as_tensor().is_some_and(|t| t.dtype == DType::I64 && t.rank() == 1)
                })?;
                dims = self.graph.elems(sizes).ok()?;
            }
        }
        Some((Reshape { dims }.into(), vec![x]))
    }

    fn broadcast(&mut self) -> Option<(Op, Vec<ValueId>)> {
        let (x, like) = (self.value(), self.value());
        let mut dims = self.shape(like);
        if self.random.chance(2) {
            dims = self.shape(x);
            dims.insert(0, random_dim(&mut self.random));
        }
        Some((Broadcast { dims }.into(), vec![x]))
    }

    fn transpose(&mut self) -> Option<(Op, Vec<ValueId>)> {
        let x = self.value();
        let mut perm: Vec<usize> = (0..self.shape(x).len()).collect();
        for i in 1..perm.len() {
            perm.swap(i, self.random.below(i + 1));
        }
        Some((Transpose { perm }.into(), vec![x]))
    }

    fn slice(&mut self) -> Option<(Op, Vec<ValueId>)> {
        let x = self.value();
        let (mut starts, mut sizes, mut steps) = (Vec::new(), Vec::new(), Vec::new());
        for extent in self.shape(x) {
            let one = Dim::from(1);
            let (start, size, step) = match self.random.below(4) {
                0 => (extent.clone() - one, extent, -1),
                1 => (one.clone(), (extent - one).maximum(&Dim::from(0)), 1),
                2 => (Dim::from(0), extent.ceil_div(&Dim::from(2)), 2),
                _ => (Dim::from(0), extent, 1),
            };
            starts.push(start);
            sizes.push(size);
            steps.push(Dim::from(step));
        }
        Some((Slice { starts, sizes, steps }.into(), vec![x]))
    }

    /// Concatenation or padding.
    fn assemble(&mut self) -> Option<(Op, Vec<ValueId>)> {
        let x = self.value();
        let rank = self.shape(x).len();
        if self.random.chance(2) && rank > 0 {
            let mut inputs = vec![x];
            for _ in 0..self.random.below(3) {
                inputs.push(self.like(x)?);
            }
            return Some((Concat { axis: self.random.below(rank) }.into(), inputs));
        }
        let fill = self.random.tensor(self.dtype(x), Vec::new());
        let fill = self.graph.constant(fill, &Loc::default());
        let mode = *self.random.pick(&[PadMode::Constant, PadMode::Reflect, PadMode::Edge, PadMode::Wrap]);
        let mut counts = || (0..rank).map(|_| Dim::from(self.random.below(4) as i64 - 1)).collect();
        let (before, after) = (counts(), counts());
        Some((Pad { before, after, mode }.into(), vec![x, fill]))
    }

    fn index(&mut self) -> Option<(Op, Vec<ValueId>)> {
        let x = self.value();
        let indices = self.value_where(&|ty| ty.as_tensor().is_some_and(|t| t.dtype.is_int()))?;
        let rank = self.shape(x).len();
        (rank > 0).then(|| (Gather { axis: self.random.below(rank) }.into(), vec![x, indices]))
    }
}
