//! The slow interpreter of kernels: what a kernel means.

use super::{AccOp, AxisId, BufferKind, ExprId, Kernel, Scalar, Stage};
use crate::op::{EvalCx, EvalError};
use crate::ops::UnaryKind;
use crate::ops::broadcast::{for_each_index, strides};
use crate::tensor::Tensor;
use crate::types::DType;

/// A number of some element type.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Num {
    Float(f64),
    Int(i128),
}

impl Num {
    fn zero(dtype: DType) -> Num {
        if dtype.is_float() { Num::Float(0.0) } else { Num::Int(0) }
    }

    fn int(self) -> i128 {
        match self {
            Num::Int(v) => v,
            Num::Float(v) => v as i128,
        }
    }

    fn float(self) -> f64 {
        match self {
            Num::Int(v) => v as f64,
            Num::Float(v) => v,
        }
    }

    /// Conversion as `Scalar::Cast` defines it; also rounds or wraps a raw result.
    fn cast(self, to: DType) -> Num {
        match (self, to) {
            (v, DType::Bool) => Num::Int(i128::from(match v {
                Num::Float(f) => f != 0.0,
                Num::Int(i) => i != 0,
            })),
            (Num::Int(i), to) if to.is_float() => Num::Float(to.round_float(to.float_of_int(i))),
            (Num::Float(f), to) if to.is_float() => Num::Float(to.round_float(f)),
            (Num::Float(f), to) => {
                let (lo, hi) = to.int_range().expect("an integer type");
                Num::Int((f as i128).clamp(lo, hi))
            }
            (Num::Int(i), to) => Num::Int(to.wrap_int(i)),
        }
    }
}

struct Memory {
    shape: Vec<usize>,
    dtype: DType,
    data: Vec<Num>,
}

impl Memory {
    fn position(&self, index: &[i128]) -> Option<usize> {
        let inside = index.iter().zip(&self.shape).all(|(i, n)| (0..*n as i128).contains(i));
        inside.then(|| index.iter().zip(strides(&self.shape)).map(|(i, s)| *i as usize * s).sum())
    }
}

struct Machine<'a> {
    kernel: &'a Kernel,
    cx: &'a EvalCx<'a>,
    buffers: Vec<Memory>,
    axes: Vec<usize>,
    extents: Vec<usize>,
}

/// Runs a kernel on its inputs; returns its outputs.
///
/// # Errors
/// A failed check, a size without a value, or an unguarded access outside a buffer.
pub fn interpret(kernel: &Kernel, cx: &EvalCx, inputs: &[Tensor]) -> Result<Vec<Tensor>, EvalError> {
    let mut given = inputs.iter();
    let buffers = kernel
        .buffers
        .iter()
        .map(|b| {
            let (shape, dtype) = (cx.shape(&b.ty.shape)?, b.ty.dtype);
            let data = match b.kind {
                BufferKind::Input => load_tensor(given.next().expect("an input for each buffer")),
                BufferKind::Output | BufferKind::Temp => vec![Num::zero(dtype); shape.iter().product()],
            };
            Ok(Memory { shape, dtype, data })
        })
        .collect::<Result<Vec<_>, EvalError>>()?;
    let extents = kernel.axes.iter().map(|d| cx.extent(d)).collect::<Result<Vec<_>, _>>()?;
    let mut machine = Machine { kernel, cx, buffers, axes: vec![0; kernel.axes.len()], extents };
    machine.run()?;
    Ok(kernel
        .buffers_of(BufferKind::Output)
        .map(|(id, _)| store_tensor(&machine.buffers[id.0 as usize]))
        .collect())
}

fn load_tensor(t: &Tensor) -> Vec<Num> {
    if t.dtype().is_float() {
        t.floats().into_iter().map(Num::Float).collect()
    } else {
        t.ints().into_iter().map(Num::Int).collect()
    }
}

fn store_tensor(m: &Memory) -> Tensor {
    if m.dtype.is_float() {
        Tensor::from_floats(m.dtype, m.shape.clone(), m.data.iter().map(|v| v.float()))
    } else {
        Tensor::from_ints(m.dtype, m.shape.clone(), m.data.iter().map(|v| v.int()))
    }
}

