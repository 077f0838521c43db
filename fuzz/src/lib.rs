//! What the fuzz targets share: mutations that know what models and packages are made of.
//!
//! Flipped bytes rarely get past the first check of a format. These mutations decode a file, change what it says, and encode
//! it again, so that the checks behind are reached too. Half of the time plain bytes are mutated, as ever.

pub mod model;
pub mod numbers;
pub mod package;

use fastrand::Rng;

/// Mutates `data[..size]` in place, to at most `max_size` bytes: with `structured` on what the bytes mean, if that is
/// possible, else bytes. Returns the new size.
pub fn mutate(
    data: &mut [u8],
    size: usize,
    max_size: usize,
    seed: u32,
    structured: fn(&[u8], &mut Rng) -> Option<Vec<u8>>,
) -> usize {
    let mut rng = Rng::with_seed(u64::from(seed));
    if rng.u8(0..4) > 0
        && let Some(bytes) = structured(&data[..size], &mut rng)
        && bytes.len() <= max_size
    {
        data[..bytes.len()].copy_from_slice(&bytes);
        return bytes.len();
    }
    libfuzzer_sys::fuzzer_mutate(data, size, max_size)
}

/// One of the elements; `None` where there are none.
fn pick<'a, T>(rng: &mut Rng, all: &'a [T]) -> Option<&'a T> {
    (!all.is_empty()).then(|| &all[rng.usize(..all.len())])
}

/// One of the elements, to be changed.
fn pick_mut<'a, T>(rng: &mut Rng, all: &'a mut [T]) -> Option<&'a mut T> {
    if all.is_empty() { None } else { all.get_mut(rng.usize(..all.len())) }
}

/// Removes, doubles or swaps elements.
fn shuffle<T: Clone>(rng: &mut Rng, all: &mut Vec<T>) {
    if all.is_empty() {
        return;
    }
    let at = rng.usize(..all.len());
    match rng.u8(0..3) {
        0 => drop(all.remove(at)),
        1 => {
            let element = all[at].clone();
            all.insert(rng.usize(..=all.len()), element);
        }
        _ => {
            let other = rng.usize(..all.len());
            all.swap(at, other);
        }
    }
}
