//! Fewer, longer axes: axes of extent one go, and neighbours that every access runs along together become one.
//! Pure: the kernel computes the same over the same memory.

use indexmap::IndexSet;
use tcc_ir::kernel::{AxisId, BufferId, Builder, ExprId, Kernel, Scalar, Stage, Store};

/// The kernel with as few axes as its accesses allow.
pub fn collapse(kernel: &Kernel) -> Kernel {
    let mut kernel = drop_units(kernel);
    while let Some((a, b)) = mergeable(&kernel) {
        kernel = merge(&kernel, a, b);
    }
    kernel
}

/// What becomes of the parts of a kernel that is rebuilt.
pub trait Rebuild {
    /// The replacement of an axis position.
    fn axis(&self, b: &mut Builder, axis: AxisId) -> ExprId;
    /// The index of an access after its parts were rebuilt.
    fn index(&self, kernel: &Kernel, buffer: BufferId, index: Vec<ExprId>, b: &mut Builder) -> Vec<ExprId>;
}

/// Rebuilds a kernel over the axes that `keep` says, with the buffers and extents of `shapes`.
pub fn rebuild(kernel: &Kernel, shapes: Kernel, keep: &dyn Fn(AxisId) -> bool, how: &dyn Rebuild) -> Kernel {
    let mut b = Builder::resume(Kernel { exprs: vec![], stages: vec![], ..shapes });
    let mut done: Vec<ExprId> = Vec::new();
    for e in &kernel.exprs {
        let at = |id: &ExprId| done[id.0 as usize];
        let new = match e {
            Scalar::Axis(a) => how.axis(&mut b, *a),
            Scalar::Load { buffer, index, guard } => {
                let parts = index.iter().map(at).collect();
                let guard = guard.as_ref().map(at);
                let index = how.index(kernel, *buffer, parts, &mut b);
                b.expr(Scalar::Load { buffer: *buffer, index, guard })
            }
            _ => over(&mut b, e, at),
        };
        done.push(new);
    }
    let at = |id: &ExprId| done[id.0 as usize];
    let axes = |list: &[AxisId]| list.iter().copied().filter(|a| keep(*a)).collect::<Vec<_>>();
    for s in &kernel.stages {
        let accs = s.accs.iter().map(|a| tcc_ir::kernel::Acc { value: at(&a.value), ..a.clone() }).collect();
        let stores = s
            .stores
            .iter()
            .map(|store| {
                let parts = store.index.iter().map(at).collect();
                let index = how.index(kernel, store.buffer, parts, &mut b);
                Store { index, value: at(&store.value), guard: store.guard.as_ref().map(at), ..store.clone() }
            })
            .collect();
        b.stage(Stage { axes: axes(&s.axes), reduce: axes(&s.reduce), accs, scan: s.scan, stores });
    }
    b.kernel_mut().outer = axes(&kernel.outer);
    b.finish()
}

/// An expression over other operands.
pub fn over(b: &mut Builder, e: &Scalar, at: impl Fn(&ExprId) -> ExprId) -> ExprId {
    match e {
        Scalar::Load { buffer, index, guard } => {
            b.load_if(*buffer, index.iter().map(&at).collect(), guard.as_ref().map(at))
        }
        Scalar::Binary(kind, x, y) => b.binary(*kind, at(x), at(y)),
        Scalar::Unary(kind, x) => b.unary(*kind, at(x)),
        Scalar::Compare(cmp, x, y) => b.compare(*cmp, at(x), at(y)),
        Scalar::Select(c, x, y) => b.select(at(c), at(x), at(y)),
        Scalar::Cast(to, x) => b.cast(*to, at(x)),
        Scalar::Bitcast(to, x) => b.expr(Scalar::Bitcast(*to, at(x))),
        Scalar::Check { cond, value } => b.expr(Scalar::Check { cond: at(cond), value: at(value) }),
        leaf @ (Scalar::Float(..)
        | Scalar::Int(..)
        | Scalar::Axis(_)
        | Scalar::Dim(_)
        | Scalar::Acc(_)
        | Scalar::AccBefore(_)) => b.expr(leaf.clone()),
    }
}

struct Units<'k>(&'k Kernel);

impl Rebuild for Units<'_> {
    fn axis(&self, b: &mut Builder, axis: AxisId) -> ExprId {
        if self.0.extent(axis).is_const(1) { b.int(0) } else { b.at(axis) }
    }

    fn index(&self, kernel: &Kernel, buffer: BufferId, index: Vec<ExprId>, _: &mut Builder) -> Vec<ExprId> {
        // Whatever an index into an extent of one is, the place is the first.
        let shape = &kernel.buffer(buffer).ty.shape;
        index.into_iter().zip(shape).filter(|(_, n)| !n.is_const(1)).map(|(i, _)| i).collect()
    }
}

