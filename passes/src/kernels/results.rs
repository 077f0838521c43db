//! Several results from one pass over the data: kernels whose loops are alike become one that stores what each of them
//! stored. Legality only.

use super::compose::{Bound, joined};
use super::rows::{all_axes, bind_inputs, bind_others, rebuild, tidy};
use indexmap::IndexMap;
use tcc_ir::Dim;
use tcc_ir::kernel::{AxisId, BufferId, BufferKind, Builder, Kernel, Scalar, Stage};

/// A kernel with the results of both, those of `a` first. Neither may need a result of the other. None when their loops
/// don't fit.
pub fn join_results<V: Copy + PartialEq>(a: &Bound<V>, b: &Bound<V>) -> Option<Bound<V>> {
    if a.kernel.serial || b.kernel.serial {
        return None;
    }
    let loops = Loops::alike(&a.kernel, &b.kernel)?;
    let mut builder = Builder::new(joined(&a.kernel.name, &b.kernel.name));
    let mut inputs = Vec::new();
    let mut buffers = Vec::new();
    for side in [a, b] {
        let mut map = bind_inputs(&mut builder, side, None, &mut inputs);
        bind_others(&mut builder, &side.kernel, None, &mut map);
        buffers.push(map);
    }
    let of_a: IndexMap<AxisId, AxisId> =
        all_axes(&a.kernel).map(|axis| (axis, builder.axis(a.kernel.extent(axis)))).collect();
    let partner = |axis: AxisId| loops.pairs.iter().find(|(_, of_b)| *of_b == axis).map(|(own, _)| of_a[own]);
    let of_b: IndexMap<AxisId, AxisId> = all_axes(&b.kernel)
        .map(|axis| (axis, partner(axis).unwrap_or_else(|| builder.axis(b.kernel.extent(axis)))))
        .collect();
    let outer: Vec<AxisId> = match &loops.kind {
        Kind::Stage => vec![],
        Kind::Rows => loops.pairs.iter().map(|(own, _)| of_a[own]).collect(),
    };
    builder.kernel_mut().outer.clone_from(&outer);
    let mut kernel = builder.finish();
    let shift = if loops.kind == Kind::Stage { a.kernel.stages[0].accs.len() as u32 } else { 0 };
    let later = later_accs(&b.kernel, shift);
    for ((side, axes), map) in [(&a.kernel, &of_a), (&later, &of_b)].into_iter().zip(&buffers) {
        kernel = rebuild(side, kernel, &vec![axes.clone(); side.stages.len()], map);
    }
    for stage in &mut kernel.stages {
        stage.axes.retain(|axis| !outer.contains(axis));
    }
    if loops.kind == Kind::Stage {
        let second = kernel.stages.pop()?;
        merge(&mut kernel, second);
    } else {
        kernel = tidy(kernel);
    }
    let outputs = a.outputs.iter().chain(&b.outputs).copied().collect();
    Some(Bound { kernel, inputs: inputs.into_iter().map(|(v, _)| v).collect(), outputs })
}

/// The kernel without its result number `at`, and without what only that needed.
pub fn without_result<V: Copy>(bound: &Bound<V>, at: usize) -> Bound<V> {
    let old = &bound.kernel;
    let Some((dropped, _)) = old.buffers_of(BufferKind::Output).nth(at) else { return bound.clone() };
    let mut rest = old.clone();
    let mut unused = vec![dropped];
    while !unused.is_empty() {
        for stage in &mut rest.stages {
            stage.stores.retain(|store| !unused.contains(&store.buffer));
        }
        rest.stages.retain(|stage| !stage.stores.is_empty());
        let read = read_by(&rest);
        let stored = rest.stages.iter().flat_map(|s| &s.stores).map(|s| s.buffer);
        unused = stored.filter(|b| old.buffer(*b).kind == BufferKind::Temp && !read.contains(b)).collect();
    }
    let read = read_by(&rest);
    let stays = |id: &BufferId| match old.buffer(*id).kind {
        BufferKind::Output => *id != dropped,
        BufferKind::Input | BufferKind::Temp => read.contains(id),
    };
    let kept: Vec<BufferId> = (0..old.buffers.len() as u32).map(BufferId).filter(stays).collect();
    let shell = Kernel {
        buffers: kept.iter().map(|id| old.buffer(*id).clone()).collect(),
        exprs: vec![],
        stages: vec![],
        ..old.clone()
    };
    let buffers = kept.iter().enumerate().map(|(new, id)| (*id, BufferId(new as u32))).collect();
    let axes: IndexMap<AxisId, AxisId> = all_axes(old).map(|axis| (axis, axis)).collect();
    let kernel = rebuild(&rest, shell, &vec![axes; rest.stages.len()], &buffers).canonical();
    let mut outputs = bound.outputs.clone();
    outputs.remove(at);
    let inputs = old.buffers_of(BufferKind::Input).zip(&bound.inputs);
    let inputs = inputs.filter(|((id, _), _)| kept.contains(id)).map(|(_, v)| *v).collect();
    Bound { kernel: Kernel { name: old.name.clone(), ..kernel }, inputs, outputs }
}

