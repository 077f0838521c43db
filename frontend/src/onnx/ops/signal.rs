//! Signal processing: Fourier transforms as matrix products, windows, mel filters.

use std::f64::consts::PI;

use tcc_ir::ops::{BinaryKind, Contract, Pad, PadMode, UnaryKind};
use tcc_ir::{Cmp, DType, Dim, ValueId};

use super::resize::wide;
use super::{Entry, onnx};
use crate::onnx::node::{ImportError, NodeCx, Result};

pub(super) const TABLE: &[Entry] = &[
    onnx("BlackmanWindow", 17, |cx| window(cx, &[0.42, -0.5, 0.08])),
    onnx("DFT", 17, |cx| {
        let axis = cx.int("axis", 1)?;
        dft(cx, Dim::from(axis))
    }),
    onnx("DFT", 20, |cx| {
        let axis = match cx.optional_input(2) {
            Some(axis) => cx.scalar_dim(axis, "axis")?,
            None => Dim::from(-2),
        };
        dft(cx, axis)
    }),
    onnx("HammingWindow", 17, |cx| window(cx, &[25.0 / 46.0, -21.0 / 46.0])),
    onnx("HannWindow", 17, |cx| window(cx, &[0.5, -0.5])),
    onnx("MelWeightMatrix", 17, mel_weight_matrix),
    onnx("STFT", 17, stft),
];

/// A sum of cosines of 0, 1, 2... periods over the window.
fn window(cx: &mut NodeCx, coefficients: &[f64]) -> Result<Vec<ValueId>> {
    let size = cx.scalar_dim(cx.input(0)?, "size")?;
    let dtype = cx.opt_dtype("output_datatype")?.unwrap_or(DType::F32);
    let one = Dim::from(1);
    let period = if cx.flag("periodic", true)? { size.clone() } else { size.clone() - one.clone() };
    let index = cx.iota(size, DType::F64)?;
    let turn = cx.binary_scalar(BinaryKind::Mul, index, 2.0 * PI)?;
    let period = wide(cx, &period.maximum(&one))?;
    let angle = cx.binary(BinaryKind::Div, turn, period)?;
    let mut sum = cx.scalar(DType::F64, coefficients[0])?;
    for (harmonic, &coefficient) in coefficients.iter().enumerate().skip(1) {
        let term = cx.binary_scalar(BinaryKind::Mul, angle, harmonic as f64)?;
        let term = cx.unary(UnaryKind::Cos, term)?;
        let term = cx.binary_scalar(BinaryKind::Mul, term, coefficient)?;
        sum = cx.binary(BinaryKind::Add, sum, term)?;
    }
    Ok(vec![cx.cast(sum, dtype)?])
}

/// What a transform along one axis does.
struct Transform {
    axis: usize,
    length: Dim,
    inverse: bool,
    onesided: bool,
}

fn dft(cx: &mut NodeCx, axis: Dim) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let dims = cx.shape(x)?;
    let Some(last) = dims.len().checked_sub(1).filter(|&last| last > 0) else {
        return Err(ImportError::invalid("the input has no axis to transform"));
    };
    let axis = match axis.as_const() {
        Some(axis) => Dim::from(cx.axis(axis, dims.len())?),
        None => Dim::select(Cmp::Lt, &axis, &Dim::from(0), &(axis.clone() + Dim::from(dims.len())), &axis),
    };
    if axis.is_const(last as i64) {
        return Err(ImportError::invalid("axis is the one of the complex parts"));
    }
    // The axis may be known at run time only, so the axes before it and those behind are joined.
    let chosen = |of: &dyn Fn(usize) -> Dim| {
        (1..last).fold(of(0), |found, at| Dim::select(Cmp::Eq, &axis, &Dim::from(at), &of(at), &found))
    };
    let extent = chosen(&|at| dims[at].clone());
    let before = chosen(&|at| Dim::product(dims[..at].iter().cloned()));
    let behind = chosen(&|at| Dim::product(dims[at + 1..last].iter().cloned()));
    let (inverse, onesided) = (cx.flag("inverse", false)?, cx.flag("onesided", false)?);
    let length = match cx.optional_input(1) {
        Some(length) => cx.scalar_dim(length, "dft_length")?,
        None if inverse && onesided => (extent.clone() - Dim::from(1)) * Dim::from(2),
        None => extent.clone(),
    };
    let joined = cx.reshape(x, vec![before, extent, behind, dims[last].clone()])?;
    let y = transform(cx, joined, &Transform { axis: 1, length, inverse, onesided })?;
    let changed = cx.shape(y)?;
    let mut out: Vec<Dim> =
        (0..last).map(|at| Dim::select(Cmp::Eq, &axis, &Dim::from(at), &changed[1], &dims[at])).collect();
    out.push(changed[3].clone());
    let y = cx.reshape(y, out)?;
    cx.require(y, Cmp::Ge, &axis, &Dim::from(0), "axis is out of range")?;
    cx.require(y, Cmp::Lt, &axis, &Dim::from(last), "axis is out of range")?;
    Ok(vec![y])
}

