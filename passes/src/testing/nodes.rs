//! Random nodes, operator by operator.

use super::{Builder, DTYPES, random_dim, value_of};
use tcc_ir::ops::{
    ArgKind, ArgReduce, Binary, BinaryKind, Bitcast, Broadcast, Cast, Compare, Concat, Constant, Contract,
    Cumulative, CumulativeKind, Gather, Iota, NonZero, Pad, PadMode, Reduce, ReduceKind, Reshape, Select,
    Sizes, Slice, TopK, Transpose, Unary, UnaryKind,
};
use tcc_ir::{Cmp, DType, Dim, Loc, Op, Shape, Type, ValueId};

impl Builder {
    /// Adds a node; one whose operands don't fit is dropped.
    pub(super) fn add(&mut self) {
        const MAKERS: [fn(&mut Builder) -> Option<(Op, Vec<ValueId>)>; 25] = [
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
            Builder::reduce,
            Builder::reduce,
            Builder::contract,
            Builder::along_axis,
            Builder::data_dependent,
            Builder::branch,
            Builder::branch,
            Builder::repetition,
        ];
        let make = *self.random.pick(&MAKERS);
        let Some((op, inputs)) = make(self) else { return };
        let loc = Loc::node(&format!("node{}", self.graph.n_nodes()), op.name());
        // An error says that the operands don't fit; the next try may do better.
        let _ = self.graph.add(op, &inputs, &loc);
    }

    /// A value, preferring late ones.
    pub(super) fn value(&mut self) -> ValueId {
        let n = self.graph.n_values();
        let from = if self.random.chance(2) { 0 } else { n / 2 };
        ValueId((from + self.random.below(n - from)) as u32)
    }

    pub(super) fn value_where(&mut self, wanted: &dyn Fn(&Type) -> bool) -> Option<ValueId> {
        let tried: Vec<ValueId> = (0..16).map(|_| self.value()).collect();
        tried.into_iter().find(|v| wanted(self.graph.ty(*v)))
    }

    pub(super) fn shape(&self, v: ValueId) -> Shape {
        self.graph.ty(v).as_tensor().map(|t| t.shape.clone()).unwrap_or_default()
    }

    pub(super) fn dtype(&self, v: ValueId) -> DType {
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

    fn reduce(&mut self) -> Option<(Op, Vec<ValueId>)> {
        let x = self.value();
        let axes = (0..self.shape(x).len()).filter(|_| self.random.chance(2)).collect();
        let kind = *self.random.pick(ReduceKind::ALL);
        Some((Reduce { kind, axes, keepdims: self.random.chance(2) }.into(), vec![x]))
    }

    /// Any axis of one with any of the other, if they fit.
    fn contract(&mut self) -> Option<(Op, Vec<ValueId>)> {
        let a = self.value();
        let b = self.like(a)?;
        let (rank_a, rank_b) = (self.shape(a).len(), self.shape(b).len());
        if rank_a == 0 || rank_b == 0 {
            return None;
        }
        let (lhs, rhs) = (vec![self.random.below(rank_a)], vec![self.random.below(rank_b)]);
        let op = Contract { lhs_batch: vec![], rhs_batch: vec![], lhs, rhs, out: self.dtype(a) };
        Some((op.into(), vec![a, b]))
    }

    fn along_axis(&mut self) -> Option<(Op, Vec<ValueId>)> {
        let x = self.value_where(&|ty| ty.as_tensor().is_some_and(|t| t.rank() > 0))?;
        let axis = self.random.below(self.shape(x).len());
        let op = match self.random.below(3) {
            0 => ArgReduce { kind: ArgKind::Max, axis, last: self.random.chance(2), keepdims: true }.into(),
            1 => TopK { axis, k: Dim::from(1), largest: self.random.chance(2), sorted: true }.into(),
            _ => {
                let (exclusive, reverse) = (self.random.chance(2), self.random.chance(2));
                Cumulative { kind: CumulativeKind::Sum, axis, exclusive, reverse }.into()
            }
        };
        Some((op, vec![x]))
    }

    /// A value whose size is known only when it is computed.
    fn data_dependent(&mut self) -> Option<(Op, Vec<ValueId>)> {
        Some((NonZero {}.into(), vec![self.value()]))
    }
}
