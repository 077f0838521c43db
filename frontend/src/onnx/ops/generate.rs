//! Tensors made from sizes and a few numbers: filled, counted, diagonal, triangular.

use tcc_ir::ops::{BinaryKind, UnaryKind};
use tcc_ir::{Cmp, DType, Dim, Tensor, ValueId};

use super::{Entry, onnx};
use crate::onnx::node::{ImportError, NodeCx, Result};

pub(super) const TABLE: &[Entry] = &[
    onnx("ConstantOfShape", 9, constant_of_shape),
    onnx("EyeLike", 9, eye_like),
    onnx("Range", 11, range),
    onnx("Trilu", 14, trilu),
];

fn constant_of_shape(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let dims = cx.elems(cx.input(0)?)?;
    let value = match cx.opt_tensor("value")? {
        Some(value) if value.n_elements() == 1 => cx.constant(value.reshaped(vec![])),
        Some(value) => {
            return Err(ImportError::invalid(format!("value has {} elements, not one", value.n_elements())));
        }
        None => cx.scalar(DType::F32, 0.0)?,
    };
    Ok(vec![cx.broadcast(value, dims)?])
}

fn range(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let mut scalar = |index| -> Result<ValueId> {
        let value = cx.input(index)?;
        cx.to_scalar(value, "a bound of a range")
    };
    let [start, limit, delta] = [scalar(0)?, scalar(1)?, scalar(2)?];
    let dtype = cx.dtype(start)?;
    let size = match dtype {
        dtype if dtype.is_int() => int_range_size(cx, start, limit, delta)?,
        dtype => float_range_size(cx, dtype, start, limit, delta)?,
    };
    let positions = cx.iota(size, dtype)?;
    let offsets = cx.binary(BinaryKind::Mul, positions, delta)?;
    Ok(vec![cx.binary(BinaryKind::Add, offsets, start)?])
}

fn int_range_size(cx: &mut NodeCx, start: ValueId, limit: ValueId, delta: ValueId) -> Result<Dim> {
    let zero = Dim::from(0);
    let mut dim = |value| cx.scalar_dim(value, "a bound of a range");
    let (start, limit, delta) = (dim(start)?, dim(limit)?, dim(delta)?);
    let up = || (limit.clone() - start.clone()).ceil_div(&delta).maximum(&zero);
    let down = || (start.clone() - limit.clone()).ceil_div(&(zero.clone() - delta.clone())).maximum(&zero);
    match Dim::compare(Cmp::Gt, &delta, &zero) {
        _ if delta.is_const(0) => Err(ImportError::invalid("delta is 0")),
        Some(true) => Ok(up()),
        Some(false) => Ok(down()),
        None => Ok(Dim::select(Cmp::Gt, &delta, &zero, &up(), &down())),
    }
}

fn float_range_size(
    cx: &mut NodeCx,
    dtype: DType,
    start: ValueId,
    limit: ValueId,
    delta: ValueId,
) -> Result<Dim> {
    let known = |value: ValueId| cx.constant_of(value).map(|tensor| tensor.floats()[0]);
    if let (Some(start), Some(limit), Some(delta)) = (known(start), known(limit), known(delta)) {
        let size = dtype.round_float(dtype.round_float(limit - start) / delta).ceil();
        return if size.is_finite() {
            Ok(Dim::from(size.max(0.0) as i64))
        } else {
            Err(ImportError::invalid("the range has no end"))
        };
    }
    let distance = cx.binary(BinaryKind::Sub, limit, start)?;
    let size = cx.binary(BinaryKind::Div, distance, delta)?;
    let size = cx.unary(UnaryKind::Ceil, size)?;
    let size = cx.cast(size, DType::I64)?;
    Ok(cx.scalar_dim(size, "the size of a range")?.maximum(&Dim::from(0)))
}

fn eye_like(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let dtype = match cx.opt_dtype("dtype")? {
        Some(dtype) => dtype,
        None => cx.dtype(x)?,
    };
    let shift = cx.int("k", 0)?;
    let dims = cx.shape(x)?;
    if dims.len() != 2 {
        return Err(ImportError::invalid(format!("the input has rank {}, not 2", dims.len())));
    }
    let shift = cx.constant(Tensor::scalar_int(DType::I64, shift.into()));
    let (diagonal, column) = diagonal_and_column(cx, &dims, shift)?;
    let is_on = cx.compare(Cmp::Eq, diagonal, column)?;
    Ok(vec![cx.cast(is_on, dtype)?])
}

fn trilu(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let dims = cx.shape(x)?;
    let Some(matrix) = dims.len().checked_sub(2).map(|lead| &dims[lead..]) else {
        return Err(ImportError::invalid("the input must have at least two dimensions"));
    };
    let shift = match cx.optional_input(1) {
        Some(shift) => cx.to_scalar(shift, "k")?,
        None => cx.scalar(DType::I64, 0.0)?,
    };
    let (diagonal, column) = diagonal_and_column(cx, matrix, shift)?;
    let cmp = if cx.flag("upper", true)? { Cmp::Le } else { Cmp::Ge };
    let is_kept = cx.compare(cmp, diagonal, column)?;
    let zero = cx.zero(cx.dtype(x)?);
    Ok(vec![cx.select(is_kept, x, zero)?])
}

/// For a matrix: in which column each row's (shifted) diagonal is, and each element's own column.
fn diagonal_and_column(cx: &mut NodeCx, dims: &[Dim], shift: ValueId) -> Result<(ValueId, ValueId)> {
    let row = cx.iota(dims[0].clone(), DType::I64)?;
    let row = cx.reshape(row, vec![dims[0].clone(), Dim::from(1)])?;
    let column = cx.iota(dims[1].clone(), DType::I64)?;
    Ok((cx.binary(BinaryKind::Add, row, shift)?, column))
}
