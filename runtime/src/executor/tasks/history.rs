//! Which earlier shares of work touched the bytes that a share touches.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Included};

/// What one lane does of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    pub task: u32,
    pub lane: u32,
}

/// A range of bytes in one of the buffers that steps write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bytes {
    pub buffer: u32,
    pub start: u64,
    pub end: u64,
}

/// Who touched which bytes last. Shares are added in the order of their tasks.
#[derive(Default)]
pub(super) struct History {
    /// Disjoint, by buffer and first byte.
    segments: BTreeMap<(u32, u64), Segment>,
}

#[derive(Clone)]
struct Segment {
    end: u64,
    /// The shares of the task that wrote it last.
    writes: Vec<Share>,
    /// Those that read it since, the last one of each lane.
    reads: Vec<Share>,
}

impl History {
    /// Shares that must be done before these bytes are read, or written.
    pub fn before(&self, bytes: Bytes, write: bool, found: &mut impl FnMut(Share)) {
        let Bytes { buffer, start, end } = bytes;
        let first = self.segments.range(..=(buffer, start)).next_back();
        let rest = self.segments.range((Excluded((buffer, start)), Excluded((buffer, end.max(start + 1)))));
        for (at, segment) in first.into_iter().chain(rest) {
            if at.0 == buffer && at.1 < end && segment.end > start {
                segment.writes.iter().for_each(|share| found(*share));
                if write {
                    segment.reads.iter().for_each(|share| found(*share));
                }
            }
        }
    }

    pub fn add(&mut self, bytes: Bytes, share: Share, write: bool) {
        let Bytes { buffer, start, end } = bytes;
        if start >= end {
            return;
        }
        self.split(buffer, start);
        self.split(buffer, end);
        self.fill_gaps(bytes);
        for (_, segment) in self.segments.range_mut((Included((buffer, start)), Excluded((buffer, end)))) {
            if write {
                // Whoever waits for this write has waited for all before, for the write did.
                segment.writes.retain(|earlier| earlier.task == share.task);
                segment.reads.retain(|earlier| earlier.task == share.task);
                segment.writes.push(share);
            } else {
                segment.reads.retain(|earlier| earlier.lane != share.lane);
                segment.reads.push(share);
            }
        }
    }

    /// Lets a segment begin at this byte, if the byte is in one.
    fn split(&mut self, buffer: u32, at: u64) {
        let inside = self.segments.range_mut(..(buffer, at)).next_back();
        if let Some((first, segment)) = inside
            && first.0 == buffer
            && segment.end > at
        {
            let right = segment.clone();
            segment.end = at;
            self.segments.insert((buffer, at), right);
        }
    }

    fn fill_gaps(&mut self, Bytes { buffer, start, end }: Bytes) {
        let mut gaps = Vec::new();
        let mut at = start;
        for ((_, first), segment) in self.segments.range((buffer, start)..(buffer, end)) {
            if *first > at {
                gaps.push((at, *first));
            }
            at = segment.end;
        }
        if at < end {
            gaps.push((at, end));
        }
        for (first, end) in gaps {
            self.segments.insert((buffer, first), Segment { end, writes: vec![], reads: vec![] });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(history: &History, start: u64, end: u64, write: bool) -> Vec<(u32, u32)> {
        let mut all = Vec::new();
        history
            .before(Bytes { buffer: 1, start, end }, write, &mut |share| all.push((share.task, share.lane)));
        all.sort_unstable();
        all.dedup();
        all
    }

    #[test]
    fn reads_wait_for_writes_and_writes_for_both() {
        let mut history = History::default();
        let bytes = |start, end| Bytes { buffer: 1, start, end };
        history.add(bytes(0, 50), Share { task: 0, lane: 0 }, true);
        history.add(bytes(50, 100), Share { task: 0, lane: 1 }, true);
        assert_eq!(found(&history, 0, 50, false), [(0, 0)]);
        assert_eq!(found(&history, 49, 51, false), [(0, 0), (0, 1)]);
        assert_eq!(found(&history, 100, 200, true), []);
        history.add(bytes(20, 70), Share { task: 1, lane: 1 }, false);
        assert_eq!(found(&history, 0, 20, true), [(0, 0)]);
        assert_eq!(found(&history, 20, 30, true), [(0, 0), (1, 1)]);
        history.add(bytes(0, 200), Share { task: 2, lane: 0 }, true);
        assert_eq!(found(&history, 10, 150, true), [(2, 0)]);
        assert_eq!(found(&history, 200, 300, true), []);
        let mut other = Vec::new();
        history.before(Bytes { buffer: 0, start: 0, end: 9 }, true, &mut |share| other.push(share));
        history.before(Bytes { buffer: 2, start: 0, end: 9 }, true, &mut |share| other.push(share));
        assert_eq!(other, []);
    }

    #[test]
    fn shares_of_one_task_write_side_by_side() {
        let mut history = History::default();
        for lane in 0..3 {
            history.add(Bytes { buffer: 1, start: 0, end: 10 }, Share { task: 0, lane }, true);
        }
        assert_eq!(found(&history, 3, 4, false), [(0, 0), (0, 1), (0, 2)]);
    }
}
