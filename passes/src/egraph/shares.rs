//! Who pays for a whole that several values are parts of.
//!
//! What reads a part is charged the part's share of what the whole takes, and nothing of the others': so an estimate
//! for one value doesn't have to know that its siblings are needed too. Estimates that meet again count each share
//! once.

use super::bits::Bits;
use super::siblings::Split;
use indexmap::IndexMap;
use std::ops::Range;

#[derive(Default)]
pub struct Shares {
    /// By place of the whole.
    splits: IndexMap<usize, Split>,
    /// Number of the first share of each whole. Shares count as classes behind all others.
    numbers: IndexMap<usize, usize>,
    /// What each share stands for, and itself.
    closures: Vec<Bits>,
    n_classes: usize,
}

impl Shares {
    pub fn new(splits: &[Split], n_classes: usize) -> Shares {
        let mut shares = Shares { n_classes, ..Shares::default() };
        for split in splits {
            shares.numbers.insert(split.whole, shares.closures.len());
            shares.closures.resize(shares.closures.len() + split.parts.len(), Bits::default());
            shares.splits.insert(split.whole, split.clone());
        }
        shares
    }

    /// Classes and shares together.
    pub fn len(&self) -> usize {
        self.n_classes + self.closures.len()
    }

    /// The shares of a whole, and their part of its cost.
    pub fn of(&self, whole: usize) -> Range<usize> {
        let first = self.numbers.get(&whole).map_or(0, |first| self.n_classes + first);
        let n = self.splits.get(&whole).map_or(0, |split| split.parts.len());
        first..first + n
    }

    /// What a kernel that reads class `read` needs of it, where it computes the classes that `inside` tells: the
    /// shares of parts among those. None when it needs all of it.
    pub fn needs(&self, read: usize, inside: impl Fn(usize) -> bool) -> Option<Bits> {
        let split = self.splits.get(&read)?;
        let mut all = Bits::default();
        let mut any = false;
        for (part, share) in split.parts.iter().zip(self.of(read)) {
            if inside(*part) {
                all.extend(&self.closures[share - self.n_classes]);
                any = true;
            }
        }
        any.then_some(all)
    }

    /// Notes what the parts of a whole need, which is best made by reading `reads`; `closure` tells what the others
    /// need.
    pub fn set(&mut self, whole: usize, reads: &[usize], closure: impl Fn(usize) -> Bits) {
        let Some(split) = self.splits.get(&whole) else { return };
        let family = split.family;
        let n = split.parts.len();
        for (j, share) in self.of(whole).enumerate() {
            let mut all = Bits::default();
            for read in reads {
                // Part by part, where that is what it is made of.
                let inner = self.splits.get(read).filter(|s| s.family == family && s.parts.len() == n);
                match inner.and_then(|_| self.of(*read).nth(j)) {
                    Some(part) => all.extend(&self.closures[part - self.n_classes]),
                    None => all.extend(&closure(*read)),
                }
            }
            all.insert(share);
            self.closures[share - self.n_classes] = all;
        }
    }
}
