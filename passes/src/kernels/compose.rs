//! Composition of kernels: substitution of a producer's value into a consumer, and of a consumer into a producer's
//! store. Legality only; whether it pays is decided by the caller.

use indexmap::IndexMap;
use tcc_ir::kernel::{AxisId, BufferId, BufferKind, Builder, ExprId, Kernel, Scalar, Stage, Store};
use tcc_ir::ops::BinaryKind;
use tcc_ir::{DType, Dim};

/// A kernel whose input and output buffers stand for the caller's values `V`, in buffer order.
#[derive(Clone, Debug)]
pub struct Bound<V> {
    pub kernel: Kernel,
    pub inputs: Vec<V>,
    pub outputs: Vec<V>,
}

impl<V: Copy + PartialEq> Bound<V> {
    pub(super) fn input_buffer(&self, value: V) -> Option<BufferId> {
        let at = self.inputs.iter().position(|v| *v == value)?;
        self.kernel.buffers_of(BufferKind::Input).nth(at).map(|(id, _)| id)
    }

    pub(super) fn output_buffer(&self, value: V) -> Option<BufferId> {
        let at = self.outputs.iter().position(|v| *v == value)?;
        self.kernel.buffers_of(BufferKind::Output).nth(at).map(|(id, _)| id)
    }
}

/// Whether the kernel is one stage that stores one value at each point of its axes, in order: a pure map.
pub fn is_map(kernel: &Kernel) -> bool {
    let [stage] = kernel.stages.as_slice() else { return false };
    let [store] = stage.stores.as_slice() else { return false };
    kernel.outer.is_empty()
        && !kernel.serial
        && stage.reduce.is_empty()
        // A reduction over no axes still has an accumulator.
        && stage.accs.is_empty()
        && store.update.is_none()
        && store.guard.is_none()
        && is_identity(kernel, &stage.axes, &store.index)
        && kernel.buffers_of(BufferKind::Temp).next().is_none()
}

/// Whether `index` is the positions on `axes`, in order.
pub(super) fn is_identity(kernel: &Kernel, axes: &[AxisId], index: &[ExprId]) -> bool {
    axes.len() == index.len() && axes.iter().zip(index).all(|(a, i)| *kernel.expr(*i) == Scalar::Axis(*a))
}

/// Copies expressions of one kernel into another under construction.
pub(super) struct Copier<'k> {
    pub from: &'k Kernel,
    /// What buffers of `from` are in the new kernel.
    pub buffers: IndexMap<BufferId, BufferId>,
    /// What axes of `from` are in the new kernel.
    pub axes: IndexMap<AxisId, ExprId>,
    /// Loads of this buffer are replaced by what the closure of the caller gives.
    pub replaced: Option<BufferId>,
    /// Conjoined to every load.
    pub guard: Option<ExprId>,
    pub done: IndexMap<ExprId, ExprId>,
}

pub(super) type Replace<'a> = &'a mut dyn FnMut(&mut Builder, &[ExprId], Option<ExprId>) -> ExprId;

