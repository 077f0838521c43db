//! Kernels of several stages over one row: a producer becomes stages in front of its consumer's, its result a
//! temporary that lives as long as the row. Softmax and the normalisations are such kernels. Legality only.

use super::compose::{Bound, Copier, joined};
use indexmap::{IndexMap, IndexSet};
use tcc_ir::kernel::{
    Acc, AxisId, Buffer, BufferId, BufferKind, Builder, ExprId, Kernel, Scalar, Stage, Store,
};
use tcc_ir::{Dim, TensorType};

/// Puts the stages of `producer` in front of those of `consumer`, which reads its result `value`, for each point of
/// axes that both run along: each of `consumer`'s points needs what `producer` makes at the same point only. None
/// when there are no such axes.
pub fn join_rows<V: Copy + PartialEq>(
    consumer: &Bound<V>,
    producer: &Bound<V>,
    value: V,
) -> Option<Bound<V>> {
    let (made, read) = (producer.output_buffer(value)?, consumer.input_buffer(value)?);
    if producer.outputs.len() != 1 || producer.kernel.serial || consumer.kernel.serial {
        return None;
    }
    if let Some(shared) = Shared::find((&producer.kernel, made), (&consumer.kernel, read)) {
        return Some(Join { consumer, producer, made, read, shared }.build());
    }
    // Where one runs along an axis of extent one, the other may be at its only place.
    let (consumer, producer) = (&without_units(consumer)?, &without_units(producer)?);
    let shared = Shared::find((&producer.kernel, made), (&consumer.kernel, read))?;
    Some(Join { consumer, producer, made, read, shared }.build())
}

/// The kernel without axes of extent one. A scan keeps them: it stores along them.
fn without_units<V: Clone>(bound: &Bound<V>) -> Option<Bound<V>> {
    let kernel = &bound.kernel;
    if kernel.stages.iter().any(|s| s.scan) {
        return None;
    }
    let names: IndexMap<AxisId, AxisId> =
        all_axes(kernel).filter(|a| !kernel.extent(*a).is_const(1)).map(|a| (a, a)).collect();
    let outer = kernel.outer.iter().copied().filter(|a| names.contains_key(a)).collect();
    let buffers = (0..kernel.buffers.len() as u32).map(|i| (BufferId(i), BufferId(i))).collect();
    let shell = Kernel { outer, exprs: vec![], stages: vec![], ..kernel.clone() };
    let names = vec![names; kernel.stages.len()];
    Some(Bound { kernel: rebuild(kernel, shell, &names, &buffers), ..bound.clone() })
}

/// An axis of the value that both kernels run along: its place in the shape, the producer's axis, the consumer's.
struct Shared(Vec<(usize, AxisId, AxisId)>);

impl Shared {
    fn find(producer: (&Kernel, BufferId), consumer: (&Kernel, BufferId)) -> Option<Shared> {
        let (made, stored) = (row_axes(producer.0)?, indices_of_stores(producer.0, producer.1)?);
        let (used, loaded) = (row_axes(consumer.0)?, indices_of_loads(consumer.0, consumer.1));
        let shape = &producer.0.buffer(producer.1).ty.shape;
        let axis = |kernel: &Kernel, lists: &[&Vec<ExprId>], own: &[AxisId], d: usize| -> Option<AxisId> {
            let first = lists.first()?[d];
            let Scalar::Axis(a) = kernel.expr(first) else { return None };
            let same = lists.iter().all(|index| index[d] == first);
            (same && own.contains(a) && *kernel.extent(*a) == shape[d]).then_some(*a)
        };
        let mut shared: Vec<(usize, AxisId, AxisId)> = Vec::new();
        for d in 0..shape.len() {
            let from = axis(producer.0, &[stored], &made, d);
            let to = axis(consumer.0, &loaded, &used, d);
            if let (Some(from), Some(to)) = (from, to)
                && !shared.iter().any(|(_, f, t)| *f == from || *t == to)
            {
                shared.push((d, from, to));
            }
        }
        // Kernels of several stages share what they share already, all of it.
        let (outer_from, outer_to) = (&producer.0.outer, &consumer.0.outer);
        if producer.0.stages.len() > 1 {
            shared.retain(|(_, from, _)| outer_from.contains(from));
        }
        if consumer.0.stages.len() > 1 {
            shared.retain(|(_, _, to)| outer_to.contains(to));
        }
        let covers = outer_from.iter().all(|a| shared.iter().any(|(_, from, _)| from == a))
            && outer_to.iter().all(|a| shared.iter().any(|(_, _, to)| to == a));
        // Every result has a place of its own for each point.
        let apart = consumer.0.stages.iter().flat_map(|s| &s.stores).all(|store| {
            consumer.0.buffer(store.buffer).kind == BufferKind::Temp
                || shared
                    .iter()
                    .all(|(_, _, to)| store.index.iter().any(|e| *consumer.0.expr(*e) == Scalar::Axis(*to)))
        });
        // A producer that has one value at each point has no loop to share.
        let loops = producer.0.stages.iter().all(|s| {
            let own = |a: &AxisId| !shared.iter().any(|(_, from, _)| from == a);
            !s.reduce.is_empty() || s.axes.iter().any(own)
        });
        (covers && apart && loops).then_some(Shared(shared))
    }
}