impl Machine<'_> {
    fn run(&mut self) -> Result<(), EvalError> {
        let kernel = self.kernel;
        for point in self.points(&kernel.outer) {
            self.set(&kernel.outer, &point);
            for stage in &kernel.stages {
                self.stage(stage)?;
            }
        }
        Ok(())
    }

    fn points(&self, axes: &[AxisId]) -> Vec<Vec<usize>> {
        let extents: Vec<usize> = axes.iter().map(|a| self.extents[a.0 as usize]).collect();
        let mut out = Vec::new();
        for_each_index(&extents, |i| out.push(i.to_vec()));
        out
    }

    fn set(&mut self, axes: &[AxisId], point: &[usize]) {
        axes.iter().zip(point).for_each(|(a, p)| self.axes[a.0 as usize] = *p);
    }

    fn stage(&mut self, stage: &Stage) -> Result<(), EvalError> {
        for point in self.points(&stage.axes) {
            self.set(&stage.axes, &point);
            let mut accs: Vec<Running> = stage.accs.iter().map(|a| Running::new(a.op, a.dtype)).collect();
            for (position, inner) in self.points(&stage.reduce).into_iter().enumerate() {
                self.set(&stage.reduce, &inner);
                let before: Vec<Num> = accs.iter().map(Running::result).collect();
                for (acc, def) in accs.iter_mut().zip(&stage.accs) {
                    let v = self.eval(stage, def.value, &[], &[])?;
                    acc.update(v, position);
                }
                if stage.scan {
                    let after: Vec<Num> = accs.iter().map(Running::result).collect();
                    self.stores(stage, &after, &before)?;
                }
            }
            if !stage.scan {
                let results: Vec<Num> = accs.iter().map(Running::result).collect();
                self.stores(stage, &results, &[])?;
            }
        }
        Ok(())
    }

    fn stores(&mut self, stage: &Stage, accs: &[Num], before: &[Num]) -> Result<(), EvalError> {
        for store in &stage.stores {
            if let Some(guard) = store.guard
                && self.eval(stage, guard, accs, before)?.int() == 0
            {
                continue;
            }
            let index = self.index(stage, &store.index, accs, before)?;
            let value = self.eval(stage, store.value, accs, before)?;
            let memory = &mut self.buffers[store.buffer.0 as usize];
            let at = memory
                .position(&index)
                .ok_or_else(|| EvalError::new(format!("store at {index:?} outside {:?}", memory.shape)))?;
            let dtype = memory.dtype;
            memory.data[at] = match store.update {
                None => value.cast(dtype),
                Some(kind) if dtype.is_float() => {
                    Num::Float(kind.float(memory.data[at].float(), value.float())).cast(dtype)
                }
                Some(kind) => Num::Int(kind.int(dtype, memory.data[at].int(), value.int())).cast(dtype),
            };
        }
        Ok(())
    }

    fn index(
        &self,
        stage: &Stage,
        index: &[ExprId],
        accs: &[Num],
        before: &[Num],
    ) -> Result<Vec<i128>, EvalError> {
        index.iter().map(|e| Ok(self.eval(stage, *e, accs, before)?.int())).collect()
    }

    fn eval(&self, stage: &Stage, id: ExprId, accs: &[Num], before: &[Num]) -> Result<Num, EvalError> {
        let dtype = self.kernel.dtype(stage, id);
        let go = |e: &ExprId| self.eval(stage, *e, accs, before);
        Ok(match self.kernel.expr(id) {
            Scalar::Float(_, v) => Num::Float(v.0),
            Scalar::Int(_, v) => Num::Int((*v).into()),
            Scalar::Axis(a) => Num::Int(self.axes[a.0 as usize] as i128),
            Scalar::Dim(d) => Num::Int(self.cx.dim(d)?.into()),
            Scalar::Load { buffer, index, guard } => {
                if let Some(g) = guard
                    && go(g)?.int() == 0
                {
                    return Ok(Num::zero(dtype));
                }
                let memory = &self.buffers[buffer.0 as usize];
                let index = self.index(stage, index, accs, before)?;
                let at = memory.position(&index);
                memory.data[at
                    .ok_or_else(|| EvalError::new(format!("load at {index:?} outside {:?}", memory.shape)))?]
            }
            Scalar::Unary(UnaryKind::IsNan, a) => Num::Int(go(a)?.float().is_nan().into()),
            Scalar::Unary(kind, a) => match go(a)? {
                Num::Float(v) => Num::Float(kind.float(v)).cast(dtype),
                Num::Int(v) => Num::Int(kind.int(dtype, v)).cast(dtype),
            },
            Scalar::Binary(kind, a, b) => match (go(a)?, go(b)?) {
                (Num::Int(a), Num::Int(b)) => Num::Int(kind.int(dtype, a, b)).cast(dtype),
                (a, b) => Num::Float(kind.float(a.float(), b.float())).cast(dtype),
            },
            Scalar::Compare(cmp, a, b) => Num::Int(i128::from(match (go(a)?, go(b)?) {
                (Num::Int(a), Num::Int(b)) => cmp.holds(a, b),
                (a, b) => cmp.holds(a.float(), b.float()),
            })),
            Scalar::Select(c, a, b) => {
                if go(c)?.int() != 0 {
                    go(a)?
                } else {
                    go(b)?
                }
            }
            Scalar::Cast(to, a) => go(a)?.cast(*to),
            Scalar::Bitcast(to, a) => bitcast(go(a)?, self.kernel.dtype(stage, *a), *to),
            Scalar::Acc(i) => accs[*i as usize],
            Scalar::AccBefore(i) => before[*i as usize],
            Scalar::Check { cond, value } => {
                if go(cond)?.int() == 0 {
                    return Err(EvalError::new("a run-time check failed: an index is out of range"));
                }
                go(value)?
            }
        })
    }
}

