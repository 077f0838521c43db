//! The verifier of kernels: every broken rule, in words. Text and passes that build kernels are checked by it.

use super::{AxisId, BufferId, BufferKind, ExprId, Kernel, Scalar, Stage};
use crate::ops::UnaryKind;
use crate::types::DType;

impl Kernel {
    /// Checks that ids exist, axes are in scope, indices fit their buffers and operands have the types that they
    /// must have.
    pub fn verify(&self) -> Result<(), Vec<String>> {
        let mut found = Vec::new();
        for (i, b) in self.buffers.iter().enumerate() {
            if b.ty.dtype == DType::String || b.ty.dtype.is_complex() {
                found.push(format!("b{i} has elements of type {}", b.ty.dtype));
            }
        }
        let in_range = |(i, e): (usize, &Scalar)| {
            let id = ExprId(i as u32);
            let refers = match e {
                Scalar::Axis(a) => (a.0 as usize) < self.axes.len(),
                Scalar::Load { buffer, .. } => (buffer.0 as usize) < self.buffers.len(),
                _ => true,
            };
            refers && self.operands(id).iter().all(|o| o.0 < id.0)
        };
        let stores = self.stages.iter().flat_map(|s| &s.stores);
        let roots = self.stages.iter().flat_map(Stage::exprs);
        if !self.exprs.iter().enumerate().all(in_range)
            || !stores.into_iter().all(|s| (s.buffer.0 as usize) < self.buffers.len())
            || !roots.into_iter().all(|e| (e.0 as usize) < self.exprs.len())
        {
            found.push("an id names nothing that stands before it".to_string());
        }
        // Without sound ids nothing else can be looked at.
        if found.is_empty() {
            for (i, stage) in self.stages.iter().enumerate() {
                let broken = StageCheck::new(self, stage).run();
                found.extend(broken.into_iter().map(|what| format!("stage {i}: {what}")));
            }
        }
        if found.is_empty() { Ok(()) } else { Err(found) }
    }
}

struct StageCheck<'k> {
    kernel: &'k Kernel,
    stage: &'k Stage,
    /// Element types of the expressions that are known in this stage.
    types: Vec<Option<DType>>,
    found: Vec<String>,
}

impl<'k> StageCheck<'k> {
    fn new(kernel: &'k Kernel, stage: &'k Stage) -> Self {
        StageCheck { kernel, stage, types: vec![None; kernel.exprs.len()], found: Vec::new() }
    }

    fn run(mut self) -> Vec<String> {
        let (kernel, stage) = (self.kernel, self.stage);
        let axes: Vec<AxisId> =
            kernel.outer.iter().chain(&stage.axes).chain(&stage.reduce).copied().collect();
        for (i, a) in axes.iter().enumerate() {
            if a.0 as usize >= kernel.axes.len() || axes[..i].contains(a) {
                self.found.push(format!("axis i{} is unknown or there twice", a.0));
            }
        }
        let in_accs = self.reachable(stage.accs.iter().map(|a| a.value));
        let in_stores = self.reachable(
            stage.stores.iter().flat_map(|s| s.index.iter().chain([&s.value]).chain(&s.guard)).copied(),
        );
        for i in 0..kernel.exprs.len() {
            if in_accs[i] || in_stores[i] {
                self.types[i] = self.dtype(ExprId(i as u32), &axes, in_accs[i]);
            }
        }
        for acc in &stage.accs {
            let known = self.types[acc.value.0 as usize];
            // f32 holds what narrower floats hold.
            let widened = |t: DType| acc.dtype == DType::F32 && t.is_float() && t != DType::F64;
            let fits = acc.op.is_arg() || known.is_none_or(|t| t == acc.dtype || widened(t));
            self.require(fits, || format!("{} accumulates {known:?} in {}", acc.op.name(), acc.dtype));
        }
        for store in &stage.stores {
            let writable = kernel.buffer(store.buffer).kind != BufferKind::Input;
            self.require(writable, || format!("b{} is an input and can't be written", store.buffer.0));
            self.index(store.buffer, &store.index);
            self.guard(store.guard);
        }
        self.found
    }

