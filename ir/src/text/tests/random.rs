//! Random graphs and kernels round-trip.

use super::assert_round_trip;
use crate::attr::Float;
use crate::kernel::{Acc, AccOp, Builder, ExprId, Kernel, Scalar, Stage, Store};
use crate::ops::{
    Binary, BinaryKind, Cast, Compare, Constant, If, KernelOp, NonZero, Random, RandomKind, Reshape,
    SequenceEmpty, SequenceInsert, Sizes, Unary, UnaryKind,
};
use crate::types::{Cmp, TensorType};
use crate::{DType, Dim, Graph, Loc, Op, Symbol, Tensor, Type, ValueId};

/// A small generator of pseudo-random numbers (splitmix64), the same on every machine.
pub(super) struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn pick<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())].clone()
    }
}

#[test]
fn random_graphs_round_trip() {
    for seed in 0..300 {
        let graph = graph(&mut Rng::new(seed), 2);
        graph.verify().unwrap_or_else(|v| panic!("seed {seed}: {}", v[0]));
        assert_round_trip(&graph);
    }
}

#[test]
fn random_kernels_round_trip() {
    for seed in 0..300 {
        let kernel = kernel(&mut Rng::new(seed));
        kernel.verify().unwrap_or_else(|e| panic!("seed {seed}: {e:?}"));
        let mut g = Graph::new("k");
        let inputs: Vec<ValueId> = kernel
            .buffers_of(crate::kernel::BufferKind::Input)
            .map(|(_, b)| g.add_input("x", b.ty.clone().into()))
            .collect();
        let out = g.add(KernelOp { kernel }, &inputs, &Loc::default()).unwrap();
        g.set_outputs(out.into_iter().map(|v| (v, "y".to_string())).collect());
        assert_round_trip(&g);
    }
}

const NAMES: [&str; 12] =
    ["x", "y", "12", "a b", "", "conv/1:0", "é\"\n", "x", "return", "f32", "min", "graph"];

/// A graph of operators that make every kind of attribute, type, symbol and check; `regions` levels of branches.
pub(super) fn graph(rng: &mut Rng, regions: usize) -> Graph {
    let mut g = Graph::new(rng.pick(&NAMES));
    let symbols: Vec<Symbol> = (0..3)
        .map(|i| {
            let lo = rng.below(3) as i64;
            let hi = (rng.below(2) == 0).then(|| lo + 1 + rng.below(30) as i64);
            Symbol::bounded(["N", "past + 1", "max"][i], lo, hi)
        })
        .collect();
    // Every symbol is the extent of an input, so that all of them get a value.
    let shape: Vec<Dim> = symbols.iter().cloned().map(Dim::symbol).collect();
    g.add_input("x", Type::tensor(DType::F32, shape));
    g.add_input("k", Type::tensor(DType::I32, [2i64]));
    g.add_input("s", Type::Optional(Box::new(Type::Sequence(Box::new(Type::Unranked(DType::String))))));
    fill(&mut g, rng, &symbols, regions);
    g
}

fn fill(g: &mut Graph, rng: &mut Rng, symbols: &[Symbol], regions: usize) {
    for _ in 0..rng.below(14) {
        let (op, inputs) = node(g, rng, symbols, regions);
        let loc = match rng.below(3) {
            0 => Loc::node(rng.pick(&NAMES), "Conv").merge(&Loc::node("b", "com.x::Y")),
            _ => Loc::default(),
        };
        // An operand that doesn't fit is another try.
        if let Ok(out) = g.add(op, &inputs, &loc) {
            match rng.below(5) {
                0 => g.set_name(out[0], rng.pick(&NAMES)),
                1 => drop(g.elems(out[0])),
                _ => {}
            }
        }
    }
    let live: Vec<ValueId> = live(g);
    let ends: Vec<_> = (0..rng.below(3)).map(|_| (rng.pick(&live), rng.pick(&NAMES).to_string())).collect();
    g.set_outputs(ends);
    if rng.below(2) == 0 {
        let used = g.use_counts();
        let keep = |_, n: &crate::Node| n.outputs.iter().any(|v| used[v.0 as usize] > 0);
        g.retain_nodes(&keep);
    }
}

fn live(g: &Graph) -> Vec<ValueId> {
    g.inputs().iter().chain(g.nodes().flat_map(|(_, n)| &n.outputs)).copied().collect()
}

