//! The loop nest of a stage: parallel axes outside, reductions inside, unless the last parallel axis is the one
//! that memory is contiguous in; then a block of it runs inside the reductions, with accumulators in an array.
//! Vectors come from LLVM's loop vectoriser: innermost loops are written so that it can.

use super::access::{self, Stride, stride_of};
use super::bounds::Bounds;
use super::emitter::Emitter;
use super::parts;
use super::repr::register;
use super::writer::{F32, F64, Ty, Val};
use tcc_ir::kernel::{Acc, AccOp, AxisId, Kernel, Scalar, Stage};
use tcc_ir::{DType, Dim};

/// Elements of the last axis that a reduction keeps accumulators for at once.
pub const BLOCK: i64 = 256;

/// What a block accumulates in: an array's name and its element type.
pub type Array = (String, Ty);

/// An innermost reduction up to this long counts as a window's.
const WINDOW: i64 = 16;

/// Whether the last parallel axis should run inside the reductions: memory is contiguous along it, and nothing
/// is read at a stride along it. Of a window that moves by a few elements there is nothing better to run along.
pub fn wants_block(kernel: &Kernel, stage: &Stage, last: Option<AxisId>) -> bool {
    let Some(last) = last.filter(|_| !stage.reduce.is_empty()) else { return false };
    if stage.accs.is_empty()
        || stage.accs.iter().any(|a| a.op.is_arg())
        || kernel.extent(last).as_const().is_some_and(|n| n < 4)
    {
        return false;
    }
    let strides: Vec<Stride> = loads_of(kernel, stage).map(|e| stride_of(kernel, e, last)).collect();
    let narrow =
        stage.reduce.last().is_some_and(|a| kernel.extent(*a).as_const().is_some_and(|n| n <= WINDOW));
    let along = |s: &Stride| *s == Stride::One || *s == Stride::Few && narrow;
    strides.iter().any(along) && strides.iter().all(|s| along(s) || *s == Stride::Zero)
}

/// The loads that the accumulators' values use.
fn loads_of<'k>(kernel: &'k Kernel, stage: &Stage) -> impl Iterator<Item = &'k Scalar> {
    let mut todo: Vec<_> = stage.accs.iter().map(|a| a.value).collect();
    let mut seen = indexmap::IndexSet::new();
    while let Some(id) = todo.pop() {
        if seen.insert(id) {
            todo.extend(kernel.operands(id));
        }
    }
    seen.into_iter().map(|id| kernel.expr(id)).filter(|e| matches!(e, Scalar::Load { .. }))
}

