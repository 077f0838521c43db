//! Packs buffers with known lifetimes into one arena. Values that the compiler placed keep their places.

/// A buffer to place: its size and the first and last position at which it's alive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    pub bytes: u64,
    pub first: u32,
    pub last: u32,
    /// The place that the compiler planned.
    pub fixed: Option<u64>,
}

impl Item {
    fn overlaps(&self, other: &Item) -> bool {
        self.first <= other.last && other.first <= self.last
    }

    fn length(&self) -> u64 {
        u64::from(self.last - self.first) + 1
    }
}

/// How often each order is changed, so that what stuck out comes first.
const ROUNDS: usize = 8;

/// An offset for each item, and the size of all; `None` when it would overflow.
pub(crate) fn plan(items: &[Item], align: u64) -> Option<(Vec<u64>, u64)> {
    let orders: [fn(&Item) -> (u128, u64); 4] = [
        |item| (item.bytes.into(), item.length()),
        |item| (u128::from(item.bytes) * u128::from(item.length()), item.bytes),
        |item| (item.length().into(), item.bytes),
        |item| (u128::from(u32::MAX - item.first), item.bytes),
    ];
    let enough = most_alive(items, align)?;
    let mut best: Option<(Vec<u64>, u64)> = None;
    for order in orders {
        let mut sequence: Vec<usize> = (0..items.len()).filter(|&i| items[i].fixed.is_none()).collect();
        // Ties keep the order of the values, so that the same shapes give the same plan.
        sequence.sort_by_key(|&i| std::cmp::Reverse(order(&items[i])));
        for _ in 0..ROUNDS {
            let (offsets, size) = place(items, &sequence, align)?;
            let highest =
                (0..sequence.len()).max_by_key(|&at| offsets[sequence[at]] + items[sequence[at]].bytes);
            if best.as_ref().is_none_or(|(_, smallest)| size < *smallest) {
                best = Some((offsets, size));
            }
            if size <= enough {
                return best;
            }
            // Next time it gets the lowest place, and the others fit around it.
            match highest {
                Some(at) => sequence[..=at].rotate_right(1),
                None => break,
            }
        }
    }
    best
}

/// Most bytes alive at once, in whole blocks of `align`: no plan needs more than these, the best ones hardly less.
fn most_alive(items: &[Item], align: u64) -> Option<u64> {
    let mut changes: Vec<(u64, i128)> = Vec::with_capacity(2 * items.len());
    for item in items {
        let bytes = i128::from(item.bytes.checked_next_multiple_of(align)?);
        changes.extend([(item.first.into(), bytes), (u64::from(item.last) + 1, -bytes)]);
    }
    // What ends before a position makes room for what begins there.
    changes.sort_unstable();
    let alive = changes.iter().scan(0, |alive, (_, change)| {
        *alive += change;
        Some(*alive)
    });
    u64::try_from(alive.max().unwrap_or(0)).ok()
}

/// Gives each item in turn the lowest gap between those placed before that are alive at the same time.
fn place(items: &[Item], sequence: &[usize], align: u64) -> Option<(Vec<u64>, u64)> {
    let mut offsets: Vec<u64> = items.iter().map(|item| item.fixed.unwrap_or(0)).collect();
    let mut placed: Vec<usize> = (0..items.len()).filter(|&i| items[i].fixed.is_some()).collect();
    placed.sort_by_key(|&i| offsets[i]);
    let mut size = 0;
    for &i in &placed {
        size = size.max(offsets[i].checked_add(items[i].bytes)?);
    }
    for &i in sequence {
        let mut at: u64 = 0;
        for &other in placed.iter().filter(|&&other| items[other].overlaps(&items[i])) {
            if at.checked_add(items[i].bytes)? <= offsets[other] {
                break;
            }
            let end = offsets[other].checked_add(items[other].bytes)?;
            at = at.max(end.checked_next_multiple_of(align)?);
        }
        offsets[i] = at;
        size = size.max(at.checked_add(items[i].bytes)?);
        let position = placed.partition_point(|&other| offsets[other] <= at);
        placed.insert(position, i);
    }
    Some((offsets, size))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(bytes: u64, first: u32, last: u32) -> Item {
        Item { bytes, first, last, fixed: None }
    }

    /// Re-derives from scratch that nothing alive at the same time overlaps.
    fn assert_disjoint(items: &[Item], offsets: &[u64], size: u64) {
        for (i, a) in items.iter().enumerate() {
            assert!(offsets[i] + a.bytes <= size);
            for (j, b) in items.iter().enumerate().take(i) {
                let together = (a.first.max(b.first)..=a.last.min(b.last)).next().is_some();
                let shared = offsets[i].max(offsets[j]) < (offsets[i] + a.bytes).min(offsets[j] + b.bytes);
                assert!(!(together && shared), "items {i} and {j}");
            }
        }
    }

    #[test]
    fn a_chain_needs_two_neighbours() {
        let items: Vec<Item> = (0..10).map(|i| item(64, i, i + 1)).collect();
        let (offsets, size) = plan(&items, 64).unwrap();
        assert_disjoint(&items, &offsets, size);
        assert_eq!(size, 128);
    }

    /// Each of the orders alone leaves a gap: the best of them takes 768 bytes.
    #[test]
    fn what_sticks_out_is_placed_first() {
        let items = [item(256, 6, 7), item(192, 3, 6), item(384, 1, 4), item(64, 4, 4), item(192, 5, 6)];
        let (offsets, size) = plan(&items, 64).unwrap();
        assert_disjoint(&items, &offsets, size);
        assert_eq!(size, 640);
        assert_eq!(most_alive(&items, 64), Some(640));
    }

    #[test]
    fn placed_items_stay_and_are_avoided() {
        let items =
            [Item { fixed: Some(64), ..item(64, 0, 3) }, item(64, 2, 2), item(100, 1, 2), item(500, 4, 4)];
        let (offsets, size) = plan(&items, 64).unwrap();
        assert_disjoint(&items, &offsets, size);
        assert_eq!(offsets[0], 64);
        assert_eq!(offsets[1], 0);
        assert_eq!(size, 500);
    }

    #[test]
    fn random_plans_are_disjoint_and_near_the_bound() {
        let mut state = 7u64;
        let mut random = move |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        for _ in 0..50 {
            let items: Vec<Item> = (0..40)
                .map(|_| {
                    let first = random(50) as u32;
                    item(random(40) * 64, first, first + random(8) as u32)
                })
                .collect();
            let (offsets, size) = plan(&items, 64).unwrap();
            assert_disjoint(&items, &offsets, size);
            let alive = |at| items.iter().filter(|i| i.first <= at && at <= i.last).map(|i| i.bytes).sum();
            let bound: u64 = (0..60).map(alive).max().unwrap();
            assert!(size <= bound * 3 / 2, "{size} for a bound of {bound}");
        }
    }

    #[test]
    fn sizes_that_overflow_have_no_plan() {
        assert!(plan(&[item(u64::MAX, 0, 1), item(1, 0, 1)], 64).is_none());
    }
}
