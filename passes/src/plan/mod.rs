//! The memory plan: where each buffer lies in the one arena of a run.
//!
//! Buffers with their lifetimes come in, offsets come out. [`plan`] is a pure function; [`check`] judges its result
//! and shares no code with it. Knows nothing of graphs or kernels.

pub mod check;
mod exact;
pub mod liveness;
mod pack;
#[cfg(test)]
mod tests;

pub use check::{Fault, check};
pub use liveness::{Span, Touch, lifetimes};

/// Alignment of a buffer unless it asks for another one: a cache line, and the widest vector.
pub const ALIGN: u64 = 64;

/// Steps of the exact search that `tcc compile` allows: about a second at worst.
pub const DEFAULT_STEPS: u64 = 20_000_000;

/// A buffer that must keep its bytes from schedule position `first` to `last`, both included.
///
/// It takes up `size` rounded up to a multiple of `align`, which is a power of two.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Lifetime {
    pub first: u32,
    pub last: u32,
    pub size: u64,
    pub align: u64,
}

/// Offsets in the order of the lifetimes, and the size of the arena that holds them all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    pub offsets: Vec<u64>,
    pub peak: u64,
    /// Most bytes alive at once: no plan needs less.
    pub lower_bound: u64,
    /// No plan has a smaller peak.
    pub optimal: bool,
}

/// Lifetimes that no plan can be made for.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PlanError {
    #[error("buffer {0}: the alignment is no power of two")]
    Alignment(usize),
    #[error("buffer {0}: it ends before it begins")]
    Reversed(usize),
    #[error("the buffers together exceed the address range")]
    TooLarge,
}

/// Packs buffers so that those alive together don't overlap: the best of several greedy orders, improved by an exact
/// search while that is above the lower bound, for at most `steps` steps. The same input gives the same plan.
///
/// # Errors
/// Malformed lifetimes.
pub fn plan(lifetimes: &[Lifetime], steps: u64) -> Result<Plan, PlanError> {
    let mut offsets = vec![0; lifetimes.len()];
    let mut parts: Vec<Part> = pack::independent_parts(pack::blocks(lifetimes)?)
        .into_iter()
        .map(|blocks| {
            let bound = pack::lower_bound(&blocks);
            let (offsets, peak) = pack::greedy(&blocks);
            Part { optimal: peak == bound, blocks, bound, offsets, peak }
        })
        .collect();
    let lower_bound = parts.iter().map(|part| part.bound).max().unwrap_or(0);
    // A part may use the arena up to what another one needs anyway: only above that is it worth a search.
    let (mut target, mut left) = (lower_bound, steps);
    parts.sort_by_key(|part| std::cmp::Reverse(part.bound));
    for part in &mut parts {
        if part.peak > target {
            let found = exact::improve(&part.blocks, &part.offsets, part.peak, target, &mut left);
            part.optimal |= found.exhausted;
            (part.offsets, part.peak) = (found.offsets, found.peak);
            target = target.max(part.peak);
        }
        part.blocks.iter().zip(&part.offsets).for_each(|(block, offset)| offsets[block.index] = *offset);
    }
    let peak = parts.iter().map(|part| part.peak).max().unwrap_or(0);
    let optimal = peak == lower_bound || parts.iter().any(|part| part.peak == peak && part.optimal);
    Ok(Plan { offsets, peak, lower_bound, optimal })
}

/// Blocks that share no time with those of other parts, and how they are packed.
struct Part {
    blocks: Vec<pack::Block>,
    bound: u64,
    offsets: Vec<u64>,
    peak: u64,
    optimal: bool,
}
