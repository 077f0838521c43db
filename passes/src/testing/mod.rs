//! Random graphs with inputs, for tests: whatever is done to a graph, it must go on computing the same.

mod nodes;
mod regions;

use tcc_ir::{DType, Dim, Graph, Shape, Symbol, Tensor, Type, Value, ValueId};

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
        let shape: Shape = match i {
            // One says what both symbols are.
            0 => ["n", "m"].map(|name| Dim::symbol(Symbol::new(name))).to_vec(),
            _ => (0..rank).map(|_| random_dim(&mut random)).collect(),
        };
        let concrete = shape.iter().map(|d| value_of(d, &sizes)).collect();
        graph.add_input(format!("x{i}"), Type::tensor(dtype, shape));
        inputs.push(Value::Tensor(random.tensor(dtype, concrete)));
    }
    let mut builder = Builder { graph, random, sizes, depth: 0, known: Vec::new() };
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

/// Adds random nodes to a graph or region.
struct Builder {
    graph: Graph,
    random: Random,
    sizes: [(&'static str, i64); 2],
    /// Regions around this one.
    depth: usize,
    /// Symbols of the graphs around this one.
    known: Vec<Symbol>,
}
