//! Random `if` and `loop` nodes.

use super::{Builder, Random};
use tcc_ir::ops::{Constant, If, Loop, Reduce, ReduceKind};
use tcc_ir::{DType, Dim, Graph, Loc, Op, Symbol, Tensor, ValueId};

/// How deep regions nest.
const MAX_DEPTH: usize = 2;

impl Builder {
    /// A condition that is a constant or computed.
    fn condition(&mut self) -> Option<ValueId> {
        if self.random.chance(2) {
            let cond = self.random.tensor(DType::Bool, Vec::new());
            return Some(self.graph.constant(cond, &Loc::default()));
        }
        let x = self.value_where(&|ty| ty.as_tensor().is_some_and(|t| t.dtype == DType::Bool))?;
        let axes = (0..self.shape(x).len()).collect();
        self.graph.add1(Reduce { kind: ReduceKind::Max, axes, keepdims: false }, &[x], &Loc::default()).ok()
    }

    pub(super) fn branch(&mut self) -> Option<(Op, Vec<ValueId>)> {
        if self.depth == MAX_DEPTH {
            return None;
        }
        let cond = self.condition()?;
        let captured: Vec<ValueId> = (0..1 + self.random.below(3)).map(|_| self.value()).collect();
        let mut then = self.region("then", &captured);
        let mut other = self.region("else", &captured);
        // One result of one kind in both, and the first capture as another.
        let mut outputs = (Vec::new(), Vec::new());
        let result = then.value();
        let (dtype, rank) = (then.dtype(result), then.shape(result).len());
        let like =
            other.value_where(&|ty| ty.as_tensor().is_some_and(|t| t.dtype == dtype && t.rank() == rank));
        if let Some(like) = like {
            outputs.0.push((result, "a".to_string()));
            outputs.1.push((like, "a".to_string()));
        }
        outputs.0.push((then.graph.inputs()[0], "b".to_string()));
        outputs.1.push((other.graph.inputs()[0], "b".to_string()));
        then.graph.set_outputs(outputs.0);
        other.graph.set_outputs(outputs.1);
        let op = If { then_branch: then.graph, else_branch: other.graph };
        Some((op.into(), [vec![cond], captured].concat()))
    }

    pub(super) fn repetition(&mut self) -> Option<(Op, Vec<ValueId>)> {
        if self.depth == MAX_DEPTH {
            return None;
        }
        let trip = Tensor::scalar_int(DType::I64, self.random.below(4) as i128);
        let trip = self.graph.constant(trip, &Loc::default());
        let carried = self.value();
        let captured: Vec<ValueId> = (0..self.random.below(3)).map(|_| self.value()).collect();
        let scalars = [DType::I64, DType::Bool].map(|d| tcc_ir::Type::tensor(d, Vec::<Dim>::new()));
        let mut body = self.empty_region("body");
        let [iteration, cond] = scalars.map(|ty| body.graph.add_input("control", ty));
        for v in std::iter::once(&carried).chain(&captured) {
            body.capture(&self.graph, *v);
        }
        let start = body.graph.inputs()[2];
        for _ in 0..body.random.below(6) {
            body.add();
        }
        // What goes into the next iteration has the type of what came into this one.
        let ty = body.graph.ty(start).clone();
        let next = body.value_where(&|other| *other == ty).unwrap_or(start);
        let scan = if body.random.chance(3) { iteration } else { body.value() };
        let names = ["cond", "next", "scan"].map(String::from);
        body.graph.set_outputs([cond, next, scan].into_iter().zip(names).collect());
        let op = Loop { body: body.graph, n_carried: 1, has_trip: true, has_cond: false };
        Some((op.into(), [vec![trip, carried], captured].concat()))
    }

    fn region(&mut self, name: &str, captured: &[ValueId]) -> Builder {
        let mut region = self.empty_region(name);
        captured.iter().for_each(|v| region.capture(&self.graph, *v));
        for _ in 0..region.random.below(6) {
            region.add();
        }
        if region.random.chance(3) {
            let value = region.random.tensor(DType::F32, Vec::new());
            let _ = region.graph.add1(Constant { value }, &[], &Loc::default());
        }
        region
    }

    fn empty_region(&mut self, name: &str) -> Builder {
        let prefix = format!("{}{name}{}_", self.graph.prefix, self.random.below(1 << 30));
        let known =
            [self.known.clone(), self.graph.symbols().iter().map(|(s, _)| s.clone()).collect()].concat();
        Builder {
            graph: Graph::region(name, prefix),
            random: Random(self.random.bits()),
            sizes: self.sizes,
            depth: self.depth + 1,
            known,
        }
    }

    /// An input of the region for a value of the graph around it: of its type, or with extents of its own.
    fn capture(&mut self, outer: &Graph, value: ValueId) {
        let mut ty = outer.ty(value).clone();
        if self.random.chance(2) {
            let mut axis = 0;
            let input = self.graph.inputs().len();
            let prefix = self.graph.prefix.clone();
            ty.map_dims(&mut |_| {
                axis += 1;
                Dim::symbol(Symbol::new(format!("{prefix}i{input}a{axis}")))
            });
        }
        let known: Vec<Symbol> = self.known.clone();
        self.graph.add_region_input("captured", ty, &|s| known.iter().any(|k| k.name == s.name));
    }
}
