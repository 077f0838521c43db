//! Exact packing by branch and bound, after MiniMalloc (Moffitt, "MiniMalloc: A Lightweight Memory Allocator for
//! Hardware-Accelerated Machine Learning", 2023).
//!
//! Any packing can be pushed down until each block rests on the one below it or on the ground; read from low to high
//! offsets, such a canonical packing places each block on the skyline of those before it. So the search chooses an
//! order in which offsets never fall, and the skyline gives the offsets.
//!
//! What is cut off: a moment at which what is left alive can't fit above the skyline; a block above a gap that another
//! one would fill (placing that one first is never worse); permutations of equal blocks and of blocks of equal offset.

use super::pack::{Block, aligned};

/// What a search came to.
pub struct Found {
    /// In the order of the blocks.
    pub offsets: Vec<u64>,
    pub peak: u64,
    /// Every packing below `peak` was ruled out.
    pub exhausted: bool,
}

/// Looks for a packing with a smaller peak than `best`, down to `target`, for at most `steps` steps; what is left of
/// them is written back.
pub fn improve(blocks: &[Block], best: &[u64], peak: u64, target: u64, steps: &mut u64) -> Found {
    let mut search = Search::new(blocks, best, peak, *steps);
    let exhausted = search.run(target);
    *steps = search.steps;
    Found { offsets: search.best, peak: search.peak, exhausted }
}

struct Search<'a> {
    blocks: &'a [Block],
    /// Moments that each block is alive in: `from..to`, indices into `floor`.
    moments: Vec<std::ops::Range<usize>>,
    /// Height of the skyline at each moment.
    floor: Vec<u64>,
    /// Bytes alive at each moment that are yet to be placed.
    waiting: Vec<u64>,
    /// The block before this one that is equal to it: placed first, as either order gives the same packings.
    twin: Vec<Option<usize>>,
    placed: Vec<bool>,
    offsets: Vec<u64>,
    best: Vec<u64>,
    peak: u64,
    steps: u64,
}

/// A block that was chosen, and those that could come in its place.
struct Level {
    candidates: std::vec::IntoIter<(u64, usize)>,
    /// With the skyline that it hides.
    chosen: Option<(usize, Vec<u64>)>,
}

impl<'a> Search<'a> {
    fn new(blocks: &'a [Block], best: &[u64], peak: u64, steps: u64) -> Self {
        let (moments, n_moments) = moments(blocks);
        let mut waiting = vec![0; n_moments];
        for (block, alive) in blocks.iter().zip(&moments) {
            waiting[alive.clone()].iter_mut().for_each(|w| *w += block.size);
        }
        let equal = |a: &Block, b: &Block, i: usize, j: usize| {
            (a.size, a.align) == (b.size, b.align) && moments[i] == moments[j]
        };
        let twin =
            (0..blocks.len()).map(|i| (0..i).rev().find(|j| equal(&blocks[i], &blocks[*j], i, *j))).collect();
        Search {
            blocks,
            floor: vec![0; n_moments],
            waiting,
            twin,
            placed: vec![false; blocks.len()],
            offsets: vec![0; blocks.len()],
            best: best.to_vec(),
            peak,
            steps,
            moments,
        }
    }

    /// Depth-first search; whether it saw everything, rather than reaching `target` or running out of steps. Levels
    /// are kept on the heap: a part may have many thousand blocks.
    fn run(&mut self, target: u64) -> bool {
        let mut levels = vec![self.level(0, 0)];
        while let Some(level) = levels.last_mut() {
            if let Some((i, below)) = level.chosen.take() {
                self.take_back(i, &below);
            }
            let Some((offset, i)) = level.candidates.next() else {
                levels.pop();
                continue;
            };
            if offset + self.blocks[i].size >= self.peak {
                continue;
            }
            if self.steps == 0 {
                return false;
            }
            level.chosen = Some((i, self.place(i, offset)));
            if levels.len() < self.blocks.len() {
                levels.push(self.level(offset, i + 1));
                continue;
            }
            self.peak = self.floor.iter().copied().max().unwrap_or(0);
            self.best.clone_from(&self.offsets);
            if self.peak <= target {
                return false;
            }
        }
        true
    }