/// Windows of the signal, transformed one by one.
fn stft(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let mut dims = cx.shape(x)?;
    if dims.len() == 2 {
        dims.push(Dim::from(1));
    }
    let [batch, extent, parts] = &dims[..] else {
        return Err(ImportError::invalid(format!("the signal has rank {}, not 3", dims.len())));
    };
    let x = cx.reshape(x, vec![batch.clone(), extent.clone(), parts.clone()])?;
    let step = cx.scalar_dim(cx.input(1)?, "frame_step")?;
    let weights = cx.optional_input(2);
    let length = match (cx.optional_input(3), weights) {
        (Some(length), _) => cx.scalar_dim(length, "frame_length")?,
        (None, Some(weights)) => cx.extent(weights, 0)?,
        (None, None) => return Err(ImportError::invalid("neither window nor frame_length is given")),
    };
    let n_frames = (extent.clone() - length.clone()).floor_div(&step) + Dim::from(1);
    let one = Dim::from(1);
    let starts = cx.iota(n_frames.clone(), DType::I64)?;
    let starts = cx.reshape(starts, vec![n_frames, one.clone()])?;
    let step = cx.sizes(vec![step])?;
    let starts = cx.binary(BinaryKind::Mul, starts, step)?;
    let inside = cx.iota(length.clone(), DType::I64)?;
    let positions = cx.binary(BinaryKind::Add, starts, inside)?;
    let mut frames = cx.gather(x, positions, 1)?;
    if let Some(weights) = weights {
        let weights = cx.reshape(weights, vec![length.clone(), one])?;
        frames = cx.binary(BinaryKind::Mul, frames, weights)?;
    }
    let onesided = cx.flag("onesided", true)?;
    Ok(vec![transform(cx, frames, &Transform { axis: 2, length, inverse: false, onesided })?])
}

/// The last axis of `x` holds the real part, or that and the imaginary one. Computed in f64: what cancels should
/// cancel.
fn transform(cx: &mut NodeCx, x: ValueId, how: &Transform) -> Result<ValueId> {
    let dims = cx.shape(x)?;
    let last = dims.len() - 1;
    let n_parts = match dims[last].as_const() {
        Some(parts @ (1 | 2)) => parts as usize,
        _ => return Err(ImportError::invalid(format!("the last axis has size {}, not 1 or 2", dims[last]))),
    };
    let one = Dim::from(1);
    let half = how.length.floor_div(&Dim::from(2)) + one;
    let (n_in, n_out) = match (how.inverse, how.onesided) {
        (true, true) => (half, how.length.clone()),
        (false, true) => (how.length.clone(), half),
        (_, false) => (how.length.clone(), how.length.clone()),
    };
    let dtype = cx.dtype(x)?;
    let zero = cx.zero(dtype);
    let before = vec![Dim::from(0); dims.len()];
    let mut after = before.clone();
    after[how.axis] = n_in.clone() - dims[how.axis].clone();
    let x = cx.add(Pad { before, after, mode: PadMode::Constant }, &[x, zero])?;
    let matrix = matrix(cx, how, &n_in, &n_out, n_parts)?;
    let product = Contract {
        lhs_batch: vec![],
        rhs_batch: vec![],
        lhs: vec![how.axis, last],
        rhs: vec![0, 1],
        out: dtype,
    };
    let x = cx.cast(x, DType::F64)?;
    let y = cx.add(product, &[x, matrix])?;
    // [others.., out, parts], where the new axis belongs at the old one's place.
    let mut perm: Vec<usize> = (0..last - 1).collect();
    perm.insert(how.axis, last - 1);
    perm.push(last);
    cx.transpose(y, perm)
}