impl Copier<'_> {
    pub fn expr(&mut self, b: &mut Builder, id: ExprId, replace: Replace) -> ExprId {
        if let Some(done) = self.done.get(&id) {
            return *done;
        }
        let from = self.from;
        let scalar = match from.expr(id) {
            Scalar::Axis(a) => return self.axes[a],
            Scalar::Load { buffer, index, guard } => {
                let index: Vec<ExprId> = index.iter().map(|e| self.expr(b, *e, replace)).collect();
                let own = guard.map(|g| self.expr(b, g, replace));
                let guard = b.all_of(own.into_iter().chain(self.guard));
                if self.replaced == Some(*buffer) {
                    let v = replace(b, &index, guard);
                    self.done.insert(id, v);
                    return v;
                }
                Scalar::Load { buffer: self.buffers[buffer], index, guard }
            }
            Scalar::Unary(kind, a) => Scalar::Unary(*kind, self.expr(b, *a, replace)),
            Scalar::Binary(kind, x, y) => {
                let (x, y) = (self.expr(b, *x, replace), self.expr(b, *y, replace));
                let v = b.binary(*kind, x, y);
                self.done.insert(id, v);
                return v;
            }
            Scalar::Compare(cmp, x, y) => {
                Scalar::Compare(*cmp, self.expr(b, *x, replace), self.expr(b, *y, replace))
            }
            Scalar::Select(c, x, y) => {
                let (c, x, y) =
                    (self.expr(b, *c, replace), self.expr(b, *x, replace), self.expr(b, *y, replace));
                Scalar::Select(c, x, y)
            }
            Scalar::Cast(to, a) => Scalar::Cast(*to, self.expr(b, *a, replace)),
            Scalar::Bitcast(to, a) => Scalar::Bitcast(*to, self.expr(b, *a, replace)),
            Scalar::Check { cond, value } => {
                let mut cond = self.expr(b, *cond, replace);
                // Where a guard keeps the value from being used, its check must not fail the run.
                if let Some(g) = self.guard {
                    let pass = b.unary(tcc_ir::ops::UnaryKind::Not, g);
                    cond = b.expr(Scalar::Binary(tcc_ir::ops::BinaryKind::Or, pass, cond));
                }
                Scalar::Check { cond, value: self.expr(b, *value, replace) }
            }
            leaf @ (Scalar::Float(..)
            | Scalar::Int(..)
            | Scalar::Dim(_)
            | Scalar::Acc(_)
            | Scalar::AccBefore(_)) => leaf.clone(),
        };
        let v = b.expr(scalar);
        self.done.insert(id, v);
        v
    }
}

/// The conditions that evaluating these expressions checks.
fn checks_in(kernel: &Kernel, exprs: &[ExprId]) -> Vec<ExprId> {
    let (mut todo, mut found) = (exprs.to_vec(), Vec::new());
    while let Some(id) = todo.pop() {
        if let Scalar::Check { cond, .. } = kernel.expr(id)
            && !found.contains(cond)
        {
            found.push(*cond);
        }
        todo.extend(kernel.operands(id));
    }
    found
}

/// A value of type `from` stored to a buffer of type `to` and read back.
fn through(b: &mut Builder, v: ExprId, from: DType, to: DType) -> ExprId {
    if from == to { v } else { b.cast(to, v) }
}

