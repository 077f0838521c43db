//! Where Resize reads along one axis: coordinates in the input, the elements around them and their weights.

use tcc_ir::ops::{BinaryKind, Reduce, ReduceKind, UnaryKind};
use tcc_ir::{Cmp, DType, Dim, ValueId};

use super::resize::{Axis, dim_as_float, known_float};
use crate::onnx::node::{ImportError, NodeCx, Result};

/// Taps of an antialiased axis are limited: a scale this small is no real model's.
const MAX_TAPS: f64 = 4096.0;

/// What coordinate of the input an element of the output is at.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Coordinates {
    HalfPixel,
    HalfPixelSymmetric,
    PytorchHalfPixel,
    AlignCorners,
    Asymmetric,
    TfHalfPixelForNn,
    TfCropAndResize,
}

impl Coordinates {
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "half_pixel" => Coordinates::HalfPixel,
            "half_pixel_symmetric" => Coordinates::HalfPixelSymmetric,
            "pytorch_half_pixel" => Coordinates::PytorchHalfPixel,
            "align_corners" => Coordinates::AlignCorners,
            "asymmetric" => Coordinates::Asymmetric,
            "tf_half_pixel_for_nn" => Coordinates::TfHalfPixelForNn,
            "tf_crop_and_resize" => Coordinates::TfCropAndResize,
            _ => return None,
        })
    }

    /// The coordinates of all elements along the axis, an f32 vector.
    pub fn places(self, cx: &mut NodeCx, axis: &Axis) -> Result<ValueId> {
        use BinaryKind::{Add, Div, Mul, Sub};
        let one = Dim::from(1);
        let is_one = |dim: &Dim| Dim::select(Cmp::Eq, dim, &Dim::from(1), &Dim::from(1), &Dim::from(0));
        let x = cx.iota(axis.out.clone(), DType::F32)?;
        let centered = |cx: &mut NodeCx, shift: f64| {
            let middle = cx.binary_scalar(Add, x, 0.5)?;
            let scaled = cx.binary(Div, middle, axis.scale)?;
            if shift == 0.0 { Ok(scaled) } else { cx.binary_scalar(Sub, scaled, shift) }
        };
        // (out - 1), or 1 where that is 0.
        let steps = |cx: &mut NodeCx| dim_as_float(cx, &(axis.out.clone() - one.clone()).maximum(&one));
        let last = |cx: &mut NodeCx| dim_as_float(cx, &(axis.extent.clone() - one.clone()));
        match self {
            Coordinates::HalfPixel => centered(cx, 0.5),
            Coordinates::TfHalfPixelForNn => centered(cx, 0.0),
            Coordinates::Asymmetric => cx.binary(Div, x, axis.scale),
            Coordinates::HalfPixelSymmetric => {
                let extent = dim_as_float(cx, &axis.extent)?;
                let exact_out = cx.binary(Mul, extent, axis.scale)?;
                let out = dim_as_float(cx, &axis.out)?;
                let adjustment = cx.binary(Div, out, exact_out)?;
                let center = cx.binary_scalar(Div, extent, 2.0)?;
                let adjusted = cx.binary(Mul, center, adjustment)?;
                let offset = cx.binary(Sub, center, adjusted)?;
                let places = centered(cx, 0.5)?;
                cx.binary(Add, offset, places)
            }
            Coordinates::PytorchHalfPixel => {
                let places = centered(cx, 0.5)?;
                let keep = dim_as_float(cx, &(one.clone() - is_one(&axis.out)))?;
                cx.binary(Mul, places, keep)
            }
            Coordinates::AlignCorners => {
                let last = last(cx)?;
                let steps = cx.binary_scalar(Sub, axis.width, 1.0)?;
                let (zero, alone) = (cx.scalar(DType::F32, 0.0)?, cx.scalar(DType::F32, 1.0)?);
                let has_steps = cx.compare(Cmp::Gt, steps, zero)?;
                let steps = cx.select(has_steps, steps, alone)?;
                let scaled = cx.binary(Mul, x, last)?;
                cx.binary(Div, scaled, steps)
            }
            Coordinates::TfCropAndResize => {
                let (start, end) =
                    axis.roi.ok_or_else(|| ImportError::invalid("tf_crop_and_resize needs roi"))?;
                let (last, steps) = (last(cx)?, steps(cx)?);
                let length = cx.binary(Sub, end, start)?;
                let length = cx.binary(Mul, length, last)?;
                // A single element is at the middle: half a step from the start.
                let half = dim_as_float(cx, &is_one(&axis.out))?;
                let half = cx.binary_scalar(Mul, half, 0.5)?;
                let x = cx.binary(Add, x, half)?;
                let along = cx.binary(Mul, x, length)?;
                let along = cx.binary(Div, along, steps)?;
                let from = cx.binary(Mul, start, last)?;
                cx.binary(Add, from, along)
            }
        }
    }
}