/// The factors from each part of each element to each part of the result: [in, parts in, out, parts out].
fn matrix(cx: &mut NodeCx, how: &Transform, n_in: &Dim, n_out: &Dim, n_parts: usize) -> Result<ValueId> {
    let one = Dim::from(1);
    let row = cx.iota(n_in.clone(), DType::I64)?;
    let row = cx.reshape(row, vec![n_in.clone(), one.clone()])?;
    let column = cx.iota(n_out.clone(), DType::I64)?;
    // Reduced to one turn in integers, so that long transforms stay exact.
    let turns = cx.binary(BinaryKind::Mul, row, column)?;
    let length = cx.sizes(vec![how.length.clone()])?;
    let turns = cx.binary(BinaryKind::Mod, turns, length)?;
    let turns = cx.cast(turns, DType::F64)?;
    let length = wide(cx, &how.length)?;
    let angle = cx.binary_scalar(BinaryKind::Mul, turns, 2.0 * PI)?;
    let angle = cx.binary(BinaryKind::Div, angle, length)?;
    let mut cos = cx.unary(UnaryKind::Cos, angle)?;
    let mut sin = cx.unary(UnaryKind::Sin, angle)?;
    if !how.inverse {
        sin = cx.unary(UnaryKind::Neg, sin)?;
    } else {
        cos = cx.binary(BinaryKind::Div, cos, length)?;
        sin = cx.binary(BinaryKind::Div, sin, length)?;
    }
    if how.inverse && how.onesided {
        // The half that is left out mirrors the one that is there, except its ends.
        let zero = cx.scalar(DType::I64, 0.0)?;
        let length = cx.sizes(vec![how.length.clone()])?;
        let doubled = cx.binary_scalar(BinaryKind::Mul, row, 2.0)?;
        let is_first = cx.compare(Cmp::Eq, row, zero)?;
        let is_middle = cx.compare(Cmp::Eq, doubled, length)?;
        let is_end = cx.binary(BinaryKind::Or, is_first, is_middle)?;
        let (single, double) = (cx.scalar(DType::F64, 1.0)?, cx.scalar(DType::F64, 2.0)?);
        let weight = cx.select(is_end, single, double)?;
        cos = cx.binary(BinaryKind::Mul, cos, weight)?;
        sin = cx.binary(BinaryKind::Mul, sin, weight)?;
    }
    let minus_sin = cx.unary(UnaryKind::Neg, sin)?;
    let entries = [[cos, sin], [minus_sin, cos]];
    let n_results = if how.inverse && how.onesided { 1 } else { 2 };
    let mut rows = Vec::new();
    for row in &entries[..n_parts] {
        let mut columns = Vec::new();
        for &entry in &row[..n_results] {
            let dims = vec![n_in.clone(), one.clone(), n_out.clone(), one.clone()];
            columns.push(cx.reshape(entry, dims)?);
        }
        rows.push(cx.concat(&columns, 3)?);
    }
    cx.concat(&rows, 1)
}

/// Triangles over the frequencies, evenly spaced on the mel scale.
fn mel_weight_matrix(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    use BinaryKind::{Add, Div, Max, Mul, Sub};
    let n_bins = cx.scalar_dim(cx.input(0)?, "num_mel_bins")?;
    let length = cx.scalar_dim(cx.input(1)?, "dft_length")?;
    let dtype = cx.opt_dtype("output_datatype")?.unwrap_or(DType::F32);
    let mut scalar = |index: usize, what: &str| -> Result<ValueId> {
        let value = cx.to_scalar(cx.input(index)?, what)?;
        cx.cast(value, DType::F64)
    };
    let (rate, low, high) = (scalar(2, "sample_rate")?, scalar(3, "an edge")?, scalar(4, "an edge")?);
    let per_mel = 2595.0 / 10f64.ln();
    let mut to_mel = |hertz: ValueId| -> Result<ValueId> {
        let part = cx.binary_scalar(Div, hertz, 700.0)?;
        let log = cx.unary(UnaryKind::Log1p, part)?;
        cx.binary_scalar(Mul, log, per_mel)
    };
    let (low, high) = (to_mel(low)?, to_mel(high)?);
    let n_edges = n_bins.clone() + Dim::from(2);
    let range = cx.binary(Sub, high, low)?;
    let count = wide(cx, &n_edges)?;
    let step = cx.binary(Div, range, count)?;
    let edges = cx.iota(n_edges, DType::F64)?;
    let edges = cx.binary(Mul, edges, step)?;
    let edges = cx.binary(Add, edges, low)?;
    let edges = cx.binary_scalar(Div, edges, per_mel)?;
    let edges = cx.unary(UnaryKind::Expm1, edges)?;
    let edges = cx.binary_scalar(Mul, edges, 700.0)?;
    let places = wide(cx, &(length.clone() + Dim::from(1)))?;
    let edges = cx.binary(Mul, edges, places)?;
    let edges = cx.binary(Div, edges, rate)?;
    let edges = cx.unary(UnaryKind::Floor, edges)?;
    let mut edge = |shift: i64| cx.slice_axis(edges, 0, Dim::from(shift), n_bins.clone());
    let (left, center, right) = (edge(0)?, edge(1)?, edge(2)?);
    let n_frequencies = length.floor_div(&Dim::from(2)) + Dim::from(1);
    let at = cx.iota(n_frequencies.clone(), DType::F64)?;
    let at = cx.reshape(at, vec![n_frequencies, Dim::from(1)])?;
    // A side without width has the center alone.
    let mut side = |from: ValueId, to: ValueId, x: ValueId, y: ValueId| -> Result<ValueId> {
        let width = cx.binary(Sub, to, from)?;
        let width = cx.binary_scalar(Max, width, 1.0)?;
        let distance = cx.binary(Sub, x, y)?;
        cx.binary(Div, distance, width)
    };
    let rising = side(left, center, at, left)?;
    let falling = side(center, right, right, at)?;
    let (zero, one) = (cx.scalar(DType::F64, 0.0)?, cx.scalar(DType::F64, 1.0)?);
    let is_center = cx.compare(Cmp::Eq, at, center)?;
    let is_left = cx.compare(Cmp::Lt, at, center)?;
    let slope = cx.select(is_left, rising, falling)?;
    let slope = cx.binary(Max, slope, zero)?;
    let weights = cx.select(is_center, one, slope)?;
    Ok(vec![cx.cast(weights, dtype)?])
}
