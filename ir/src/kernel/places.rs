//! Which temporaries can share memory: those that aren't needed at the same time.

use super::{BufferId, BufferKind, ExprId, Kernel, Scalar, Stage};
use crate::types::Dim;
use indexmap::{IndexMap, IndexSet};

/// A place in memory for each temporary of a kernel.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Places {
    /// The number of each temporary's place.
    pub of: IndexMap<BufferId, usize>,
    /// Bytes of each place.
    pub bytes: Vec<Dim>,
}

impl Places {
    /// Of temporaries of one size and element type, one takes the place of another whose last use is in an earlier
    /// stage, or in the very stage that makes it if that reads no other element than the one that it replaces.
    pub fn of(kernel: &Kernel) -> Places {
        let uses: Vec<IndexSet<ExprId>> = kernel.stages.iter().map(|stage| used(kernel, stage)).collect();
        let mut places = Places::default();
        let mut holders: Vec<BufferId> = Vec::new();
        let mut temps: Vec<(usize, BufferId)> = kernel
            .buffers_of(BufferKind::Temp)
            .map(|(id, _)| (kernel.stages.iter().position(|s| stores(s, id)).unwrap_or(0), id))
            .collect();
        temps.sort_unstable();
        for (made, id) in temps {
            let ty = &kernel.buffer(id).ty;
            let free = holders.iter().position(|old| {
                let other = &kernel.buffer(*old).ty;
                let last = (0..kernel.stages.len()).rfind(|i| {
                    stores(&kernel.stages[*i], *old) || loads(kernel, &uses[*i], *old).next().is_some()
                });
                other.dtype == ty.dtype
                    && other.n_bytes() == ty.n_bytes()
                    && last.is_none_or(|last| {
                        last < made
                            || last == made && in_place(kernel, &kernel.stages[made], &uses[made], (*old, id))
                    })
            });
            let place = free.unwrap_or_else(|| {
                places.bytes.push(ty.n_bytes());
                holders.push(id);
                holders.len() - 1
            });
            holders[place] = id;
            places.of.insert(id, place);
        }
        places
    }
}

fn stores(stage: &Stage, buffer: BufferId) -> bool {
    stage.stores.iter().any(|s| s.buffer == buffer)
}

/// The expressions that a stage evaluates.
fn used(kernel: &Kernel, stage: &Stage) -> IndexSet<ExprId> {
    let stores = stage.stores.iter().flat_map(|s| s.index.iter().chain([&s.value]).chain(&s.guard));
    let mut todo: Vec<ExprId> = stage.accs.iter().map(|a| a.value).chain(stores.copied()).collect();
    let mut seen = IndexSet::new();
    while let Some(id) = todo.pop() {
        if seen.insert(id) {
            todo.extend(kernel.operands(id));
        }
    }
    seen
}

/// The places of a buffer that these expressions read.
fn loads<'k>(
    kernel: &'k Kernel,
    used: &'k IndexSet<ExprId>,
    buffer: BufferId,
) -> impl Iterator<Item = &'k [ExprId]> {
    used.iter().filter_map(move |id| match kernel.expr(*id) {
        Scalar::Load { buffer: b, index, .. } if *b == buffer => Some(&index[..]),
        _ => None,
    })
}

/// Whether every point of the stage replaces an element of `old` that no other point reads by one of `new`.
fn in_place(
    kernel: &Kernel,
    stage: &Stage,
    used: &IndexSet<ExprId>,
    (old, new): (BufferId, BufferId),
) -> bool {
    let [store] = &stage.stores[..] else { return false };
    let own = stage.axes.iter().all(|a| store.index.iter().any(|e| *kernel.expr(*e) == Scalar::Axis(*a)));
    store.buffer == new
        && stage.reduce.is_empty()
        && stage.accs.is_empty()
        && own
        && kernel.buffer(old).ty.shape == kernel.buffer(new).ty.shape
        && loads(kernel, used, old).all(|index| *index == store.index[..])
}
