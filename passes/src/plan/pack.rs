//! Greedy packing, and the preparation that exact search shares with it.

use super::{Lifetime, PlanError};
use std::cmp::Reverse;

/// A buffer to place: its size is a positive multiple of its alignment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    /// Place among the lifetimes that the caller gave.
    pub index: usize,
    pub first: u32,
    pub last: u32,
    pub size: u64,
    pub align: u64,
}

impl Block {
    pub fn meets(&self, other: &Block) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

/// The smallest multiple of `align` from `offset` on.
pub fn aligned(offset: u64, align: u64) -> u64 {
    offset.next_multiple_of(align)
}

/// The lifetimes that take up space, in order of their beginning.
pub fn blocks(lifetimes: &[Lifetime]) -> Result<Vec<Block>, PlanError> {
    let mut blocks = Vec::with_capacity(lifetimes.len());
    // Also what the worst packing takes, so that no sum below can overflow.
    let mut total = 0u64;
    for (index, life) in lifetimes.iter().enumerate() {
        if !life.align.is_power_of_two() {
            return Err(PlanError::Alignment(index));
        }
        if life.first > life.last {
            return Err(PlanError::Reversed(index));
        }
        let size = life.size.checked_next_multiple_of(life.align).ok_or(PlanError::TooLarge)?;
        total = total
            .checked_add(size)
            .and_then(|t| t.checked_add(life.align))
            .filter(|t| i64::try_from(*t).is_ok())
            .ok_or(PlanError::TooLarge)?;
        if size > 0 {
            blocks.push(Block { index, first: life.first, last: life.last, size, align: life.align });
        }
    }
    blocks.sort_by_key(|b| (b.first, b.last, b.index));
    Ok(blocks)
}

/// Splits blocks (sorted by beginning) where nothing is alive: each part can be packed alone.
pub fn independent_parts(blocks: Vec<Block>) -> Vec<Vec<Block>> {
    let mut parts: Vec<Vec<Block>> = Vec::new();
    let mut end = 0;
    for block in blocks {
        match parts.last_mut() {
            Some(part) if block.first <= end => part.push(block),
            _ => parts.push(vec![block]),
        }
        end = end.max(block.last);
    }
    parts
}

/// Most bytes alive at once.
pub fn lower_bound(blocks: &[Block]) -> u64 {
    // The maximum is reached at the beginning of some block.
    let mut events: Vec<(u32, bool, u64)> = Vec::with_capacity(2 * blocks.len());
    for block in blocks {
        events.push((block.first, true, block.size));
        events.push((block.last, false, block.size));
    }
    // At one position beginnings come before ends: both positions of a lifetime are included.
    events.sort_by_key(|(at, begins, _)| (*at, Reverse(*begins)));
    let (mut alive, mut most) = (0u64, 0u64);
    for (_, begins, size) in events {
        alive = if begins { alive + size } else { alive - size };
        most = most.max(alive);
    }
    most
}

/// An order in which blocks are placed: by the key, smallest first.
type Key = fn(&Block) -> (u64, u64, u64);

/// The orders that are tried. No one is best for all graphs.
const ORDERS: [Key; 5] = [
    // Large ones first.
    |b| (!b.size, !length(b), b.first.into()),
    // Those that take up most space and time first.
    |b| (!b.size.saturating_mul(length(b)), !b.size, b.first.into()),
    // Long-lived ones first.
    |b| (!length(b), !b.size, b.first.into()),
    // As they come.
    |b| (b.first.into(), !b.size, !length(b)),
    // As they go, backwards.
    |b| (!u64::from(b.last), !b.size, !length(b)),
];

fn length(block: &Block) -> u64 {
    u64::from(block.last - block.first) + 1
}

/// The best packing of the greedy orders: offsets in the order of `blocks`, and the peak.
pub fn greedy(blocks: &[Block]) -> (Vec<u64>, u64) {
    ORDERS
        .iter()
        .map(|key| {
            let mut order: Vec<usize> = (0..blocks.len()).collect();
            order.sort_by_key(|i| (key(&blocks[*i]), *i));
            first_fit(blocks, &order)
        })
        .min_by_key(|(_, peak)| *peak)
        .expect("there are orders")
}

/// Places each block at the lowest offset where nothing placed before overlaps it.
fn first_fit(blocks: &[Block], order: &[usize]) -> (Vec<u64>, u64) {
    let mut offsets = vec![0; blocks.len()];
    // Placed blocks by offset, so that gaps are met from below.
    let mut placed: Vec<usize> = Vec::with_capacity(blocks.len());
    let mut peak = 0;
    for i in order {
        let block = &blocks[*i];
        let mut offset = 0;
        for j in &placed {
            let other = &blocks[*j];
            if block.meets(other) {
                if offset + block.size <= offsets[*j] {
                    break;
                }
                offset = offset.max(aligned(offsets[*j] + other.size, block.align));
            }
        }
        offsets[*i] = offset;
        peak = peak.max(offset + block.size);
        let at = placed.partition_point(|j| offsets[*j] <= offset);
        placed.insert(at, *i);
    }
    (offsets, peak)
}
