//! Which constants may be put together.
//!
//! `(x * a) * b` and `x * (a * b)` differ by their intermediate results, `x * a` and `a * b`. Where one of those
//! leaves the range of its type, infinities, NaN and zeros come about in the one form that aren't in the other. So
//! factors must lie within the *room* of their type: half of the exponents on either side of 1 (in f32 from 2^-63 to
//! 2^63, in f16 from 2^-7 to 2^7), and their product too. Data within the other half then overflow or underflow in
//! neither form, and infinities, NaN and zeros among them come out the same in both. Constants whose elements aren't
//! known, or aren't finite, stay where they are.

use crate::egraph::analysis::View;
use crate::egraph::language::Id;
use tcc_ir::ops::{BinaryKind, UnaryKind};
use tcc_ir::{DType, Dim, Op, Tensor};

/// What numbers a type has.
#[derive(Clone, Copy)]
struct Format {
    /// Binary digits.
    digits: i32,
    /// Exponents of the smallest normal number and of the largest.
    least: i32,
    most: i32,
}

/// None of types so narrow that they have no room, or which aren't floats.
fn format(dtype: DType) -> Option<Format> {
    let (digits, least, most) = match dtype {
        DType::F64 => (53, -1022, 1023),
        DType::F32 => (24, -126, 127),
        DType::BF16 => (8, -126, 127),
        DType::F16 => (11, -14, 15),
        _ => return None,
    };
    Some(Format { digits, least, most })
}

fn exp2(exponent: i32) -> f64 {
    f64::from(exponent).exp2()
}

impl Format {
    fn normal(self) -> f64 {
        exp2(self.least)
    }

    fn low(self) -> f64 {
        exp2(self.least / 2)
    }

    fn high(self) -> f64 {
        exp2(self.most / 2)
    }

    /// Whether exponents reach so far that what is below the room is as good as 0 in a sum with ordinary numbers.
    fn reaches_far(self) -> bool {
        self.least < -100
    }

    fn has_room_for(self, sizes: Sizes) -> bool {
        sizes.least >= self.low() && sizes.most <= self.high()
    }
}

/// Whether a type is wide enough for sums and products of data, whose size isn't known, to be formed in another order.
pub(super) fn is_wide(dtype: DType) -> bool {
    matches!(dtype, DType::F32 | DType::F64)
}

/// Bounds on the magnitudes of elements.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Sizes {
    /// Of those that aren't 0: infinity where all are.
    least: f64,
    /// Infinity also where one is NaN.
    most: f64,
}

impl Sizes {
    const NONE: Sizes = Sizes { least: f64::INFINITY, most: 0.0 };

    fn with(self, size: f64) -> Sizes {
        let least = if size > 0.0 { self.least.min(size) } else { self.least };
        Sizes { least, most: self.most.max(size) }
    }

    fn times(self, other: Sizes) -> Sizes {
        Sizes { least: self.least * other.least, most: self.most * other.most }
    }
}

/// How many operators on constants are looked through for bounds.
const DEPTH: usize = 4;

/// Bounds of a class that depends on constants only. None when they can't be told.
fn sizes(view: View, id: Id, depth: usize) -> Option<Sizes> {
    if let Some(t) = view.constant(id) {
        return Some(magnitudes(t.dtype(), t.bytes()).fold(Sizes::NONE, Sizes::with));
    }
    let depth = depth.checked_sub(1)?;
    view.ops(id).filter(|_| view.fixed(id)).find_map(|(op, ins)| match op {
        Op::Broadcast(_) | Op::Reshape(_) | Op::Transpose(_) | Op::Slice(_) => sizes(view, ins[0], depth),
        Op::Unary(u) if u.kind == UnaryKind::Neg => sizes(view, ins[0], depth),
        Op::Binary(b) if b.kind == BinaryKind::Mul => {
            Some(sizes(view, ins[0], depth)?.times(sizes(view, ins[1], depth)?))
        }
        Op::Binary(b) if b.kind == BinaryKind::Add => {
            let (a, b) = (sizes(view, ins[0], depth)?, sizes(view, ins[1], depth)?);
            Some(Sizes { least: 0.0, most: a.most + b.most })
        }
        _ => None,
    })
}

/// Whether the elements of a fixed operand are known and lie within the room of their type.
pub(super) fn has_room(view: View, a: Id) -> bool {
    fits(view, a, a, |format, a, _| format.has_room_for(a))
}

/// Whether `(x * a) * b` may become `x * (a * b)`.
pub(super) fn product_fits(view: View, a: Id, b: Id) -> bool {
    fits(view, a, b, |format, a, b| {
        format.has_room_for(a) && format.has_room_for(b) && format.has_room_for(a.times(b))
    })
}

/// Whether `(x + a) + b` may become `x + (a + b)`: not with numbers so large that they take digits from ordinary
/// data, as those have that are added and taken away again for rounding.
pub(super) fn sum_fits(view: View, a: Id, b: Id) -> bool {
    fits(view, a, b, |format, a, b| a.most.max(b.most) <= exp2(format.digits - 4))
}

/// Whether two fixed operands and their product are so far from the largest number that what they are added to, or
/// summed up with, doesn't overflow for them.
pub(super) fn are_moderate(view: View, a: Id, b: Id) -> bool {
    fits(view, a, b, |format, a, b| a.most.max(b.most).max(a.most * b.most) <= format.high())
}

/// Whether the elements of a fixed operand are so far from the largest number that sums of a few with small factors, and
/// what they are added to, don't overflow for them.
pub(super) fn is_moderate(view: View, a: Id) -> bool {
    let known = || Some((format(view.tensor(a)?.dtype)?, sizes(view, a, DEPTH)?));
    known().is_some_and(|(format, sizes)| sizes.most <= format.high() / 64.0)
}

