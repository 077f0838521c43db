//! Fused kernels: what is computed, not how. Pure and independent of target.
//!
//! A kernel is a list of stages over axes. The `outer` axes are shared: all stages run, in order, for every point
//! of them, and points are independent of each other unless the kernel is `serial`. A stage adds axes of its own:
//! `axes` (one result each) and `reduce` (accumulated over). Softmax is three stages over one row; a matrix product
//! is one stage with the accumulator `sum(a*b)` and an epilogue in its store; a gather is a map whose load has a
//! loaded index; a scatter is a copy stage and a stage whose store has a loaded index.
//!
//! Scalar expressions form a DAG in `exprs`, operands before users. Loads and stores take one index an axis of the
//! buffer. Temporaries live within one point of the outer axes.
//!
//! Invariant: no load or store without a guard ever leaves its buffer: an index that comes from data is either
//! guarded or wrapped in a `Check`.

mod build;
mod canonical;
mod interp;
mod places;
#[cfg(test)]
mod tests;
mod verify;

pub use build::Builder;
pub use interp::interpret;
pub use places::Places;

use crate::attr::{Attr, AttrValue, Float};
use crate::ops::{BinaryKind, UnaryKind};
use crate::types::{Cmp, DType, Dim, TensorType};

/// Index of an axis in `Kernel::axes`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AxisId(pub u32);

/// Index of a scalar expression in `Kernel::exprs`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ExprId(pub u32);

/// Index of a buffer in `Kernel::buffers`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BufferId(pub u32);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Kernel {
    /// A word or two for profiles and symbols, such as `softmax` or `conv_relu`.
    pub name: String,
    /// Inputs, outputs and temporaries, in any order; operands of the graph node follow the order here.
    pub buffers: Vec<Buffer>,
    /// Extents of the axes.
    pub axes: Vec<Dim>,
    /// Axes that all stages share, outermost first; their points may run in parallel.
    pub outer: Vec<AxisId>,
    pub exprs: Vec<Scalar>,
    pub stages: Vec<Stage>,
    /// The points of `outer` must run in order (stores at places that come from data may collide).
    pub serial: bool,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Buffer {
    pub ty: TensorType,
    pub kind: BufferKind,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum BufferKind {
    Input,
    Output,
    /// Scratch within one point of the outer axes.
    Temp,
}

/// A scalar expression. Integers wrap, floats round once an operation, in the expression's element type.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Scalar {
    Float(DType, Float),
    /// An integer or bool constant.
    Int(DType, i64),
    /// The position on an axis: i64.
    Axis(AxisId),
    /// A size: i64.
    Dim(Dim),
    /// An element of a buffer. Where `guard` is false: zero, and memory isn't touched.
    Load {
        buffer: BufferId,
        index: Vec<ExprId>,
        guard: Option<ExprId>,
    },
    Unary(UnaryKind, ExprId),
    Binary(BinaryKind, ExprId, ExprId),
    /// Gives bool.
    Compare(Cmp, ExprId, ExprId),
    Select(ExprId, ExprId, ExprId),
    /// Conversion. Float to float rounds to nearest even; float to int truncates, saturating, NaN to 0; int to int
    /// wraps; anything to bool is `!= 0`.
    Cast(DType, ExprId),
    /// The same bits as another type of the same width.
    Bitcast(DType, ExprId),
    /// The stage's accumulator, in its stores (in a scan: after this point's update).
    Acc(u32),
    /// In a scan: the accumulator before this point's update.
    AccBefore(u32),
    /// `value`, after a run-time check that the condition holds; a failed one stops the run with an error.
    Check {
        cond: ExprId,
        value: ExprId,
    },
}

/// One loop nest.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Stage {
    /// The stage's own parallel axes, outermost first.
    pub axes: Vec<AxisId>,
    /// Axes that are accumulated over, outermost first.
    pub reduce: Vec<AxisId>,
    pub accs: Vec<Acc>,
    /// A running accumulation: the stores happen at every point of `reduce`, in order.
    pub scan: bool,
    pub stores: Vec<Store>,
}

/// An accumulator over a stage's `reduce` axes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Acc {
    pub op: AccOp,
    pub value: ExprId,
    /// The type that is accumulated in: that of the value, or f32 for narrower floats; `arg_*` give i64.
    pub dtype: DType,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AccOp {
    /// From 0.
    Sum,
    /// From 1.
    Prod,
    /// From the smallest value (minus infinity); NaN wins.
    Max,
    /// From the largest value (infinity); NaN wins.
    Min,
    /// Position (row-major over the reduce axes) of the largest value; the first or the last of equals; NaN wins.
    ArgMax {
        last: bool,
    },
    ArgMin {
        last: bool,
    },
}

impl AccOp {
    pub const ALL: [AccOp; 8] = [
        AccOp::Sum,
        AccOp::Prod,
        AccOp::Max,
        AccOp::Min,
        AccOp::ArgMax { last: false },
        AccOp::ArgMax { last: true },
        AccOp::ArgMin { last: false },
        AccOp::ArgMin { last: true },
    ];