    fn require(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.found.push(what());
        }
    }

    fn reachable(&self, roots: impl Iterator<Item = ExprId>) -> Vec<bool> {
        let mut seen = vec![false; self.kernel.exprs.len()];
        roots.for_each(|r| seen[r.0 as usize] = true);
        for i in (0..seen.len()).rev().map(|i| ExprId(i as u32)) {
            if seen[i.0 as usize] {
                self.kernel.operands(i).iter().for_each(|o| seen[o.0 as usize] = true);
            }
        }
        seen
    }

    /// The type of an expression whose operands are done; None where something is wrong with it.
    fn dtype(&mut self, id: ExprId, axes: &[AxisId], in_acc: bool) -> Option<DType> {
        let ty = |e: &ExprId| self.types[e.0 as usize];
        let scalar = self.kernel.expr(id);
        let (fits, result) = match scalar {
            Scalar::Float(d, _) => (d.is_float(), Some(*d)),
            Scalar::Int(d, v) => {
                (d.int_range().is_some() && d.wrap_int((*v).into()) == (*v).into(), Some(*d))
            }
            Scalar::Axis(a) => (axes.contains(a), Some(DType::I64)),
            Scalar::Dim(_) => (true, Some(DType::I64)),
            Scalar::Load { buffer, index, guard } => {
                let dtype = self.kernel.buffer(*buffer).ty.dtype;
                let (buffer, index, guard) = (*buffer, index.clone(), *guard);
                self.index(buffer, &index);
                self.guard(guard);
                return Some(dtype);
            }
            Scalar::Unary(UnaryKind::IsNan, a) => (ty(a)?.is_float(), Some(DType::Bool)),
            Scalar::Unary(UnaryKind::Not, a) => (!ty(a)?.is_float(), ty(a)),
            Scalar::Unary(kind, a) => (ty(a)?.is_float() || (ty(a)?.is_int() && kind.takes_ints()), ty(a)),
            Scalar::Binary(kind, a, b) => {
                (ty(a)? == ty(b)? && (kind.takes_floats() || !ty(a)?.is_float()), ty(a))
            }
            Scalar::Compare(_, a, b) => (ty(a)? == ty(b)?, Some(DType::Bool)),
            Scalar::Select(c, a, b) => (ty(c)? == DType::Bool && ty(a)? == ty(b)?, ty(a)),
            Scalar::Cast(d, a) => {
                let numeric = *d != DType::String && !d.is_complex();
                (numeric, ty(a).map(|_| *d))
            }
            Scalar::Bitcast(d, a) => (d.bits() == ty(a)?.bits() && !d.is_complex(), Some(*d)),
            Scalar::Acc(i) | Scalar::AccBefore(i) => {
                let scanned = matches!(scalar, Scalar::Acc(_)) || self.stage.scan;
                let acc = self.stage.accs.get(*i as usize);
                let result = acc.map(|a| if a.op.is_arg() { DType::I64 } else { a.dtype });
                (!in_acc && scanned && acc.is_some(), result)
            }
            Scalar::Check { cond, value } => (ty(cond)? == DType::Bool, ty(value)),
        };
        self.require(fits, || format!("{scalar:?} can't stand here or has operands of wrong types"));
        result.filter(|_| fits)
    }

    fn index(&mut self, buffer: BufferId, index: &[ExprId]) {
        let rank = self.kernel.buffer(buffer).ty.rank();
        self.require(index.len() == rank, || {
            format!("b{} takes {rank} indices, not {}", buffer.0, index.len())
        });
        let whole = index.iter().all(|e| self.types[e.0 as usize].is_none_or(DType::is_int));
        self.require(whole, || format!("an index of b{} is no integer", buffer.0));
    }

    fn guard(&mut self, guard: Option<ExprId>) {
        let fits = guard.is_none_or(|g| self.types[g.0 as usize].is_none_or(|t| t == DType::Bool));
        self.require(fits, || "a guard isn't bool".to_string());
    }
}
