//! The checker of memory plans. It is run on every compile and shares no code with the planner: it looks at each pair
//! of buffers that are alive together.

use super::{Lifetime, Plan};
use std::fmt;

/// What is wrong with a plan; buffers are indices into the lifetimes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The plan has another number of buffers than there are lifetimes.
    Count { planned: usize, lifetimes: usize },
    /// A buffer doesn't begin at a multiple of its alignment.
    Misaligned { buffer: usize, offset: u64, align: u64 },
    /// A buffer ends beyond the arena.
    OutOfBounds { buffer: usize, end: u128, peak: u64 },
    /// Two buffers share bytes at a position at which both are alive.
    Overlap { a: usize, b: usize, position: u32 },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Count { planned, lifetimes } => {
                write!(f, "the plan has {planned} buffers, there are {lifetimes}")
            }
            Fault::Misaligned { buffer, offset, align } => {
                write!(f, "buffer {buffer} lies at {offset}, which is no multiple of {align}")
            }
            Fault::OutOfBounds { buffer, end, peak } => {
                write!(f, "buffer {buffer} ends at {end}, the arena at {peak}")
            }
            Fault::Overlap { a, b, position } => {
                write!(f, "buffers {a} and {b} share bytes at position {position}")
            }
        }
    }
}

/// Checks alignment, bounds and that no two buffers which are alive together share a byte.
///
/// # Errors
/// Every fault.
pub fn check(lifetimes: &[Lifetime], plan: &Plan) -> Result<(), Vec<Fault>> {
    if plan.offsets.len() != lifetimes.len() {
        let (planned, lifetimes) = (plan.offsets.len(), lifetimes.len());
        return Err(vec![Fault::Count { planned, lifetimes }]);
    }
    let mut faults = Vec::new();
    let end = |i: usize| u128::from(plan.offsets[i]) + u128::from(lifetimes[i].size);
    for (buffer, life) in lifetimes.iter().enumerate() {
        let offset = plan.offsets[buffer];
        if life.align == 0 || offset % life.align != 0 {
            faults.push(Fault::Misaligned { buffer, offset, align: life.align });
        }
        if end(buffer) > u128::from(plan.peak) {
            faults.push(Fault::OutOfBounds { buffer, end: end(buffer), peak: plan.peak });
        }
    }
    for a in 0..lifetimes.len() {
        for b in a + 1..lifetimes.len() {
            let position = lifetimes[a].first.max(lifetimes[b].first);
            let together = position <= lifetimes[a].last && position <= lifetimes[b].last;
            let apart = end(a) <= u128::from(plan.offsets[b]) || end(b) <= u128::from(plan.offsets[a]);
            let empty = lifetimes[a].size == 0 || lifetimes[b].size == 0;
            if together && !apart && !empty {
                faults.push(Fault::Overlap { a, b, position });
            }
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}