/// The axes whose points are independent of each other: the outer ones, or all parallel ones of a single stage.
fn row_axes(kernel: &Kernel) -> Option<Vec<AxisId>> {
    match &kernel.stages[..] {
        [stage] => Some(kernel.outer.iter().chain(&stage.axes).copied().collect()),
        _ if !kernel.outer.is_empty() => Some(kernel.outer.clone()),
        // Stages that share no axis, as those of a concatenation.
        _ => None,
    }
}

/// Where the only store of a buffer goes; None when there are several, or it doesn't simply overwrite.
fn indices_of_stores(kernel: &Kernel, buffer: BufferId) -> Option<&Vec<ExprId>> {
    let mut stores = kernel.stages.iter().flat_map(|s| &s.stores).filter(|s| s.buffer == buffer);
    let store = stores.next()?;
    let plain = store.update.is_none() && store.guard.is_none() && stores.next().is_none();
    (plain && indices_of_loads(kernel, buffer).is_empty()).then_some(&store.index)
}

fn indices_of_loads<'k>(kernel: &'k Kernel, buffer: BufferId) -> Vec<&'k Vec<ExprId>> {
    let index = |e: &'k Scalar| match e {
        Scalar::Load { buffer: b, index, .. } if *b == buffer => Some(index),
        _ => None,
    };
    kernel.exprs.iter().filter_map(index).collect()
}

struct Join<'k, V> {
    consumer: &'k Bound<V>,
    producer: &'k Bound<V>,
    made: BufferId,
    read: BufferId,
    shared: Shared,
}

impl<V: Copy + PartialEq> Join<'_, V> {
    fn build(&self) -> Bound<V> {
        let (from, to) = (&self.producer.kernel, &self.consumer.kernel);
        let mut b = Builder::new(joined(&from.name, &to.name));
        let mut inputs: Vec<(V, BufferId)> = Vec::new();
        let mut from_buffers = bind_inputs(&mut b, self.producer, None, &mut inputs);
        let mut to_buffers = bind_inputs(&mut b, self.consumer, Some(self.read), &mut inputs);
        bind_others(&mut b, to, None, &mut to_buffers);
        bind_others(&mut b, from, Some(self.made), &mut from_buffers);
        let shape = &from.buffer(self.made).ty.shape;
        let inner = |d: &usize| !self.shared.0.iter().any(|(shared, ..)| shared == d);
        let kept: Vec<usize> = (0..shape.len()).filter(inner).collect();
        let dtype = from.buffer(self.made).ty.dtype;
        let temp = b.temp(TensorType::new(dtype, kept.iter().map(|d| shape[*d].clone())));
        from_buffers.insert(self.made, temp);
        to_buffers.insert(self.read, temp);

        let to_axes: IndexMap<AxisId, AxisId> = all_axes(to).map(|a| (a, b.axis(to.extent(a)))).collect();
        let outer: Vec<AxisId> = row_axes(to)
            .expect("checked when found")
            .iter()
            .filter(|a| self.shared.0.iter().any(|(_, _, t)| t == *a))
            .map(|a| to_axes[a])
            .collect();
        let of_consumer =
            |a: AxisId| self.shared.0.iter().find(|(_, f, _)| *f == a).map(|(_, _, t)| to_axes[t]);
        let from_axes: IndexMap<AxisId, AxisId> =
            all_axes(from).map(|a| (a, of_consumer(a).unwrap_or_else(|| b.axis(from.extent(a))))).collect();
        b.kernel_mut().outer.clone_from(&outer);
        let sides = [(from, from_buffers, from_axes, self.made), (to, to_buffers, to_axes, self.read)];
        for (kernel, buffers, axes, value) in sides {
            let side = Side { kernel, buffers, axes, outer: &outer, value, temp, kept: &kept };
            kernel.stages.iter().for_each(|stage| side.stage(&mut b, stage));
        }
        let kernel = tidy(b.finish());
        Bound {
            kernel,
            inputs: inputs.into_iter().map(|(v, _)| v).collect(),
            outputs: self.consumer.outputs.clone(),
        }
    }
}

pub(super) fn all_axes(kernel: &Kernel) -> impl Iterator<Item = AxisId> + use<> {
    (0..kernel.axes.len() as u32).map(AxisId)
}