    pub fn is_arg(self) -> bool {
        matches!(self, AccOp::ArgMax { .. } | AccOp::ArgMin { .. })
    }

    pub fn name(self) -> &'static str {
        match self {
            AccOp::Sum => "sum",
            AccOp::Prod => "prod",
            AccOp::Max => "max",
            AccOp::Min => "min",
            AccOp::ArgMax { last: false } => "arg_max",
            AccOp::ArgMax { last: true } => "arg_max_last",
            AccOp::ArgMin { last: false } => "arg_min",
            AccOp::ArgMin { last: true } => "arg_min_last",
        }
    }
}

/// A write to a buffer.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Store {
    pub buffer: BufferId,
    pub index: Vec<ExprId>,
    pub value: ExprId,
    /// How the value meets what is there: None overwrites, else `old <kind> value`.
    pub update: Option<BinaryKind>,
    /// Nothing is written where it is false.
    pub guard: Option<ExprId>,
}

impl Kernel {
    pub fn expr(&self, id: ExprId) -> &Scalar {
        &self.exprs[id.0 as usize]
    }

    pub fn buffer(&self, id: BufferId) -> &Buffer {
        &self.buffers[id.0 as usize]
    }

    pub fn extent(&self, axis: AxisId) -> &Dim {
        &self.axes[axis.0 as usize]
    }

    pub fn buffers_of(&self, kind: BufferKind) -> impl Iterator<Item = (BufferId, &Buffer)> {
        self.buffers
            .iter()
            .enumerate()
            .filter(move |(_, b)| b.kind == kind)
            .map(|(i, b)| (BufferId(i as u32), b))
    }

    /// Element type of an expression of `stage`.
    pub fn dtype(&self, stage: &Stage, id: ExprId) -> DType {
        match self.expr(id) {
            Scalar::Float(d, _) | Scalar::Int(d, _) | Scalar::Cast(d, _) | Scalar::Bitcast(d, _) => *d,
            Scalar::Axis(_) | Scalar::Dim(_) => DType::I64,
            Scalar::Load { buffer, .. } => self.buffer(*buffer).ty.dtype,
            Scalar::Compare(..) | Scalar::Unary(UnaryKind::IsNan, _) => DType::Bool,
            Scalar::Unary(_, a) | Scalar::Binary(_, a, _) | Scalar::Select(_, a, _) => self.dtype(stage, *a),
            Scalar::Check { value, .. } => self.dtype(stage, *value),
            Scalar::Acc(i) | Scalar::AccBefore(i) => {
                let acc = &stage.accs[*i as usize];
                if acc.op.is_arg() { DType::I64 } else { acc.dtype }
            }
        }
    }

    /// The operands of an expression.
    pub fn operands(&self, id: ExprId) -> Vec<ExprId> {
        match self.expr(id) {
            Scalar::Float(..)
            | Scalar::Int(..)
            | Scalar::Axis(_)
            | Scalar::Dim(_)
            | Scalar::Acc(_)
            | Scalar::AccBefore(_) => vec![],
            Scalar::Load { index, guard, .. } => index.iter().copied().chain(*guard).collect(),
            Scalar::Unary(_, a) | Scalar::Cast(_, a) | Scalar::Bitcast(_, a) => vec![*a],
            Scalar::Binary(_, a, b) | Scalar::Compare(_, a, b) => vec![*a, *b],
            Scalar::Select(c, a, b) => vec![*c, *a, *b],
            Scalar::Check { cond, value } => vec![*cond, *value],
        }
    }

    /// Which expressions these use, themselves included.
    pub fn reachable(&self, roots: impl IntoIterator<Item = ExprId>) -> Vec<bool> {
        let mut seen = vec![false; self.exprs.len()];
        roots.into_iter().for_each(|r| seen[r.0 as usize] = true);
        // Operands stand before their users.
        for i in (0..seen.len()).rev() {
            if seen[i] {
                self.operands(ExprId(i as u32)).iter().for_each(|o| seen[o.0 as usize] = true);
            }
        }
        seen
    }

    /// Applies `f` to every dim: extents, buffer shapes, sizes in expressions.
    pub fn map_dims(&mut self, f: &mut dyn FnMut(&Dim) -> Dim) {
        self.axes.iter_mut().for_each(|d| *d = f(d));
        self.buffers.iter_mut().flat_map(|b| b.ty.shape.iter_mut()).for_each(|d| *d = f(d));
        for e in &mut self.exprs {
            if let Scalar::Dim(d) = e {
                *d = f(d);
            }
        }
    }
}

impl AttrValue for Kernel {
    fn to_attr(&self) -> Attr {
        Attr::Kernel(Box::new(self.clone()))
    }
    fn from_attr(attr: &Attr) -> Result<Self, String> {
        match attr {
            Attr::Kernel(k) => Ok((**k).clone()),
            _ => Err("expected a kernel".to_string()),
        }
    }
    fn map_dims(&mut self, f: &mut dyn FnMut(&Dim) -> Dim) {
        Kernel::map_dims(self, f);
    }
}
