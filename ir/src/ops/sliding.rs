//! A window that slides over some axes: extents and index pairs, shared by convolution, transposed convolution and
//! pooling.

use super::broadcast::{for_each_index, strides};
use crate::op::{EvalCx, EvalError, InferCx, Mismatch};
use crate::types::{Cmp, Dim};

/// The attributes of a sliding window, one entry an axis.
#[derive(Clone, Copy)]
pub struct Sliding<'a> {
    pub strides: &'a [usize],
    pub dilations: &'a [usize],
    pub before: &'a [Dim],
    pub after: &'a [Dim],
}

impl Sliding<'_> {
    /// Every attribute must have an entry for each of `n` axes; steps are positive.
    pub fn validate(&self, n: usize) -> Result<(), Mismatch> {
        let lengths = [self.strides.len(), self.dilations.len(), self.before.len(), self.after.len()];
        if lengths.iter().any(|l| *l != n) {
            return Err(Mismatch::new(format!(
                "strides, dilations and pads have {lengths:?} entries for {n} axes"
            )));
        }
        if self.strides.contains(&0) || self.dilations.contains(&0) {
            return Err(Mismatch::new("strides and dilations must be positive"));
        }
        Ok(())
    }

    /// Extents that the window covers at one place.
    fn reach(&self, axis: usize, window: &Dim) -> Dim {
        (window.clone() - Dim::from(1)) * Dim::from(self.dilations[axis]) + Dim::from(1)
    }

    /// The number of places of the window on each axis: `floor((n + before + after - reach) / stride) + 1`.
    pub fn out_extents(&self, cx: &mut InferCx, input: &[Dim], window: &[Dim]) -> Result<Vec<Dim>, Mismatch> {
        self.validate(input.len())?;
        let mut out = Vec::with_capacity(input.len());
        for axis in 0..input.len() {
            cx.require(Cmp::Ge, &window[axis], &Dim::from(1), "the window is empty")?;
            let padded = input[axis].clone() + self.before[axis].clone() + self.after[axis].clone();
            let room = padded - self.reach(axis, &window[axis]);
            let extent = room.floor_div(&Dim::from(self.strides[axis])) + Dim::from(1);
            cx.require(Cmp::Ge, &extent, &Dim::from(0), "the window is larger than the padded input")?;
            out.push(extent);
        }
        Ok(out)
    }

    /// The inverse, for transposed convolution: `stride * (n - 1) + extra + reach - before - after`.
    pub fn transposed_extents(
        &self,
        cx: &mut InferCx,
        input: &[Dim],
        window: &[Dim],
        extra: &[usize],
    ) -> Result<Vec<Dim>, Mismatch> {
        self.validate(input.len())?;
        let mut out = Vec::with_capacity(input.len());
        for axis in 0..input.len() {
            cx.require(Cmp::Ge, &window[axis], &Dim::from(1), "the window is empty")?;
            let last = (input[axis].clone() - Dim::from(1)) * Dim::from(self.strides[axis]);
            let extent = last + Dim::from(extra[axis]) + self.reach(axis, &window[axis])
                - self.before[axis].clone()
                - self.after[axis].clone();
            cx.require(Cmp::Ge, &extent, &Dim::from(0), "the pads crop more than the output")?;
            out.push(extent);
        }
        Ok(out)
    }

    /// The leading pads as numbers.
    pub fn offsets(&self, cx: &EvalCx) -> Result<Vec<i64>, EvalError> {
        self.before.iter().map(|d| cx.dim(d)).collect()
    }

    /// For each element of the window, in row-major order, calls `f` with its number and the pairs of place of the
    /// window and position in the input, both linear over the windowed axes, that lie inside the input.
    pub fn for_each_tap(
        &self,
        window: &[usize],
        input: &[usize],
        places: &[usize],
        before: &[i64],
        mut f: impl FnMut(usize, &[Run]),
    ) {
        let (in_strides, place_strides) = (strides(input), strides(places));
        let mut tap = 0;
        for_each_index(window, |at| {
            let mut runs = vec![Run { place: 0, position: 0, len: 1, step: 1 }];
            for axis in 0..window.len() {
                let start = (at[axis] * self.dilations[axis]) as i64 - before[axis];
                let along = inside(start, self.strides[axis], places[axis], input[axis]);
                let shifted = |r: &Run, k: usize| Run {
                    place: r.place + (along.place + k) * place_strides[axis],
                    position: r.position + (along.position + k * along.step) * in_strides[axis],
                    ..along
                };
                runs = if axis + 1 == window.len() {
                    runs.iter().map(|r| shifted(r, 0)).collect()
                } else {
                    let single = |r: Run| Run { len: 1, ..r };
                    runs.iter().flat_map(|r| (0..along.len).map(move |k| single(shifted(r, k)))).collect()
                };
            }
            f(tap, &merged(runs));
            tap += 1;
        });
    }
}

/// Places of a window that follow each other, and the positions in the input, `step` apart, that they read.
#[derive(Clone, Copy)]
pub struct Run {
    pub place: usize,
    pub position: usize,
    pub len: usize,
    pub step: usize,
}

impl Run {
    /// (place, position) of each.
    pub fn pairs(self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.len).map(move |k| (self.place + k, self.position + k * self.step))
    }
}

/// The places `k < places` for which `start + k * step` lies in `0..extent`.
fn inside(start: i64, step: usize, places: usize, extent: usize) -> Run {
    let (signed, extent) = (step as i64, extent as i64);
    let first = if start < 0 { (-start + signed - 1) / signed } else { 0 };
    let end = if start < extent { ((extent - 1 - start) / signed + 1).min(places as i64) } else { 0 };
    if first >= end {
        return Run { place: 0, position: 0, len: 0, step };
    }
    let (place, position) = (first as usize, (start + first * signed) as usize);
    Run { place, position, len: (end - first) as usize, step }
}

/// Runs that continue each other as one: rows that are read whole.
fn merged(runs: Vec<Run>) -> Vec<Run> {
    let mut out: Vec<Run> = Vec::with_capacity(runs.len());
    for run in runs.into_iter().filter(|r| r.len > 0) {
        match out.last_mut() {
            Some(last)
                if last.place + last.len == run.place
                    && last.position + last.len * last.step == run.position
                    && last.step == run.step =>
            {
                last.len += run.len;
            }
            _ => out.push(run),
        }
    }
    out
}