/// Buffers that the stages load from.
fn read_by(kernel: &Kernel) -> Vec<BufferId> {
    let used = kernel.reachable(kernel.stages.iter().flat_map(Stage::exprs));
    let loaded = kernel.exprs.iter().zip(used).filter(|(_, used)| *used).filter_map(|(e, _)| match e {
        Scalar::Load { buffer, .. } => Some(*buffer),
        _ => None,
    });
    loaded.collect()
}

#[derive(PartialEq)]
enum Kind {
    /// Each is one loop nest, and they are alike.
    Stage,
    /// Their outer loops are alike.
    Rows,
}

/// The axes that two kernels have in common.
struct Loops {
    kind: Kind,
    pairs: Vec<(AxisId, AxisId)>,
}

impl Loops {
    fn alike(a: &Kernel, b: &Kernel) -> Option<Loops> {
        let pairs = |kind: Kind, left: &[AxisId], right: &[AxisId]| {
            let extents = |k: &Kernel, axes: &[AxisId]| -> Vec<Dim> {
                axes.iter().map(|axis| k.extent(*axis).clone()).collect()
            };
            let same = extents(a, left) == extents(b, right);
            same.then(|| Loops { kind, pairs: left.iter().copied().zip(right.iter().copied()).collect() })
        };
        match (&a.stages[..], &b.stages[..]) {
            ([x], [y]) if a.outer.is_empty() && b.outer.is_empty() => {
                let all = |s: &Stage| [&s.axes[..], &s.reduce[..]].concat();
                let fits = !x.scan && !y.scan && x.axes.len() == y.axes.len();
                fits.then(|| pairs(Kind::Stage, &all(x), &all(y))).flatten()
            }
            _ => {
                let n = a.outer.len().max(b.outer.len());
                pairs(Kind::Rows, rows(a, n)?, rows(b, n)?)
            }
        }
    }
}

/// The kernel's `n` outermost axes, which all its stages run along.
fn rows(kernel: &Kernel, n: usize) -> Option<&[AxisId]> {
    match (&kernel.outer[..], &kernel.stages[..]) {
        ([], [stage]) if n > 0 => stage.axes.get(..n),
        (outer, _) => (n > 0 && outer.len() == n).then_some(outer),
    }
}

/// The kernel with its accumulators numbered from `first` on.
fn later_accs(kernel: &Kernel, first: u32) -> Kernel {
    let mut kernel = kernel.clone();
    for e in &mut kernel.exprs {
        if let Scalar::Acc(i) | Scalar::AccBefore(i) = e {
            *i += first;
        }
    }
    kernel
}

/// Adds what another stage over the same axes accumulates and stores to the kernel's only one.
fn merge(kernel: &mut Kernel, other: Stage) {
    let stage = &mut kernel.stages[0];
    stage.accs.extend(other.accs);
    stage.stores.extend(other.stores);
    // What both accumulate is accumulated once.
    let mut accs: Vec<tcc_ir::kernel::Acc> = Vec::new();
    let mut numbers = Vec::new();
    for acc in std::mem::take(&mut stage.accs) {
        let known = accs.iter().position(|a| *a == acc);
        numbers.push(known.unwrap_or(accs.len()) as u32);
        if known.is_none() {
            accs.push(acc);
        }
    }
    stage.accs = accs;
    for e in &mut kernel.exprs {
        if let Scalar::Acc(i) | Scalar::AccBefore(i) = e {
            *i = numbers[*i as usize];
        }
    }
}