impl Emitter<'_> {
    /// A loop whose body works on the emitter. What is computed inside isn't known after it.
    pub fn for_loop(
        &mut self,
        (lo, hi): (&Val, &Val),
        step: i64,
        carried: &[Val],
        body: impl FnOnce(&mut Self, Val, &[Val]) -> Vec<Val>,
    ) -> Vec<Val> {
        let step = self.w.index(step);
        let open = self.w.open_for((lo, hi, &step), carried);
        let saved = std::mem::take(&mut self.known);
        let (iv, inside) = (open.iv.clone(), open.carried.clone());
        let next = body(self, iv, &inside);
        self.known = saved;
        self.w.close_for(open, &next)
    }

    /// Nested loops over axes, outermost first.
    pub fn over_axes(
        &mut self,
        axes: &[AxisId],
        carried: &[Val],
        body: &mut dyn FnMut(&mut Self, &[Val]) -> Vec<Val>,
    ) -> Vec<Val> {
        let Some((axis, rest)) = axes.split_first() else { return body(self, carried) };
        let (lo, hi) = self.range(*axis);
        self.for_loop((&lo, &hi), 1, carried, |e, iv, inside| {
            e.enter(*axis, &iv);
            e.over_axes(rest, inside, body)
        })
    }

    /// The positions on an axis that this call does: all, or the tile's stretch.
    pub fn range(&mut self, axis: AxisId) -> (Val, Val) {
        match &self.stretch {
            Some((a, lo, hi)) if *a == axis => (lo.clone(), hi.clone()),
            _ => {
                let extent = self.kernel.extent(axis).clone();
                (self.w.index(0), self.dim_index(&extent))
            }
        }
    }

    /// How many points `axes` have together, of type index: of a stretch only those up to its end.
    pub fn n_points(&mut self, axes: &[AxisId]) -> Val {
        match (&self.stretch, axes.split_first()) {
            (Some((axis, _, hi)), Some((first, rest))) if axis == first => {
                let hi = hi.clone();
                let rest = self.dim_index(&access::product(self.kernel, rest));
                self.w.bin("arith.muli", &hi, &rest)
            }
            _ => self.dim_index(&access::product(self.kernel, axes)),
        }
    }

    /// Moves to a position given as index.
    pub fn enter(&mut self, axis: AxisId, iv: &Val) {
        let at = self.w.index_cast(iv, super::scalar::INDEX);
        self.set_axis(axis, at);
    }

    /// Writes a stage whose axes in `fixed` already have a position.
    pub fn stage(&mut self, stage: &Stage, fixed: &[AxisId]) {
        let free: Vec<AxisId> = stage.axes.iter().copied().filter(|a| !fixed.contains(a)).collect();
        if !stage.scan && wants_block(self.kernel, stage, free.last().copied()) {
            let (last, outer) = free.split_last().expect("has a last axis");
            let beyond = [&[*last], &stage.reduce[..]].concat();
            let bounds = Bounds::of(self.kernel, stage, *last);
            self.over_stage_axes(stage, (outer, &beyond), &[], &mut |e, _| {
                if !e.windowed(stage, *last) {
                    let (lo, hi) = e.range(*last);
                    e.blocked(stage, *last, (&lo, &hi), bounds.as_ref());
                }
                vec![]
            });
            return;
        }
        if let Some(guard) = parts::guard_of(self.kernel, stage).filter(|_| !free.is_empty()) {
            return self.in_parts(stage, &free, guard);
        }
        self.over_stage_axes(stage, (&free, &stage.reduce), &[], &mut |e, _| {
            e.point(stage);
            vec![]
        });
    }

    /// One point of the parallel axes: accumulate, then store.
    pub fn point(&mut self, stage: &Stage) {
        let inits: Vec<Val> = stage.accs.iter().flat_map(|a| self.identity(a)).collect();
        let finals = self.over_stage_axes(stage, (&stage.reduce, &[]), &inits, &mut |e, running| {
            e.accs_before = e.visible(stage, running);
            let next = e.update(stage, running);
            if stage.scan {
                e.accs = e.visible(stage, &next);
                let saved = e.known.clone();
                e.stores(stage);
                e.known = saved;
            }
            next
        });
        if !stage.scan {
            self.accs = self.visible(stage, &finals);
            self.known.clear();
            self.stores(stage);
            self.known.clear();
        }
    }

    /// A reduction with the block of the axis `last` innermost, for these positions on it, under a guard with these
    /// bounds.
    pub fn blocked(
        &mut self,
        stage: &Stage,
        last: AxisId,
        (first, n): (&Val, &Val),
        bounds: Option<&Bounds>,
    ) {
        let arrays = self.block_arrays(stage);
        self.for_loop((first, n), BLOCK, &[], |e, start, _| {
            let block = e.w.index(BLOCK);
            let end = e.w.bin("arith.addi", &start, &block);
            let end = e.w.bin("arith.minsi", &end, n);
            let each = |e: &mut Self, (lo, hi): (&Val, &Val), body: &mut dyn FnMut(&mut Self, &Val)| {
                e.for_loop((lo, hi), 1, &[], |e, at, _| {
                    e.enter(last, &at);
                    body(e, &at);
                    vec![]
                });
            };
            let whole = (&start, &end);
            each(e, whole, &mut |e, at| {
                let inits: Vec<Val> = stage.accs.iter().flat_map(|acc| e.identity(acc)).collect();
                e.store_block(&arrays, (&start, at), &inits);
            });
            e.over_stage_axes(stage, (&stage.reduce, &[last]), &[], &mut |e, _| {
                let inside = bounds.map(|b| b.range(e, stage, whole));
                let inside = inside.as_ref().map_or(whole, |(lo, hi)| (lo, hi));
                let mut accumulate = |e: &mut Self, at: &Val| {
                    if let Some(bounds) = bounds {
                        let holds = e.w.int(super::writer::I1, 1);
                        e.known.insert(bounds.guard, holds);
                    }
                    let running: Vec<Val> = e.load_block(&arrays, (&start, at));
                    let next = e.update(stage, &running);
                    e.store_block(&arrays, (&start, at), &next);
                };
                // Where a guard bounds the loop it may be empty, and a check in front of it would be one too many.
                match bounds {
                    Some(_) => each(e, inside, &mut accumulate),
                    None => e.hoisting(stage, &[last], |e| each(e, inside, &mut accumulate)),
                }
                vec![]
            });
            each(e, whole, &mut |e, at| e.stores_of_block(stage, &arrays, (&start, at)));
            vec![]
        });
    }

    /// An array for each accumulator of a block.
    pub fn block_arrays(&mut self, stage: &Stage) -> Vec<Array> {
        let ty = |acc: &Acc| register(acc.dtype);
        stage.accs.iter().map(|acc| (self.array(ty(acc), BLOCK), ty(acc))).collect()
    }

    fn load_block(&mut self, arrays: &[Array], (start, at): (&Val, &Val)) -> Vec<Val> {
        let j = self.w.bin("arith.subi", at, start);
        let load = |(name, ty): &Array| {
            self.w.def(*ty, format_args!("memref.load {name}[{j}] : memref<{BLOCK}x{ty}>"))
        };
        arrays.iter().map(load).collect()
    }

    pub fn store_block(&mut self, arrays: &[Array], (start, at): (&Val, &Val), values: &[Val]) {
        let j = self.w.bin("arith.subi", at, start);
        for (v, (name, ty)) in values.iter().zip(arrays) {
            self.w.line(format_args!("memref.store {v}, {name}[{j}] : memref<{BLOCK}x{ty}>"));
        }
    }

    /// The stores at a position of a block that is accumulated.
    pub fn stores_of_block(&mut self, stage: &Stage, arrays: &[Array], at: (&Val, &Val)) {
        let finals = self.load_block(arrays, at);
        self.accs = self.visible(stage, &finals);
        self.stores(stage);
    }

    /// The accumulators' starting values: one for each, two (value, position) for an `arg_*`.
    pub fn identity(&mut self, acc: &Acc) -> Vec<Val> {
        let ty = register(acc.dtype);
        let extreme = |high: bool| match acc.dtype.int_range() {
            Some((lo, hi)) => (0.0, if high { hi } else { lo } as i64),
            None => (if high { f64::INFINITY } else { f64::NEG_INFINITY }, 0),
        };
        let (float, int) = match acc.op {
            AccOp::Sum => (0.0, 0),
            AccOp::Prod => (1.0, 1),
            AccOp::Max | AccOp::ArgMax { .. } => extreme(false),
            AccOp::Min | AccOp::ArgMin { .. } => extreme(true),
        };
        let value = if matches!(ty, Ty::Float(_)) { self.w.float(ty, float) } else { self.w.int(ty, int) };
        if acc.op.is_arg() { vec![value, self.w.int(super::scalar::INDEX, 0)] } else { vec![value] }
    }

    /// What `Scalar::Acc` shows of the running values: rounded results, positions for `arg_*`.
    pub fn visible(&mut self, stage: &Stage, running: &[Val]) -> Vec<Val> {
        let mut values = running.iter();
        stage
            .accs
            .iter()
            .map(|acc| {
                let v = values.next().expect("a value for each accumulator");
                if acc.op.is_arg() {
                    values.next().expect("and a position").clone()
                } else {
                    self.settle(acc.dtype, v)
                }
            })
            .collect()
    }

    /// Takes the present point into the accumulators.
    pub fn update(&mut self, stage: &Stage, running: &[Val]) -> Vec<Val> {
        let mut values = running.iter();
        let mut next = Vec::new();
        for acc in &stage.accs {
            let old = values.next().expect("a value for each accumulator").clone();
            let from = self.kernel.dtype(stage, acc.value);
            let v = self.eval(stage, acc.value);
            let v = self.cast(from, acc.dtype, &v);
            if acc.op.is_arg() {
                let at = values.next().expect("and a position").clone();
                next.extend(self.update_arg(stage, acc, &v, (&old, &at)));
            } else {
                next.push(self.combine(acc.op, acc.dtype, &old, &v));
            }
        }
        next
    }

    /// `old <op> v`. Sums and products of floats may be reordered.
    pub fn combine(&mut self, op: AccOp, dtype: DType, old: &Val, v: &Val) -> Val {
        let signed = dtype.is_signed_int();
        let name = match (op, old.ty) {
            (AccOp::Sum | AccOp::Prod, F32 | F64) => {
                let name = if op == AccOp::Sum { "arith.addf" } else { "arith.mulf" };
                // What threads of a GPU share out is their schedule's choice.
                let flags = if self.target.is_gpu() { "" } else { " fastmath<reassoc>" };
                return self.w.def(old.ty, format_args!("{name} {old}, {v}{flags} : {}", old.ty));
            }
            // One operation, which LLVM makes vectors of, unlike the comparisons that arith's becomes. Zeros are equal.
            (AccOp::Max | AccOp::Min, F32 | F64) if self.target.vector_bits > 0 && !self.target.is_gpu() => {
                let (name, ty) = (if op == AccOp::Max { "maximum" } else { "minimum" }, old.ty);
                let flags = "{fastmathFlags = #llvm.fastmath<nsz>}";
                return self
                    .w
                    .def(ty, format_args!("llvm.intr.{name}({old}, {v}) {flags} : ({ty}, {ty}) -> {ty}"));
            }
            (AccOp::Max, F32 | F64) => "arith.maximumf",
            (AccOp::Min, F32 | F64) => "arith.minimumf",
            (AccOp::Sum | AccOp::Max, _) if dtype == DType::Bool => "arith.ori",
            (AccOp::Prod | AccOp::Min, _) if dtype == DType::Bool => "arith.andi",
            (AccOp::Sum, _) => "arith.addi",
            (AccOp::Prod, _) => "arith.muli",
            (AccOp::Max, _) => {
                if signed {
                    "arith.maxsi"
                } else {
                    "arith.maxui"
                }
            }
            (AccOp::Min, _) => {
                if signed {
                    "arith.minsi"
                } else {
                    "arith.minui"
                }
            }
            (AccOp::ArgMax { .. } | AccOp::ArgMin { .. }, _) => {
                unreachable!("positions are updated by update_arg")
            }
        };
        self.w.bin(name, old, v)
    }

    fn update_arg(&mut self, stage: &Stage, acc: &Acc, v: &Val, (old, at): (&Val, &Val)) -> [Val; 2] {
        let here = self.reduce_position(stage);
        let (max, last) = match acc.op {
            AccOp::ArgMax { last } => (true, last),
            AccOp::ArgMin { last } => (false, last),
            _ => unreachable!("only positions"),
        };
        let w = &mut self.w;
        let float = matches!(v.ty, Ty::Float(_));
        let sign = match (float, acc.dtype.is_signed_int()) {
            (true, _) => "o",
            (false, true) => "s",
            (false, false) => "u",
        };
        let order = match (max, last) {
            (true, false) => "gt",
            (true, true) => "ge",
            (false, false) => "lt",
            (false, true) => "le",
        };
        let mut better = w.cmp(&format!("{sign}{order}"), v, old);
        if float {
            // The first NaN (or the last) beats every number.
            let is_nan = w.cmp("uno", v, v);
            let wins = if last {
                is_nan
            } else {
                let fresh = w.cmp("ord", old, old);
                w.bin("arith.andi", &is_nan, &fresh)
            };
            let old_is_number = w.cmp("ord", old, old);
            better = w.bin("arith.andi", &better, &old_is_number);
            better = w.bin("arith.ori", &better, &wins);
        }
        [w.select(&better, v, old), w.select(&better, &here, at)]
    }

    /// Row-major position over the reduce axes, i64.
    fn reduce_position(&mut self, stage: &Stage) -> Val {
        let mut at: Option<Val> = None;
        for axis in &stage.reduce {
            let here = self.axis(*axis);
            at = Some(match at {
                None => here,
                Some(outer) => {
                    let n: Dim = self.kernel.extent(*axis).clone();
                    let n = self.dim(&n);
                    let scaled = self.w.bin("arith.muli", &outer, &n);
                    self.w.bin("arith.addi", &scaled, &here)
                }
            });
        }
        at.unwrap_or_else(|| self.w.int(super::scalar::INDEX, 0))
    }

    pub fn stores(&mut self, stage: &Stage) {
        for store in &stage.stores {
            let guard = store.guard.map(|g| self.eval(stage, g));
            let at = self.position(stage, store.buffer, &store.index);
            let from = self.kernel.dtype(stage, store.value);
            let value = self.eval(stage, store.value);
            let to = self.kernel.buffer(store.buffer).ty.dtype;
            let value = self.cast(from, to, &value);
            let open = guard.as_ref().map(|g| self.w.open_if(g));
            let value = match store.update {
                None => value,
                Some(kind) => {
                    let old = self.load(store.buffer, &at);
                    let raw = self.binary(kind, to, &old, &value);
                    self.settle(to, &raw)
                }
            };
            self.store(store.buffer, &at, &value);
            if open.is_some() {
                self.w.close_if();
            }
            // A store may change what a later load of the same place sees.
            let kernel = self.kernel;
            self.known.retain(|id, _| !access::reads(kernel, *id, store.buffer));
        }
    }
}