fn node(g: &Graph, rng: &mut Rng, symbols: &[Symbol], regions: usize) -> (Op, Vec<ValueId>) {
    let live = live(g);
    let mut value = || rng.pick(&live);
    let (a, b) = (value(), value());
    match rng.below(12) {
        0 => (Unary { kind: rng.pick(UnaryKind::ALL) }.into(), vec![a]),
        1 => (Binary { kind: rng.pick(BinaryKind::ALL) }.into(), vec![a, b]),
        2 => (Compare { cmp: rng.pick(&Cmp::ALL).0 }.into(), vec![a, a]),
        3 => (Constant { value: tensor(rng) }.into(), vec![]),
        4 => {
            let elems: Vec<Dim> = (0..2).map(|_| dim(rng, symbols, 3)).collect();
            (Sizes { dtype: DType::I64, shape: vec![2, 1], elems }.into(), vec![])
        }
        5 => match g.tensor_type(a) {
            Ok(t) => (Reshape { dims: vec![t.n_elements(), 1.into()] }.into(), vec![a]),
            Err(_) => (OP_WITHOUT_INPUTS.into(), vec![]),
        },
        6 => (NonZero {}.into(), vec![a]),
        7 => {
            let (p, q) = (Float(f64::from_bits(rng.next())), Float(rng.next() as f64 / 7.0));
            let dims = vec![dim(rng, symbols, 1).maximum(&0.into()), 3.into()];
            let seed = rng.next() as i64;
            (Random { kind: RandomKind::Normal, dtype: DType::F16, dims, a: p, b: q, seed }.into(), vec![])
        }
        8 => (SequenceEmpty { ty: Type::tensor(DType::F32, [Dim::from(2)]) }.into(), vec![]),
        9 => (SequenceInsert {}.into(), vec![a, b]),
        10 if regions > 0 => branches(g, rng, symbols, regions, b),
        _ => (
            Cast {
                to: rng.pick(&[DType::F32, DType::Bool, DType::String, DType::U4]),
                saturate: rng.below(2) == 0,
            }
            .into(),
            vec![a],
        ),
    }
}

const OP_WITHOUT_INPUTS: SequenceEmpty = SequenceEmpty { ty: Type::Unranked(DType::Bool) };

/// An `if` whose condition is whatever bool there is, and whose branches take one value.
fn branches(
    g: &Graph,
    rng: &mut Rng,
    symbols: &[Symbol],
    regions: usize,
    taken: ValueId,
) -> (Op, Vec<ValueId>) {
    let cond = live(g).into_iter().find(|v| *g.ty(*v) == Type::tensor(DType::Bool, Vec::<Dim>::new()));
    let Some(cond) = cond else {
        return (Constant { value: Tensor::scalar_int(DType::Bool, 1) }.into(), vec![]);
    };
    let outer = |s: &Symbol| g.symbol_source(s).is_some() || symbols.iter().any(|o| o.name == s.name);
    let mut branch = |name: &str| {
        let mut region = Graph::region(name, format!("{}{name}{}_", g.prefix, g.n_values()));
        let x = region.add_region_input("x", g.ty(taken).clone(), &outer);
        fill(&mut region, rng, symbols, regions - 1);
        region.set_outputs(vec![(x, "y".into())]);
        region
    };
    (If { then_branch: branch("t"), else_branch: branch("e") }.into(), vec![cond, taken])
}

fn dim(rng: &mut Rng, symbols: &[Symbol], depth: usize) -> Dim {
    if depth == 0 || rng.below(4) == 0 {
        return match rng.below(3) {
            0 => Dim::from(rng.below(9) as i64 - 4),
            1 => Dim::from(if rng.below(2) == 0 { i64::MIN } else { i64::MAX }),
            _ => Dim::symbol(rng.pick(symbols)),
        };
    }
    let (a, b) = (dim(rng, symbols, depth - 1), dim(rng, symbols, depth - 1));
    match rng.below(8) {
        0 | 1 => a + b,
        2 => a - b,
        3 => a * b,
        4 => a.floor_div(&b),
        5 => a.minimum(&b),
        6 => a.maximum(&b),
        _ => Dim::select(rng.pick(&Cmp::ALL).0, &a, &b, &dim(rng, symbols, depth - 1), &a),
    }
}

/// A tensor of any element type with any bits.
fn tensor(rng: &mut Rng) -> Tensor {
    let dtypes: Vec<DType> = DType::all().collect();
    let dtype = rng.pick(&dtypes);
    let shape: Vec<usize> = (0..rng.below(3)).map(|_| rng.below(5)).collect();
    let n: usize = shape.iter().product();
    if dtype == DType::String {
        return Tensor::from_strings(shape, (0..n).map(|_| rng.pick(&NAMES).to_string()).collect());
    }
    let bytes: Vec<u8> = match rng.below(3) {
        0 => vec![rng.next() as u8; n * dtype.size()],
        _ => (0..n * dtype.size()).map(|_| rng.next() as u8).collect(),
    };
    Tensor::from_bytes(dtype, shape, bytes.into()).expect("as many bytes as the shape says")
}

