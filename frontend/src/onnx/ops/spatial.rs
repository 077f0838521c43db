//! The attributes that convolutions and poolings share: kernel, strides, dilations and ways to pad.

use tcc_ir::Dim;

use crate::onnx::node::{ImportError, NodeCx, Result};

/// How the borders are padded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AutoPad {
    /// By the attribute `pads`.
    Not,
    /// So that there are `ceil(n / stride)` places, an odd element at the end.
    SameUpper,
    /// The same, an odd element at the beginning.
    SameLower,
    Valid,
}

/// One entry an axis of each.
#[derive(Clone, Debug)]
pub(super) struct Spatial {
    pub strides: Vec<usize>,
    pub dilations: Vec<usize>,
    pub before: Vec<Dim>,
    pub after: Vec<Dim>,
    pub auto_pad: AutoPad,
}

/// Larger numbers in these attributes are mistakes; this keeps arithmetic with them in range.
const LIMIT: i64 = 1 << 31;

impl Spatial {
    /// Reads the attributes for `n_axes` spatial axes.
    pub fn read(cx: &NodeCx, n_axes: usize) -> Result<Self> {
        let steps = |name| -> Result<Vec<usize>> {
            Ok(positive(cx, name, n_axes)?.unwrap_or_else(|| vec![1; n_axes]))
        };
        let (strides, dilations) = (steps("strides")?, steps("dilations")?);
        let auto_pad = match cx.string("auto_pad", "NOTSET")? {
            "NOTSET" | "" => AutoPad::Not,
            "SAME_UPPER" => AutoPad::SameUpper,
            "SAME_LOWER" => AutoPad::SameLower,
            "VALID" => AutoPad::Valid,
            mode => return Err(ImportError::invalid(format!("auto_pad is `{mode}`"))),
        };
        let pads = cx.opt_ints("pads")?;
        let (before, after) = match pads {
            Some(pads) if auto_pad == AutoPad::Not => {
                if pads.len() != 2 * n_axes || pads.iter().any(|pad| !(-LIMIT..LIMIT).contains(pad)) {
                    return Err(ImportError::invalid(format!("pads {pads:?} for {n_axes} spatial axes")));
                }
                let dims = |pads: &[i64]| pads.iter().map(|&pad| Dim::from(pad)).collect();
                (dims(&pads[..n_axes]), dims(&pads[n_axes..]))
            }
            _ => (vec![Dim::from(0); n_axes], vec![Dim::from(0); n_axes]),
        };
        Ok(Spatial { strides, dilations, before, after, auto_pad })
    }

    /// How many elements the window spans along an axis.
    pub fn reach(&self, axis: usize, window: &Dim) -> Dim {
        (window.clone() - Dim::from(1)) * Dim::from(self.dilations[axis]) + Dim::from(1)
    }

    /// Works out SAME pads for a window over `input`.
    pub fn resolve(&mut self, input: &[Dim], window: &[Dim]) {
        if !matches!(self.auto_pad, AutoPad::SameUpper | AutoPad::SameLower) {
            return;
        }
        for axis in 0..input.len() {
            let stride = Dim::from(self.strides[axis]);
            let n_places = input[axis].ceil_div(&stride);
            let covered = (n_places - Dim::from(1)) * stride + self.reach(axis, &window[axis]);
            let total = (covered - input[axis].clone()).maximum(&Dim::from(0));
            self.distribute(axis, total);
        }
    }

    /// Sets an axis' pads to a total, half of it on each side, by the way to pad.
    pub fn distribute(&mut self, axis: usize, total: Dim) {
        let positive = total.maximum(&Dim::from(0));
        let two = Dim::from(2);
        self.before[axis] = if self.auto_pad == AutoPad::SameUpper {
            positive.floor_div(&two)
        } else {
            positive.ceil_div(&two)
        };
        self.after[axis] = total - self.before[axis].clone();
    }

    /// For `ceil_mode`: grows (or cuts) the pads at the end so that the last place, which may hang over the end, is
    /// there. One that would begin in the padding at the end is left out.
    pub fn round_up(&mut self, input: &[Dim], window: &[Dim]) {
        for axis in 0..input.len() {
            let (zero, one, stride) = (Dim::from(0), Dim::from(1), Dim::from(self.strides[axis]));
            let begin = input[axis].clone() + self.before[axis].clone();
            let reach = self.reach(axis, &window[axis]);
            let last = (begin.clone() + self.after[axis].clone() - reach.clone()).ceil_div(&stride);
            let start = last.clone() * stride.clone();
            let last = last - Dim::select(tcc_ir::Cmp::Ge, &start, &begin, &one, &zero);
            self.after[axis] = last * stride + reach - begin;
        }
    }
}

/// The window of a pooling.
pub(super) fn kernel_shape(cx: &NodeCx, n_axes: usize) -> Result<Vec<usize>> {
    positive(cx, "kernel_shape", n_axes)?
        .ok_or_else(|| ImportError::invalid("attribute `kernel_shape` is missing"))
}

/// A list of positive numbers, one an axis.
fn positive(cx: &NodeCx, name: &str, n_axes: usize) -> Result<Option<Vec<usize>>> {
    let Some(values) = cx.opt_ints(name)? else { return Ok(None) };
    if values.len() != n_axes || values.iter().any(|value| !(1..LIMIT).contains(value)) {
        return Err(ImportError::invalid(format!("{name} {values:?} for {n_axes} spatial axes")));
    }
    Ok(Some(values.iter().map(|&value| value as usize).collect()))
}
