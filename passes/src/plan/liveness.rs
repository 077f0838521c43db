//! Lifetimes of buffers over a linear schedule with loops in it.

/// One access: the step at `position` reads or writes `buffer`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Touch {
    pub position: u32,
    pub buffer: usize,
    pub write: bool,
}

/// Positions `first` to `last`, both included.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Span {
    pub first: u32,
    pub last: u32,
}

impl Span {
    fn contains(self, position: u32) -> bool {
        (self.first..=self.last).contains(&position)
    }

    fn covers(self, other: Span) -> bool {
        self.contains(other.first) && self.contains(other.last)
    }
}

/// From when to when each of `n_buffers` buffers is alive; None for one that nothing touches.
///
/// `loops` are the positions that repeat; they nest or are apart. A buffer lives from its first touch to its last,
/// and through the whole of a loop if what it holds must outlive an iteration: when it is touched outside the loop
/// too, or read in the loop before it is written there. Steps under a condition count as if they always ran, in both
/// branches; a write that is conditional must therefore not be reported as a write (`write: false` is safe).
pub fn lifetimes(n_buffers: usize, touches: &[Touch], loops: &[Span]) -> Vec<Option<Span>> {
    let mut touched: Vec<Vec<Touch>> = vec![Vec::new(); n_buffers];
    touches.iter().for_each(|touch| touched[touch.buffer].push(*touch));
    // Inner loops first: what grows to one may then have to grow to the loop around it.
    let mut loops = loops.to_vec();
    loops.sort_by_key(|span| span.last - span.first);
    touched
        .into_iter()
        .map(|mut touches| {
            // Operands are read before the step's results are written.
            touches.sort_by_key(|touch| (touch.position, touch.write));
            let mut life = Span { first: touches.first()?.position, last: touches.last()?.position };
            for span in &loops {
                let inside = touches.iter().find(|touch| span.contains(touch.position));
                let carried = inside.is_some_and(|first| !first.write || !span.covers(life));
                if carried {
                    life = Span { first: life.first.min(span.first), last: life.last.max(span.last) };
                }
            }
            Some(life)
        })
        .collect()
}