/// Which of two neighbors is nearest.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Nearest {
    RoundPreferFloor,
    RoundPreferCeil,
    Floor,
    Ceil,
}

impl Nearest {
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "round_prefer_floor" => Nearest::RoundPreferFloor,
            "round_prefer_ceil" => Nearest::RoundPreferCeil,
            "floor" => Nearest::Floor,
            "ceil" => Nearest::Ceil,
            _ => return None,
        })
    }

    /// The index of the element at each place, inside the axis.
    pub fn indices(self, cx: &mut NodeCx, places: ValueId, extent: &Dim) -> Result<ValueId> {
        let (shift, round) = match self {
            Nearest::RoundPreferFloor => (-0.5, UnaryKind::Ceil),
            Nearest::RoundPreferCeil => (0.5, UnaryKind::Floor),
            Nearest::Floor => (0.0, UnaryKind::Floor),
            Nearest::Ceil => (0.0, UnaryKind::Ceil),
        };
        let shifted = if shift == 0.0 { places } else { cx.binary_scalar(BinaryKind::Add, places, shift)? };
        let rounded = cx.unary(round, shifted)?;
        let indices = cx.cast(rounded, DType::I64)?;
        clamp(cx, indices, extent)
    }
}

#[derive(Clone, Copy)]
pub(super) enum Sampling {
    Nearest(Nearest),
    Linear,
    Cubic { a: f64 },
}

/// How all axes are sampled.
pub(super) struct Taps {
    pub sampling: Sampling,
    pub coordinates: Coordinates,
    pub antialias: bool,
    pub exclude_outside: bool,
}

impl Taps {
    /// Whether an axis that keeps its size and has scale 1 stays as it is.
    pub fn keeps_unscaled(&self) -> bool {
        self.coordinates != Coordinates::TfCropAndResize
    }