/// Substitutes the map `producer` into `consumer`, which reads its result `value`. Buffers of equal values become
/// one. None when it isn't legal.
pub fn inline_producer<V: Copy + PartialEq>(
    consumer: &Bound<V>,
    producer: &Bound<V>,
    value: V,
) -> Option<Bound<V>> {
    if !is_map(&producer.kernel) || producer.outputs.as_slice() != [value] {
        return None;
    }
    let replaced = consumer.input_buffer(value)?;
    let mut b = Builder::new(joined(&producer.kernel.name, &consumer.kernel.name));
    let mut inputs: Vec<V> = Vec::new();
    let mut input_buffers: Vec<BufferId> = Vec::new();
    let mut bind =
        |b: &mut Builder, from: &Bound<V>, skip: Option<BufferId>| -> IndexMap<BufferId, BufferId> {
            let mut map = IndexMap::new();
            for ((id, buffer), v) in from.kernel.buffers_of(BufferKind::Input).zip(&from.inputs) {
                if Some(id) == skip {
                    continue;
                }
                let known = inputs
                    .iter()
                    .position(|x| x == v)
                    .filter(|i| b.kernel().buffer(input_buffers[*i]).ty == buffer.ty);
                let to = match known {
                    Some(i) => input_buffers[i],
                    None => {
                        let to = b.input(&buffer.ty);
                        inputs.push(*v);
                        input_buffers.push(to);
                        to
                    }
                };
                map.insert(id, to);
            }
            map
        };
    let producer_buffers = bind(&mut b, producer, None);
    let mut consumer_buffers = bind(&mut b, consumer, Some(replaced));
    for (i, buffer) in
        consumer.kernel.buffers.iter().enumerate().filter(|(_, buffer)| buffer.kind != BufferKind::Input)
    {
        let to = b.buffer(buffer.kind, buffer.ty.clone());
        consumer_buffers.insert(BufferId(i as u32), to);
    }
    let axes: IndexMap<AxisId, AxisId> =
        consumer.kernel.axes.iter().enumerate().map(|(i, n)| (AxisId(i as u32), b.axis(n))).collect();
    let positions: IndexMap<AxisId, ExprId> = axes.iter().map(|(old, new)| (*old, b.at(*new))).collect();

    let source = &producer.kernel;
    let [stage] = source.stages.as_slice() else { return None };
    let store = &stage.stores[0];
    let (from, to) = (source.dtype(stage, store.value), source.buffer(store.buffer).ty.dtype);
    let mut replace = |b: &mut Builder, index: &[ExprId], guard: Option<ExprId>| {
        let mut copier = Copier {
            from: source,
            buffers: producer_buffers.clone(),
            axes: stage.axes.iter().copied().zip(index.iter().copied()).collect(),
            replaced: None,
            guard,
            done: IndexMap::new(),
        };
        let v = copier.expr(b, store.value, &mut |_, _, _| unreachable!("nothing is replaced in a producer"));
        let v = through(b, v, from, to);
        // A producer that doesn't look at its position leaves the checks of the index without a user.
        let v = checks_in(b.kernel(), index)
            .into_iter()
            .fold(v, |v, cond| b.expr(Scalar::Check { cond, value: v }));
        match guard {
            Some(g) if !is_zero_unless(b.kernel(), v, g) => {
                let zero = b.constant(to, 0.0);
                b.select(g, v, zero)
            }
            _ => v,
        }
    };
    let rename = |list: &[AxisId]| list.iter().map(|a| axes[a]).collect::<Vec<_>>();
    for stage in &consumer.kernel.stages {
        // Accumulators are the stage's own: expressions that mention them aren't shared with other stages.
        let mut copier = Copier {
            from: &consumer.kernel,
            buffers: consumer_buffers.clone(),
            axes: positions.clone(),
            replaced: Some(replaced),
            guard: None,
            done: IndexMap::new(),
        };
        let mut next = Stage {
            axes: rename(&stage.axes),
            reduce: rename(&stage.reduce),
            scan: stage.scan,
            ..Stage::default()
        };
        for acc in &stage.accs {
            let mut acc = acc.clone();
            acc.value = copier.expr(&mut b, acc.value, &mut replace);
            next.accs.push(acc);
        }
        for store in &stage.stores {
            next.stores.push(Store {
                buffer: consumer_buffers[&store.buffer],
                index: store.index.iter().map(|e| copier.expr(&mut b, *e, &mut replace)).collect(),
                value: copier.expr(&mut b, store.value, &mut replace),
                update: store.update,
                guard: store.guard.map(|g| copier.expr(&mut b, g, &mut replace)),
            });
        }
        b.stage(next);
    }
    let kernel = b.kernel_mut();
    (kernel.outer, kernel.serial) = (rename(&consumer.kernel.outer), consumer.kernel.serial);
    Some(Bound { kernel: b.finish(), inputs, outputs: consumer.outputs.clone() })
}

/// Whether a value is a 0 from outside of its buffer when the guard is false.
fn is_zero_unless(kernel: &Kernel, value: ExprId, guard: ExprId) -> bool {
    match kernel.expr(value) {
        Scalar::Cast(_, inner) => is_zero_unless(kernel, *inner, guard),
        Scalar::Load { guard: own, .. } => *own == Some(guard),
        _ => false,
    }
}