/// Without axes and extents of one. A scan keeps its axis: it is what the stores run along.
fn drop_units(kernel: &Kernel) -> Kernel {
    let scanned: IndexSet<AxisId> =
        kernel.stages.iter().filter(|s| s.scan).flat_map(|s| s.reduce.clone()).collect();
    // An index that is checked is evaluated for the check, whatever the place.
    let checked = kernel.exprs.iter().any(|e| matches!(e, Scalar::Check { .. }));
    if !scanned.is_empty() || checked {
        return kernel.clone();
    }
    let mut shapes = kernel.clone();
    shapes.buffers.iter_mut().for_each(|b| b.ty.shape.retain(|n| !n.is_const(1)));
    rebuild(kernel, shapes, &|a| !kernel.extent(a).is_const(1), &Units(kernel))
}

struct Merge {
    first: AxisId,
    second: AxisId,
    /// Buffers that are accessed along the pair, and the place of the first one in their index.
    places: Vec<(BufferId, usize)>,
}

impl Rebuild for Merge {
    fn axis(&self, b: &mut Builder, axis: AxisId) -> ExprId {
        // The second one only occurs beside the first, where the index drops it.
        b.at(if axis == self.second { self.first } else { axis })
    }

    fn index(&self, _: &Kernel, buffer: BufferId, mut index: Vec<ExprId>, _: &mut Builder) -> Vec<ExprId> {
        if let Some((_, place)) = self.places.iter().find(|(id, _)| *id == buffer) {
            index.remove(place + 1);
        }
        index
    }
}

fn merge(kernel: &Kernel, first: AxisId, second: AxisId) -> Kernel {
    let places = pair_places(kernel, first, second).expect("checked by the caller");
    let mut shapes = kernel.clone();
    shapes.axes[first.0 as usize] = kernel.extent(first).clone() * kernel.extent(second).clone();
    for (buffer, place) in &places {
        let shape = &mut shapes.buffers[buffer.0 as usize].ty.shape;
        let inner = shape.remove(place + 1);
        shape[*place] = shape[*place].clone() * inner;
    }
    rebuild(kernel, shapes, &|a| a != second, &Merge { first, second, places })
}

/// Two neighbours in one list of axes that every access runs along together.
fn mergeable(kernel: &Kernel) -> Option<(AxisId, AxisId)> {
    if kernel.stages.iter().any(|s| s.scan) {
        return None;
    }
    let lists = kernel.stages.iter().flat_map(|s| [&s.axes, &s.reduce]).chain([&kernel.outer]);
    let mut pairs = lists.flat_map(|list| list.windows(2).map(|p| (p[0], p[1])).collect::<Vec<_>>());
    pairs.find(|(a, b)| pair_places(kernel, *a, *b).is_some())
}

/// For a pair of axes that can be one: the buffers that it runs along, and where.
fn pair_places(kernel: &Kernel, first: AxisId, second: AxisId) -> Option<Vec<(BufferId, usize)>> {
    let is = |id: &ExprId, axis: AxisId| *kernel.expr(*id) == Scalar::Axis(axis);
    let loads = kernel.exprs.iter().filter_map(|e| match e {
        Scalar::Load { buffer, index, .. } => Some((*buffer, index)),
        _ => None,
    });
    let stores = kernel.stages.iter().flat_map(|s| &s.stores).map(|s| (s.buffer, &s.index));
    let accesses: Vec<(BufferId, &Vec<ExprId>)> = loads.chain(stores).collect();
    let mut places: Vec<(BufferId, usize)> = Vec::new();
    let mut without: IndexSet<BufferId> = IndexSet::new();
    for (buffer, index) in &accesses {
        let at = index.iter().position(|e| is(e, first));
        match at {
            Some(p)
                if index.get(p + 1).is_some_and(|e| is(e, second))
                    && kernel.buffer(*buffer).ty.shape[p + 1] == *kernel.extent(second) =>
            {
                let others = index.iter().filter(|e| is(e, first) || is(e, second)).count();
                if others != 2 || places.iter().any(|(id, q)| id == buffer && *q != p) {
                    return None;
                }
                if !places.contains(&(*buffer, p)) {
                    places.push((*buffer, p));
                }
            }
            None if !index.iter().any(|e| is(e, second)) => {
                without.insert(*buffer);
            }
            _ => return None,
        }
    }
    // A buffer is accessed either always along the pair or never.
    if places.is_empty() || places.iter().any(|(id, _)| without.contains(id)) {
        return None;
    }
    // The positions are used as indices only.
    let direct = |id: &ExprId| is(id, first) || is(id, second);
    let in_arithmetic = (0..kernel.exprs.len()).any(|i| match &kernel.exprs[i] {
        Scalar::Load { guard, .. } => guard.iter().any(direct),
        _ => kernel.operands(ExprId(i as u32)).iter().any(direct),
    });
    let stored = kernel.stages.iter().any(|s| {
        s.accs.iter().any(|a| direct(&a.value))
            || s.stores.iter().any(|st| direct(&st.value) || st.guard.iter().any(direct))
    });
    // Both in the same lists everywhere, side by side.
    let lists = kernel.stages.iter().flat_map(|s| [&s.axes, &s.reduce]).chain([&kernel.outer]);
    let together = lists.into_iter().all(|list| {
        let (a, b) = (list.iter().position(|x| *x == first), list.iter().position(|x| *x == second));
        match (a, b) {
            (Some(a), Some(b)) => b == a + 1,
            (None, None) => true,
            _ => false,
        }
    });
    (!in_arithmetic && !stored && together).then_some(places)
}
