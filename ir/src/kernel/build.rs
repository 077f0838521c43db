//! Building kernels: expressions are hash-consed and folded as they are made, so equal ones are one.

use super::{Acc, AxisId, Buffer, BufferId, BufferKind, ExprId, Kernel, Scalar, Stage, Store};
use crate::attr::Float;
use crate::ops::{BinaryKind, UnaryKind};
use crate::types::{Cmp, DType, Dim, TensorType};
use indexmap::IndexMap;

/// Builds a [`Kernel`].
#[derive(Default)]
pub struct Builder {
    kernel: Kernel,
    known: IndexMap<Scalar, ExprId>,
}

impl Builder {
    pub fn new(name: impl Into<String>) -> Self {
        Builder { kernel: Kernel { name: name.into(), ..Kernel::default() }, ..Builder::default() }
    }

    /// Goes on from an existing kernel.
    pub fn resume(kernel: Kernel) -> Self {
        let known = kernel.exprs.iter().enumerate().map(|(i, e)| (e.clone(), ExprId(i as u32))).collect();
        Builder { kernel, known }
    }

    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    pub fn kernel_mut(&mut self) -> &mut Kernel {
        &mut self.kernel
    }

    pub fn finish(self) -> Kernel {
        self.kernel
    }

    pub fn buffer(&mut self, kind: BufferKind, ty: TensorType) -> BufferId {
        self.kernel.buffers.push(Buffer { ty, kind });
        BufferId(self.kernel.buffers.len() as u32 - 1)
    }

    pub fn input(&mut self, ty: &TensorType) -> BufferId {
        self.buffer(BufferKind::Input, ty.clone())
    }

    pub fn output(&mut self, ty: &TensorType) -> BufferId {
        self.buffer(BufferKind::Output, ty.clone())
    }

    pub fn temp(&mut self, ty: TensorType) -> BufferId {
        self.buffer(BufferKind::Temp, ty)
    }

    pub fn axis(&mut self, extent: impl Into<Dim>) -> AxisId {
        self.kernel.axes.push(extent.into());
        AxisId(self.kernel.axes.len() as u32 - 1)
    }

    /// An axis for every extent.
    pub fn axes(&mut self, extents: &[Dim]) -> Vec<AxisId> {
        extents.iter().map(|d| self.axis(d)).collect()
    }

    pub fn expr(&mut self, scalar: Scalar) -> ExprId {
        if let Some(id) = self.known.get(&scalar) {
            return *id;
        }
        let id = ExprId(self.kernel.exprs.len() as u32);
        self.kernel.exprs.push(scalar.clone());
        self.known.insert(scalar, id);
        id
    }

    pub fn float(&mut self, dtype: DType, v: f64) -> ExprId {
        self.expr(Scalar::Float(dtype, Float(dtype.round_float(v))))
    }

    pub fn int(&mut self, v: i64) -> ExprId {
        self.expr(Scalar::Int(DType::I64, v))
    }

    /// A constant of any numeric type or bool.
    pub fn constant(&mut self, dtype: DType, v: f64) -> ExprId {
        if dtype.is_float() { self.float(dtype, v) } else { self.expr(Scalar::Int(dtype, v as i64)) }
    }

    pub fn dim(&mut self, d: &Dim) -> ExprId {
        match d.as_const() {
            Some(c) => self.int(c),
            None => self.expr(Scalar::Dim(d.clone())),
        }
    }

    pub fn at(&mut self, axis: AxisId) -> ExprId {
        self.expr(Scalar::Axis(axis))
    }

    /// The positions on axes.
    pub fn all(&mut self, axes: &[AxisId]) -> Vec<ExprId> {
        axes.iter().map(|a| self.at(*a)).collect()
    }

    pub fn load(&mut self, buffer: BufferId, index: Vec<ExprId>) -> ExprId {
        debug_assert_eq!(index.len(), self.kernel.buffer(buffer).ty.rank());
        self.expr(Scalar::Load { buffer, index, guard: None })
    }

    pub fn load_if(&mut self, buffer: BufferId, index: Vec<ExprId>, guard: Option<ExprId>) -> ExprId {
        self.expr(Scalar::Load { buffer, index, guard })
    }

    pub fn unary(&mut self, kind: UnaryKind, a: ExprId) -> ExprId {
        self.expr(Scalar::Unary(kind, a))
    }