/// Puts the map `consumer`, which reads each element of the result `value` of `producer` for one of its own, into the
/// stores of `producer`; `value` itself is no longer written. None when it isn't legal. Where the consumer takes a dim
/// of the value apart, its positions are quotients and remainders; None then unless `may_divide`.
pub fn append_consumer<V: Copy + PartialEq>(
    producer: &Bound<V>,
    consumer: &Bound<V>,
    value: V,
    may_divide: bool,
) -> Option<Bound<V>> {
    let old = producer.output_buffer(value)?;
    let reads = consumer.input_buffer(value)?;
    if !is_map(&consumer.kernel) || producer.outputs.len() != 1 || producer.kernel.serial {
        return None;
    }
    let map = &consumer.kernel.stages[0];
    let target = map.stores[0].buffer;
    let places = places_in(&consumer.kernel, reads, &map.axes)?;
    if !may_divide && places.iter().flatten().any(Place::is_part) {
        return None;
    }
    // Every store that writes the value gives an element of it, and nothing reads it back.
    let stores: Vec<(usize, usize)> = producer
        .kernel
        .stages
        .iter()
        .enumerate()
        .flat_map(|(at, stage)| (0..stage.stores.len()).map(move |which| (at, which)))
        .filter(|(at, which)| producer.kernel.stages[*at].stores[*which].buffer == old)
        .collect();
    let plain = |(at, which): &(usize, usize)| {
        let store = &producer.kernel.stages[*at].stores[*which];
        store.update.is_none()
    };
    let reread =
        producer.kernel.exprs.iter().any(|e| matches!(e, Scalar::Load { buffer, .. } if *buffer == old));
    if reread || !stores.iter().all(plain) {
        return None;
    }
    let dtype = producer.kernel.buffer(old).ty.dtype;
    let mut kernel = producer.kernel.clone();
    kernel.name = joined(&producer.kernel.name, &consumer.kernel.name);
    kernel.buffers[old.0 as usize].ty = consumer.kernel.buffer(target).ty.clone();
    let mut b = Builder::resume(kernel);
    let mut inputs = producer.inputs.clone();
    let mut buffers = IndexMap::new();
    for ((id, buffer), v) in consumer.kernel.buffers_of(BufferKind::Input).zip(&consumer.inputs) {
        if id == reads {
            continue;
        }
        let known = inputs
            .iter()
            .position(|x| x == v)
            .and_then(|i| b.kernel().buffers_of(BufferKind::Input).nth(i).map(|(id, _)| id))
            .filter(|id| b.kernel().buffer(*id).ty == buffer.ty);
        let to = known.unwrap_or_else(|| {
            inputs.push(*v);
            b.input(&buffer.ty)
        });
        buffers.insert(id, to);
    }
    for (at, which) in stores {
        let stage = &producer.kernel.stages[at];
        let store = &stage.stores[which];
        let from = producer.kernel.dtype(stage, store.value);
        let stored = through(&mut b, store.value, from, dtype);
        let zero = b.int(0);
        let index: Vec<ExprId> =
            places.iter().map(|p| p.as_ref().map_or(zero, |p| p.within(&mut b, &store.index))).collect();
        let mut copier = Copier {
            from: &consumer.kernel,
            buffers: buffers.clone(),
            axes: map.axes.iter().copied().zip(index.iter().copied()).collect(),
            replaced: Some(reads),
            // Where nothing is stored there needn't be anything to read.
            guard: store.guard,
            done: IndexMap::new(),
        };
        let v = copier.expr(&mut b, map.stores[0].value, &mut |_, _, _| stored);
        let store = &mut b.kernel_mut().stages[at].stores[which];
        (store.value, store.index) = (v, index);
    }
    Some(Bound { kernel: b.finish(), inputs, outputs: consumer.outputs.clone() })
}

/// Where the position on an axis is in the index of a buffer.
#[derive(Clone, PartialEq, Debug)]
struct Place {
    dim: usize,
    /// Positions of the dim that lie between neighbours on the axis.
    step: i64,
    /// How many there are on the axis, where the dim runs on beyond them.
    extent: Option<i64>,
}

impl Place {
    fn is_part(&self) -> bool {
        self.step != 1 || self.extent.is_some()
    }

    /// The position on the axis that an index means.
    fn within(&self, b: &mut Builder, index: &[ExprId]) -> ExprId {
        let step = b.int(self.step);
        let at = b.binary(BinaryKind::Div, index[self.dim], step);
        match self.extent {
            Some(n) => {
                let n = b.int(n);
                b.binary(BinaryKind::Mod, at, n)
            }
            None => at,
        }
    }
}