    /// The choices after a block at offset `low` with index `after` - 1.
    fn level(&mut self, low: u64, after: usize) -> Level {
        let candidates = self.candidates(low, after).unwrap_or_default().into_iter();
        Level { candidates, chosen: None }
    }

    /// The blocks that may come next with their offsets, most promising first; None when no packing is left.
    fn candidates(&mut self, low: u64, after: usize) -> Option<Vec<(u64, usize)>> {
        let open: Vec<(u64, usize)> =
            (0..self.blocks.len()).filter(|i| !self.placed[*i]).map(|i| (self.rest(i, low), i)).collect();
        // No block begins below `low` any more, nor below the lowest place of those that wait at the moment.
        let mut lowest = vec![u64::MAX; self.floor.len()];
        let mut work = self.blocks.len() + self.floor.len();
        for (offset, i) in &open {
            work += 2 * self.moments[*i].len();
            for slot in &mut lowest[self.moments[*i].clone()] {
                *slot = (*slot).min(*offset);
            }
        }
        self.steps = self.steps.saturating_sub(work as u64);
        let fits = |(floor, waiting): (&u64, &u64)| *waiting == 0 || floor + waiting < self.peak;
        if !lowest.iter().zip(&self.waiting).all(fits) {
            return None;
        }
        let lowest_top = open.iter().map(|(offset, i)| offset + self.blocks[*i].size).min()?;
        let mut candidates: Vec<(u64, usize)> = open
            .into_iter()
            .filter(|(offset, i)| *offset < lowest_top && (*offset > low || *i >= after))
            .filter(|(_, i)| self.twin[*i].is_none_or(|twin| self.placed[twin]))
            .collect();
        candidates.sort_by_key(|(offset, i)| {
            let block = &self.blocks[*i];
            (*offset, !(block.size.saturating_mul(self.moments[*i].len() as u64)), !block.size, *i)
        });
        Some(candidates)
    }

    /// Where a block comes to rest when offsets below `low` are over.
    fn rest(&self, i: usize, low: u64) -> u64 {
        let skyline = self.floor[self.moments[i].clone()].iter().copied().max().unwrap_or(0);
        aligned(skyline.max(low), self.blocks[i].align)
    }

    /// Returns the skyline that the block hides.
    fn place(&mut self, i: usize, offset: u64) -> Vec<u64> {
        let (alive, size) = (self.moments[i].clone(), self.blocks[i].size);
        let below = self.floor[alive.clone()].to_vec();
        self.floor[alive.clone()].fill(offset + size);
        self.waiting[alive].iter_mut().for_each(|w| *w -= size);
        (self.placed[i], self.offsets[i]) = (true, offset);
        below
    }

    fn take_back(&mut self, i: usize, below: &[u64]) {
        let (alive, size) = (self.moments[i].clone(), self.blocks[i].size);
        self.floor[alive.clone()].copy_from_slice(below);
        self.waiting[alive].iter_mut().for_each(|w| *w += size);
        self.placed[i] = false;
    }
}

/// The positions that matter: just before something ends, after something began since the last of them. Whatever is
/// alive together at any position is alive together at one of these.
fn moments(blocks: &[Block]) -> (Vec<std::ops::Range<usize>>, usize) {
    let mut events: Vec<(u32, bool)> =
        blocks.iter().flat_map(|b| [(b.first, false), (b.last, true)]).collect();
    events.sort_unstable();
    let mut at = Vec::new();
    let mut began = false;
    for (position, ends) in events {
        if ends && began {
            at.push(position);
        }
        began = !ends;
    }
    let range = |b: &Block| {
        at.partition_point(|position| *position < b.first)..at.partition_point(|position| *position <= b.last)
    };
    (blocks.iter().map(range).collect(), at.len())
}