    /// Indices (i64) and weights (f32) of the elements around each place, both [places, taps].
    pub fn weighted(&self, cx: &mut NodeCx, places: ValueId, axis: &Axis) -> Result<(ValueId, ValueId)> {
        use BinaryKind::{Add, Div, Mul, Sub};
        let support = if matches!(self.sampling, Sampling::Cubic { .. }) { 2.0 } else { 1.0 };
        // An axis that shrinks is read through a wider filter.
        let known =
            if self.antialias { known_float(cx, axis.scale).map(|scale| scale.min(1.0)) } else { Some(1.0) };
        let (narrow, first, n_taps) = match known {
            Some(narrow) if 2.0 * support / narrow > MAX_TAPS => {
                return Err(ImportError::unsupported(format!(
                    "a scale of {narrow} with antialias is too small"
                )));
            }
            Some(narrow) => {
                let first = (-support / narrow).floor() + 1.0;
                let n_taps = Dim::from((2.0 - 2.0 * first) as i64);
                (cx.scalar(DType::F32, narrow)?, cx.scalar(DType::F32, first)?, n_taps)
            }
            None => {
                let narrow = cx.binary_scalar(BinaryKind::Min, axis.scale, 1.0)?;
                let reach = cx.scalar(DType::F32, -support)?;
                let first = cx.binary(Div, reach, narrow)?;
                let first = cx.unary(UnaryKind::Floor, first)?;
                let first = cx.binary_scalar(Add, first, 1.0)?;
                let whole = cx.cast(first, DType::I64)?;
                let n_taps = Dim::from(2) - cx.scalar_dim(whole, "the first tap")? * Dim::from(2);
                (narrow, first, n_taps)
            }
        };
        let one = Dim::from(1);
        let places = cx.reshape(places, vec![axis.out.clone(), one.clone()])?;
        let offsets = cx.iota(n_taps, DType::F32)?;
        let offsets = cx.binary(Add, offsets, first)?;
        let base = cx.unary(UnaryKind::Floor, places)?;
        let at = cx.binary(Add, base, offsets)?;
        let distance = cx.binary(Sub, at, places)?;
        let distance = cx.unary(UnaryKind::Abs, distance)?;
        let distance = cx.binary(Mul, distance, narrow)?;
        let mut weights = self.sampling.filter(cx, distance)?;
        let indices = cx.cast(at, DType::I64)?;
        if self.exclude_outside {
            let inside = clamp(cx, indices, &axis.extent)?;
            let is_inside = cx.compare(Cmp::Eq, inside, indices)?;
            let zero = cx.scalar(DType::F32, 0.0)?;
            weights = cx.select(is_inside, weights, zero)?;
        }
        if self.exclude_outside || self.antialias {
            let total = Reduce { kind: ReduceKind::Sum, axes: vec![1], keepdims: true };
            let total = cx.add(total, &[weights])?;
            weights = cx.binary(Div, weights, total)?;
        }
        Ok((clamp(cx, indices, &axis.extent)?, weights))
    }
}

impl Sampling {
    /// The weight of an element at a distance.
    pub fn filter(self, cx: &mut NodeCx, distance: ValueId) -> Result<ValueId> {
        let Sampling::Cubic { a } = self else {
            let one = cx.scalar(DType::F32, 1.0)?;
            let weight = cx.binary(BinaryKind::Sub, one, distance)?;
            return cx.binary_scalar(BinaryKind::Max, weight, 0.0);
        };
        let near = polynomial(cx, distance, &[a + 2.0, -(a + 3.0), 0.0, 1.0])?;
        let far = polynomial(cx, distance, &[a, -5.0 * a, 8.0 * a, -4.0 * a])?;
        let (one, two, zero) =
            (cx.scalar(DType::F32, 1.0)?, cx.scalar(DType::F32, 2.0)?, cx.scalar(DType::F32, 0.0)?);
        let is_near = cx.compare(Cmp::Le, distance, one)?;
        let is_far = cx.compare(Cmp::Lt, distance, two)?;
        let beyond_one = cx.select(is_far, far, zero)?;
        cx.select(is_near, near, beyond_one)
    }
}

/// Horner's scheme, the highest coefficient first.
fn polynomial(cx: &mut NodeCx, x: ValueId, coefficients: &[f64]) -> Result<ValueId> {
    let mut sum = cx.scalar(DType::F32, coefficients[0])?;
    for &coefficient in &coefficients[1..] {
        sum = cx.binary(BinaryKind::Mul, sum, x)?;
        sum = cx.binary_scalar(BinaryKind::Add, sum, coefficient)?;
    }
    Ok(sum)
}

/// Indices moved inside an axis.
pub(super) fn clamp(cx: &mut NodeCx, indices: ValueId, extent: &Dim) -> Result<ValueId> {
    let last = cx.sizes(vec![extent.clone() - Dim::from(1)])?;
    let indices = cx.binary(BinaryKind::Min, indices, last)?;
    cx.binary_scalar(BinaryKind::Max, indices, 0.0)
}