/// For each axis of a map where it is in the index of `buffer`, which is the same for every load and without a guard,
/// and runs over all of it; axes of extent one needn't be there. Neighbours in memory stay neighbours.
fn places_in(kernel: &Kernel, buffer: BufferId, axes: &[AxisId]) -> Option<Vec<Option<Place>>> {
    let mut loads = kernel.exprs.iter().filter_map(|e| match e {
        Scalar::Load { buffer: b, index, guard } if *b == buffer => Some((index, guard)),
        _ => None,
    });
    let (index, guard) = loads.next()?;
    if guard.is_some() || loads.next().is_some() {
        return None;
    }
    let shape = &kernel.buffer(buffer).ty.shape;
    let unit = |n: &Dim| n.is_const(1);
    let mut places: Vec<Option<Place>> = vec![None; axes.len()];
    for (dim, (position, extent)) in index.iter().zip(shape).enumerate() {
        for (axis, place) in split(kernel, *position, dim, extent)? {
            let free = axes.iter().position(|a| *a == axis).filter(|at| places[*at].is_none())?;
            places[free] = Some(place);
        }
    }
    let whole = axes.iter().zip(&places).all(|(axis, place)| place.is_some() || unit(kernel.extent(*axis)));
    let last = (0..axes.len()).rfind(|i| !unit(kernel.extent(axes[*i]))).and_then(|i| places[i].as_ref());
    let inner = match (last, (0..shape.len()).rfind(|p| !unit(&shape[*p]))) {
        (Some(place), Some(dim)) => place.dim == dim && place.step == 1,
        (last, dim) => last.is_none() && dim.is_none(),
    };
    (whole && inner).then_some(places)
}

/// The axes that a position on a dim is made of, as digits of a number are: each combination of theirs is another
/// position, and they give all of the dim. None of them where the dim has one position only.
fn split(kernel: &Kernel, position: ExprId, dim: usize, extent: &Dim) -> Option<Vec<(AxisId, Place)>> {
    let mut steps = Vec::new();
    steps_of(kernel, position, 1, &mut steps)?;
    steps.sort_by_key(|(_, step)| *step);
    let mut below = Dim::from(1);
    let mut digits = Vec::new();
    let n = steps.len();
    for (i, (axis, step)) in steps.into_iter().enumerate() {
        let own = kernel.extent(axis);
        if !below.is_const(step) {
            return None;
        }
        below = below * own.clone();
        let next = if i + 1 == n { None } else { Some(own.as_const().filter(|n| *n > 0)?) };
        digits.push((axis, Place { dim, step, extent: next }));
    }
    (below == *extent).then_some(digits)
}

/// What each axis is multiplied by in a sum of axes; those of extent one are left out. None for anything else.
fn steps_of(kernel: &Kernel, e: ExprId, by: i64, steps: &mut Vec<(AxisId, i64)>) -> Option<()> {
    match kernel.expr(e) {
        Scalar::Axis(a) if kernel.extent(*a).is_const(1) => Some(()),
        Scalar::Axis(a) => {
            steps.push((*a, by));
            Some(())
        }
        Scalar::Int(_, 0) => Some(()),
        Scalar::Binary(BinaryKind::Add, x, y) => {
            steps_of(kernel, *x, by, steps)?;
            steps_of(kernel, *y, by, steps)
        }
        Scalar::Binary(BinaryKind::Mul, x, k) | Scalar::Binary(BinaryKind::Mul, k, x)
            if matches!(kernel.expr(*k), Scalar::Int(..)) =>
        {
            let Scalar::Int(_, k) = kernel.expr(*k) else { unreachable!("matched") };
            steps_of(kernel, *x, by.checked_mul(*k).filter(|by| *by > 0)?, steps)
        }
        _ => None,
    }
}

/// Name of a fused kernel: its parts, shortened when there are many.
pub(super) fn joined(a: &str, b: &str) -> String {
    const MAX: usize = 48;
    let name = format!("{a}_{b}");
    if name.len() <= MAX {
        name
    } else {
        format!("{}_{}", &a[..a.len().min(MAX - 4)].trim_end_matches(".."), "..")
    }
}