/// Declares the operands of a kernel, but for one; equal ones of the two kernels are one.
pub(super) fn bind_inputs<V: Copy + PartialEq>(
    b: &mut Builder,
    from: &Bound<V>,
    skip: Option<BufferId>,
    inputs: &mut Vec<(V, BufferId)>,
) -> IndexMap<BufferId, BufferId> {
    let mut map = IndexMap::new();
    for ((id, buffer), v) in from.kernel.buffers_of(BufferKind::Input).zip(&from.inputs) {
        if Some(id) == skip {
            continue;
        }
        let known = inputs.iter().find(|(x, to)| x == v && b.kernel().buffer(*to).ty == buffer.ty);
        let to = known.map(|(_, to)| *to).unwrap_or_else(|| {
            let to = b.input(&buffer.ty);
            inputs.push((*v, to));
            to
        });
        map.insert(id, to);
    }
    map
}

pub(super) fn bind_others(
    b: &mut Builder,
    from: &Kernel,
    skip: Option<BufferId>,
    map: &mut IndexMap<BufferId, BufferId>,
) {
    for (i, buffer) in from.buffers.iter().enumerate().map(|(i, buffer)| (BufferId(i as u32), buffer)) {
        if buffer.kind != BufferKind::Input && Some(i) != skip {
            map.insert(i, b.buffer(buffer.kind, buffer.ty.clone()));
        }
    }
}

/// One of the two kernels on its way into the new one.
struct Side<'k> {
    kernel: &'k Kernel,
    buffers: IndexMap<BufferId, BufferId>,
    axes: IndexMap<AxisId, AxisId>,
    outer: &'k [AxisId],
    /// The buffer that becomes the temporary, and the axes that the temporary has of it.
    value: BufferId,
    temp: BufferId,
    kept: &'k [usize],
}

impl Side<'_> {
    fn stage(&self, b: &mut Builder, stage: &Stage) {
        let mut copier = Copier {
            from: self.kernel,
            buffers: self.buffers.clone(),
            axes: self.axes.iter().map(|(old, new)| (*old, b.at(*new))).collect(),
            replaced: Some(self.value),
            guard: None,
            done: IndexMap::new(),
        };
        let part = |index: &[ExprId]| self.kept.iter().map(|d| index[*d]).collect::<Vec<_>>();
        let mut load = |b: &mut Builder, index: &[ExprId], guard: Option<ExprId>| {
            b.load_if(self.temp, part(index), guard)
        };
        let own = |list: &[AxisId]| -> Vec<AxisId> {
            list.iter().map(|a| self.axes[a]).filter(|a| !self.outer.contains(a)).collect()
        };
        let mut next = Stage {
            axes: own(&stage.axes),
            reduce: own(&stage.reduce),
            scan: stage.scan,
            ..Stage::default()
        };
        for acc in &stage.accs {
            next.accs.push(Acc { value: copier.expr(b, acc.value, &mut load), ..acc.clone() });
        }
        for store in &stage.stores {
            let index: Vec<ExprId> = store.index.iter().map(|e| copier.expr(b, *e, &mut load)).collect();
            next.stores.push(Store {
                buffer: self.buffers[&store.buffer],
                index: if store.buffer == self.value { part(&index) } else { index },
                value: copier.expr(b, store.value, &mut load),
                update: store.update,
                guard: store.guard.map(|g| copier.expr(b, g, &mut load)),
            });
        }
        b.stage(next);
    }
}

/// The kernel with as few axes, stages and temporaries as can be: stages share axes of one extent, and what two of
/// them compute alike is computed once.
pub(super) fn tidy(kernel: Kernel) -> Kernel {
    let mut kernel = share_axes(&kernel);
    while let Some((stage, same)) = repeated_stage(&kernel) {
        kernel = without(&kernel, stage, &same);
    }
    kernel
}

/// Each stage takes the first axes of the right extents that it doesn't have yet.
fn share_axes(kernel: &Kernel) -> Kernel {
    let mut axes: Vec<Dim> = kernel.outer.iter().map(|a| kernel.extent(*a).clone()).collect();
    let outer: Vec<AxisId> = (0..axes.len() as u32).map(AxisId).collect();
    let mut renamed: Vec<IndexMap<AxisId, AxisId>> = Vec::new();
    for stage in &kernel.stages {
        let mut names: IndexMap<AxisId, AxisId> =
            kernel.outer.iter().copied().zip(outer.iter().copied()).collect();
        for axis in stage.axes.iter().chain(&stage.reduce) {
            let extent = kernel.extent(*axis);
            let taken: IndexSet<usize> = names.values().map(|a| a.0 as usize).collect();
            let free = (0..axes.len()).find(|i| axes[*i] == *extent && !taken.contains(i));
            let to = free.unwrap_or_else(|| {
                axes.push(extent.clone());
                axes.len() - 1
            });
            names.insert(*axis, AxisId(to as u32));
        }
        renamed.push(names);
    }
    let buffers = (0..kernel.buffers.len() as u32).map(|i| (BufferId(i), BufferId(i))).collect();
    let shell = Kernel { axes, outer, exprs: vec![], stages: vec![], ..kernel.clone() };
    rebuild(kernel, shell, &renamed, &buffers)
}