    /// A binary operation; integer index arithmetic with constants is folded.
    pub fn binary(&mut self, kind: BinaryKind, a: ExprId, b: ExprId) -> ExprId {
        match (self.as_int(a), self.as_int(b), kind) {
            (Some(x), Some(y), _) => {
                if let Ok(v) = i64::try_from(kind.int(DType::I64, x.into(), y.into())) {
                    return self.int(v);
                }
            }
            (Some(0), _, BinaryKind::Add) | (Some(1), _, BinaryKind::Mul) => return b,
            (_, Some(0), BinaryKind::Add | BinaryKind::Sub)
            | (_, Some(1), BinaryKind::Mul | BinaryKind::Div) => return a,
            (Some(0), _, BinaryKind::Mul) | (_, Some(0), BinaryKind::Mul) | (_, Some(1), BinaryKind::Mod) => {
                return self.int(0);
            }
            _ => {}
        }
        self.expr(Scalar::Binary(kind, a, b))
    }

    pub fn add(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.binary(BinaryKind::Add, a, b)
    }

    pub fn sub(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.binary(BinaryKind::Sub, a, b)
    }

    pub fn mul(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.binary(BinaryKind::Mul, a, b)
    }

    pub fn compare(&mut self, cmp: Cmp, a: ExprId, b: ExprId) -> ExprId {
        if let (Some(x), Some(y)) = (self.as_int(a), self.as_int(b)) {
            return self.expr(Scalar::Int(DType::Bool, cmp.holds(x, y).into()));
        }
        self.expr(Scalar::Compare(cmp, a, b))
    }

    pub fn select(&mut self, cond: ExprId, then: ExprId, otherwise: ExprId) -> ExprId {
        match self.kernel.expr(cond) {
            Scalar::Int(_, c) => {
                if *c != 0 {
                    then
                } else {
                    otherwise
                }
            }
            _ if then == otherwise => then,
            _ => self.expr(Scalar::Select(cond, then, otherwise)),
        }
    }

    pub fn cast(&mut self, to: DType, a: ExprId) -> ExprId {
        self.expr(Scalar::Cast(to, a))
    }

    /// The conjunction of conditions; None when there is none.
    pub fn all_of(&mut self, conds: impl IntoIterator<Item = ExprId>) -> Option<ExprId> {
        let mut out = None;
        for c in conds {
            if matches!(self.kernel.expr(c), Scalar::Int(_, 1)) {
                continue;
            }
            out = Some(match out {
                None => c,
                Some(o) => self.expr(Scalar::Binary(BinaryKind::And, o, c)),
            });
        }
        out
    }

    /// `lo <= i < hi`; None when that is provable, so that the access needs no guard.
    pub fn in_range(&mut self, i: ExprId, hi: &Dim) -> ExprId {
        let (zero, hi) = (self.int(0), self.dim(hi));
        let low = self.compare(Cmp::Ge, i, zero);
        let high = self.compare(Cmp::Lt, i, hi);
        self.expr(Scalar::Binary(BinaryKind::And, low, high))
    }

    fn as_int(&self, id: ExprId) -> Option<i64> {
        match self.kernel.expr(id) {
            Scalar::Int(DType::I64, v) => Some(*v),
            _ => None,
        }
    }

    pub fn stage(&mut self, stage: Stage) {
        self.kernel.stages.push(stage);
    }

    /// A stage that stores `value` at every point of `axes`.
    pub fn map_stage(&mut self, axes: Vec<AxisId>, buffer: BufferId, index: Vec<ExprId>, value: ExprId) {
        let store = Store { buffer, index, value, update: None, guard: None };
        self.stage(Stage { axes, stores: vec![store], ..Stage::default() });
    }

    /// A stage that accumulates over `reduce` and stores what `finish` makes of the accumulator.
    pub fn reduce_stage(
        &mut self,
        (axes, reduce): (Vec<AxisId>, Vec<AxisId>),
        acc: Acc,
        (buffer, index): (BufferId, Vec<ExprId>),
        finish: impl FnOnce(&mut Builder, ExprId) -> ExprId,
    ) {
        let raw = self.expr(Scalar::Acc(0));
        let value = finish(self, raw);
        let store = Store { buffer, index, value, update: None, guard: None };
        self.stage(Stage { axes, reduce, accs: vec![acc], scan: false, stores: vec![store] });
    }
}