/// A test of two fixed operands of one type. Integers wrap alike in whatever order.
fn fits(view: View, a: Id, b: Id, test: fn(Format, Sizes, Sizes) -> bool) -> bool {
    let Some(dtype) = view.tensor(a).map(|t| t.dtype) else { return false };
    if !dtype.is_float() {
        return true;
    }
    let known = || Some((format(dtype)?, sizes(view, a, DEPTH)?, sizes(view, b, DEPTH)?));
    known().is_some_and(|(format, a, b)| test(format, a, b))
}

/// Whether weights may be multiplied by a fixed factor, which has the extents `dims` along the axes of the weights.
///
/// Here the weights under one element of the factor are summed up, and only the largest of them counts: it must stay
/// normal, by three digits, so that what smaller ones lose is nothing against its own rounding.
pub(super) fn weights_fit(view: View, weights: Id, factor: Id, dims: &[Dim]) -> bool {
    let kept: Vec<bool> = dims.iter().map(|d| !d.is_const(1)).collect();
    let known = || {
        let format = format(view.tensor(weights)?.dtype)?;
        let factors = factors(view, factor)?;
        // Before the weights are looked at, which are many.
        factors.iter().all(|s| s.most <= format.high()).then_some(())?;
        Some((format, factors, largest(view, weights, &kept, DEPTH)?))
    };
    let Some((format, factors, largest)) = known() else { return false };
    let one = factors.len() == 1;
    let factor = |i: usize| factors.get(if one { 0 } else { i });
    (one || factors.len() == largest.len())
        && largest.iter().enumerate().all(|(i, w)| factor(i).is_some_and(|s| channel_fits(format, *w, *s)))
}

/// The same for one channel: bounds on its largest weight, and on the factor.
fn channel_fits(format: Format, weight: Sizes, factor: Sizes) -> bool {
    let made = weight.times(factor);
    let normal = made.least >= format.normal() * 8.0;
    // Channels that training has switched off decay until they are this small. They add nothing in either form.
    let dead = format.reaches_far()
        && (weight.most.min(factor.most) < format.normal() || weight.most.max(factor.most) < format.low());
    weight.most <= format.high() && made.most <= format.high() && (made.most == 0.0 || normal || dead)
}

/// Bounds on each element of a fixed factor, or on all of them.
fn factors(view: View, factor: Id) -> Option<Vec<Sizes>> {
    match view.constant(factor) {
        Some(t) => Some(magnitudes(t.dtype(), t.bytes()).map(|size| Sizes::NONE.with(size)).collect()),
        None => Some(vec![sizes(view, factor, DEPTH)?]),
    }
}

/// Bounds on the largest element at each place along the kept axes.
fn largest(view: View, id: Id, kept: &[bool], depth: usize) -> Option<Vec<Sizes>> {
    if let Some(t) = view.constant(id) {
        let exact = |most: f64| Sizes { least: most, most };
        return Some(largest_of(t, kept).into_iter().map(exact).collect());
    }
    // Large weights that were multiplied before.
    let depth = depth.checked_sub(1)?;
    view.ops(id).find_map(|(op, ins)| match op {
        Op::Binary(b) if b.kind == BinaryKind::Mul && view.tensor(ins[0]) == view.tensor(id) => {
            let t = view.constant(ins[1])?;
            let sizes = || magnitudes(t.dtype(), t.bytes());
            // A zero may have taken the largest away.
            let factor = sizes().all(|size| size > 0.0).then(|| sizes().fold(Sizes::NONE, Sizes::with))?;
            Some(largest(view, ins[0], kept, depth)?.into_iter().map(|w| w.times(factor)).collect())
        }
        _ => None,
    })
}

/// The largest magnitude at each place along the kept axes.
fn largest_of(t: &Tensor, kept: &[bool]) -> Vec<f64> {
    // Neighbours of one sort are one axis.
    let mut axes: Vec<(usize, bool)> = Vec::new();
    for (extent, kept) in t.shape().iter().zip(kept) {
        match axes.last_mut() {
            Some((all, k)) if k == kept => *all *= extent,
            _ => axes.push((*extent, *kept)),
        }
    }
    let n = axes.iter().filter(|(_, kept)| *kept).map(|(extent, _)| extent).product();
    let mut out = vec![0.0f64; n];
    let (run, along) = axes.pop().unwrap_or((1, false));
    let bytes = t.bytes().chunks_exact((run * t.dtype().size()).max(1));
    for (i, row) in bytes.enumerate() {
        // Where the row lies along the kept axes before the last.
        let place = axes.iter().rev().fold((i, 0, 1), |(rest, place, stride), (extent, kept)| {
            let at = if *kept { place + rest % extent * stride } else { place };
            (rest / extent, at, if *kept { stride * extent } else { stride })
        });
        let place = place.1;
        if along {
            let out = out[place * run..].iter_mut();
            out.zip(magnitudes(t.dtype(), row)).for_each(|(out, v)| *out = out.max(v));
        } else {
            out[place] = magnitudes(t.dtype(), row).fold(out[place], f64::max);
        }
    }
    out
}

/// NaN as infinity: it may be no less.
fn magnitudes(dtype: DType, bytes: &[u8]) -> impl Iterator<Item = f64> {
    let size = |v: f64| if v.is_nan() { f64::INFINITY } else { v.abs() };
    bytes.chunks_exact(dtype.size().max(1)).map(move |c| size(dtype.load_float(c)))
}