/// A later stage that does what an earlier one does, with its temporaries and those that they equal.
fn repeated_stage(kernel: &Kernel) -> Option<(usize, IndexMap<BufferId, BufferId>)> {
    // What several stages make is the same only if all of them are.
    let alone =
        |buffer| kernel.stages.iter().flat_map(|s| &s.stores).filter(|s| s.buffer == buffer).count() == 1;
    let temp = |s: &Store| kernel.buffer(s.buffer).kind == BufferKind::Temp && alone(s.buffer);
    for (j, later) in kernel.stages.iter().enumerate() {
        let earlier = kernel.stages[..j].iter().find(|earlier| {
            let alike = |(a, b): (&Store, &Store)| {
                temp(a)
                    && temp(b)
                    && kernel.buffer(a.buffer) == kernel.buffer(b.buffer)
                    && Store { buffer: a.buffer, ..b.clone() } == *a
            };
            later.stores.len() == earlier.stores.len()
                && Stage { stores: vec![], ..later.clone() } == Stage { stores: vec![], ..(*earlier).clone() }
                && earlier.stores.iter().zip(&later.stores).all(alike)
        });
        if let Some(earlier) = earlier {
            let pairs = later.stores.iter().zip(&earlier.stores).map(|(b, a)| (b.buffer, a.buffer));
            return Some((j, pairs.collect()));
        }
    }
    None
}

fn without(kernel: &Kernel, stage: usize, same: &IndexMap<BufferId, BufferId>) -> Kernel {
    let mut shorter = kernel.clone();
    shorter.stages.remove(stage);
    let mut kept = Vec::new();
    let mut places: IndexMap<BufferId, BufferId> = IndexMap::new();
    for (i, buffer) in kernel.buffers.iter().enumerate().map(|(i, b)| (BufferId(i as u32), b)) {
        if !same.contains_key(&i) {
            places.insert(i, BufferId(kept.len() as u32));
            kept.push(Buffer { ty: buffer.ty.clone(), kind: buffer.kind });
        }
    }
    let buffers: IndexMap<BufferId, BufferId> = (0..kernel.buffers.len() as u32)
        .map(BufferId)
        .map(|i| (i, places[same.get(&i).unwrap_or(&i)]))
        .collect();
    let names: IndexMap<AxisId, AxisId> = all_axes(kernel).map(|a| (a, a)).collect();
    let names = vec![names; shorter.stages.len()];
    let shell = Kernel { buffers: kept, exprs: vec![], stages: vec![], ..shorter.clone() };
    rebuild(&shorter, shell, &names, &buffers)
}

/// `shell` with the stages of `kernel` behind its own, with other axes (stage by stage) and buffers. Axes without a new
/// name stay at 0.
pub(super) fn rebuild(
    kernel: &Kernel,
    shell: Kernel,
    axes: &[IndexMap<AxisId, AxisId>],
    buffers: &IndexMap<BufferId, BufferId>,
) -> Kernel {
    let mut b = Builder::resume(shell);
    for (stage, names) in kernel.stages.iter().zip(axes) {
        let zero = b.int(0);
        let mut at = |a: AxisId| names.get(&a).map_or(zero, |new| b.at(*new));
        let axes = all_axes(kernel).map(|a| (a, at(a))).collect();
        let mut copier = Copier {
            from: kernel,
            buffers: buffers.clone(),
            axes,
            replaced: None,
            guard: None,
            done: IndexMap::new(),
        };
        let mut expr = |b: &mut Builder, e: ExprId| {
            copier.expr(b, e, &mut |_, _, _| unreachable!("nothing is replaced"))
        };
        let accs = stage.accs.iter().map(|a| Acc { value: expr(&mut b, a.value), ..a.clone() }).collect();
        let stores = stage.stores.iter().map(|store| Store {
            buffer: buffers[&store.buffer],
            index: store.index.iter().map(|e| expr(&mut b, *e)).collect(),
            value: expr(&mut b, store.value),
            update: store.update,
            guard: store.guard.map(|g| expr(&mut b, g)),
        });
        let stores = stores.collect();
        let rename = |list: &[AxisId]| list.iter().filter_map(|a| names.get(a).copied()).collect();
        let (axes, reduce) = (rename(&stage.axes), rename(&stage.reduce));
        b.stage(Stage { axes, reduce, accs, scan: stage.scan, stores });
    }
    b.finish()
}