fn bitcast(v: Num, from: DType, to: DType) -> Num {
    let mut bytes = Vec::new();
    match v {
        Num::Float(f) => from.store_float(f, &mut bytes),
        Num::Int(i) => from.store_int(i, &mut bytes),
    }
    if to.is_float() { Num::Float(to.load_float(&bytes)) } else { Num::Int(to.load_int(&bytes)) }
}

/// An accumulator at work. Sums and products of floats run in f64 and are rounded at the end.
struct Running {
    op: AccOp,
    dtype: DType,
    value: Option<Num>,
    position: usize,
}

impl Running {
    fn new(op: AccOp, dtype: DType) -> Self {
        Running { op, dtype, value: None, position: 0 }
    }

    fn update(&mut self, v: Num, position: usize) {
        let Some(old) = self.value else {
            (self.value, self.position) = (Some(v), position);
            return;
        };
        let better = |max: bool, or_equal: bool| match (old, v) {
            (Num::Float(a), Num::Float(b)) => {
                let ordered = if max { b > a } else { b < a };
                let wins = !a.is_nan() && (b.is_nan() || ordered || (or_equal && a == b));
                wins || (or_equal && a.is_nan() && b.is_nan())
            }
            (a, b) => {
                let ordered = if max { b.int() > a.int() } else { b.int() < a.int() };
                ordered || (or_equal && a.int() == b.int())
            }
        };
        let replace = match self.op {
            AccOp::Sum => {
                self.value = Some(self.arith(old, v, |a, b| a + b, |a, b| a + b));
                return;
            }
            AccOp::Prod => {
                self.value = Some(self.arith(old, v, |a, b| a * b, |a, b| a.wrapping_mul(b)));
                return;
            }
            AccOp::Max => better(true, false),
            AccOp::Min => better(false, false),
            AccOp::ArgMax { last } => better(true, last),
            AccOp::ArgMin { last } => better(false, last),
        };
        if replace {
            (self.value, self.position) = (Some(v), position);
        }
    }

    fn arith(&self, a: Num, b: Num, f: impl Fn(f64, f64) -> f64, i: impl Fn(i128, i128) -> i128) -> Num {
        match (a, b) {
            (Num::Int(a), Num::Int(b)) => Num::Int(self.dtype.wrap_int(i(a, b))),
            (a, b) => Num::Float(f(a.float(), b.float())),
        }
    }

    fn result(&self) -> Num {
        if self.op.is_arg() {
            return Num::Int(self.position as i128);
        }
        self.value.unwrap_or_else(|| self.identity()).cast(self.dtype)
    }

    fn identity(&self) -> Num {
        let extreme = |high: bool| match self.dtype.int_range() {
            Some((lo, hi)) => Num::Int(if high { hi } else { lo }),
            None => Num::Float(if high { f64::INFINITY } else { f64::NEG_INFINITY }),
        };
        match self.op {
            AccOp::Sum => Num::zero(self.dtype),
            AccOp::Prod => {
                if self.dtype.is_float() {
                    Num::Float(1.0)
                } else {
                    Num::Int(1)
                }
            }
            AccOp::Max => extreme(false),
            AccOp::Min => extreme(true),
            AccOp::ArgMax { .. } | AccOp::ArgMin { .. } => Num::Int(0),
        }
    }
}