/// Expressions of each type that a stage may use.
struct Pool {
    floats: Vec<ExprId>,
    ints: Vec<ExprId>,
    bools: Vec<ExprId>,
}

fn kernel(rng: &mut Rng) -> Kernel {
    let mut b = Builder::new(rng.pick(&NAMES));
    let n = Dim::symbol(Symbol::new("N"));
    let x = b.input(&TensorType::new(DType::F32, [n.clone()]));
    let y = b.output(&TensorType::new(DType::F32, [n.clone()]));
    let t = b.temp(TensorType::scalar(DType::F32));
    let axes = b.axes(&[n.clone(), n.clone() * 2.into(), 3.into()]);
    b.kernel_mut().outer = vec![axes[0]];
    b.kernel_mut().serial = rng.below(2) == 0;
    for _ in 0..1 + rng.below(3) {
        let mut pool = Pool {
            floats: vec![b.float(DType::F32, f64::from(rng.next() as f32)), b.float(DType::F32, -0.0)],
            ints: vec![b.int(rng.below(5) as i64 - 2), b.expr(Scalar::Dim(n.clone() + 1.into()))],
            bools: vec![b.expr(Scalar::Int(DType::Bool, 1))],
        };
        pool.floats.push(b.expr(Scalar::Float(DType::F32, Float(f64::from_bits(rng.next())))));
        let positions = b.all(&axes);
        pool.ints.extend(&positions);
        grow(&mut b, rng, &mut pool, (x, t));
        let scan = rng.below(2) == 0;
        let ops = [AccOp::Sum, AccOp::Max, AccOp::ArgMin { last: true }];
        let accs: Vec<Acc> = (0..rng.below(3))
            .map(|i| Acc { op: ops[i], value: rng.pick(&pool.floats), dtype: DType::F32 })
            .collect();
        for i in 0..accs.len().min(2) {
            pool.floats.push(b.expr(Scalar::Acc(i as u32)));
            if scan {
                pool.floats.push(b.expr(Scalar::AccBefore(i as u32)));
            }
        }
        grow(&mut b, rng, &mut pool, (x, t));
        let stores = (0..1 + rng.below(2))
            .map(|i| Store {
                buffer: if i == 0 { y } else { t },
                index: if i == 0 { vec![rng.pick(&pool.ints)] } else { vec![] },
                value: rng.pick(&pool.floats),
                update: (rng.below(3) == 0).then_some(BinaryKind::Max),
                guard: (rng.below(3) == 0).then(|| rng.pick(&pool.bools)),
            })
            .collect();
        b.stage(Stage { axes: vec![axes[1]], reduce: vec![axes[2]], accs, scan, stores });
    }
    b.finish()
}

fn grow(
    b: &mut Builder,
    rng: &mut Rng,
    pool: &mut Pool,
    (x, t): (crate::kernel::BufferId, crate::kernel::BufferId),
) {
    for _ in 0..rng.below(25) {
        let (f, g) = (rng.pick(&pool.floats), rng.pick(&pool.floats));
        let (i, j) = (rng.pick(&pool.ints), rng.pick(&pool.ints));
        let c = rng.pick(&pool.bools);
        let kinds = [BinaryKind::Add, BinaryKind::Sub, BinaryKind::Mul, BinaryKind::Div, BinaryKind::Max];
        let kind = rng.pick(&kinds);
        match rng.below(10) {
            0 => pool.floats.push(b.expr(Scalar::Binary(kind, f, g))),
            1 => pool.floats.push(b.unary(UnaryKind::Exp, f)),
            2 => pool.ints.push(b.expr(Scalar::Binary(kind, i, j))),
            3 => pool.bools.push(b.expr(Scalar::Compare(rng.pick(&Cmp::ALL).0, i, j))),
            4 => pool.floats.push(b.expr(Scalar::Select(c, f, g))),
            5 => pool.floats.push(b.load_if(x, vec![i], (rng.below(2) == 0).then_some(c))),
            6 => pool.floats.push(b.load_if(t, vec![], (rng.below(2) == 0).then_some(c))),
            7 => pool.floats.push(b.cast(DType::F32, i)),
            8 => pool.ints.push(b.expr(Scalar::Check { cond: c, value: i })),
            _ => {
                let bits = b.expr(Scalar::Bitcast(DType::I32, f));
                pool.ints.push(b.cast(DType::I64, bits));
            }
        }
    }
}
