//! Determinants, by elimination with row exchanges.

use tcc_ir::ops::{ArgKind, ArgReduce, BinaryKind, GatherElements, UnaryKind};
use tcc_ir::{Cmp, DType, Dim, ValueId};

use super::{Entry, onnx};
use crate::onnx::node::{ImportError, NodeCx, Result};

pub(super) const TABLE: &[Entry] = &[onnx("Det", 11, det)];

/// Every row is a few operators of its own.
const MAX_ROWS: i64 = 64;

fn det(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let dims = cx.shape(x)?;
    let Some((batch, [rows, columns])) = dims.split_last_chunk::<2>() else {
        return Err(ImportError::invalid("the input must have at least two dimensions"));
    };
    let n_rows = match (rows.as_const(), columns.as_const()) {
        (Some(rows), Some(columns)) if rows == columns && rows <= MAX_ROWS => rows,
        (Some(rows), Some(columns)) if rows != columns => {
            return Err(ImportError::invalid("the matrices aren't square"));
        }
        _ => return Err(ImportError::unsupported(format!("only matrices of at most {MAX_ROWS} rows"))),
    };
    let count = Dim::product(batch.iter().cloned());
    let wide = cx.cast(x, DType::F64)?;
    let mut matrix = cx.reshape(wide, vec![count.clone(), rows.clone(), columns.clone()])?;
    let (zero, one) = (cx.scalar(DType::F64, 0.0)?, cx.scalar(DType::F64, 1.0)?);
    let first = cx.scalar(DType::I64, 0.0)?;
    let mut product = cx.broadcast(one, vec![count.clone(), Dim::from(1), Dim::from(1)])?;
    for n_left in (1..=n_rows).rev() {
        let (unit, left, others) = (Dim::from(1), Dim::from(n_left), Dim::from(n_left - 1));
        // The row with the largest element in the first column.
        let column = cx.slice_axis(matrix, 2, Dim::from(0), unit.clone())?;
        let magnitude = cx.unary(UnaryKind::Abs, column)?;
        let pivot_at = ArgReduce { kind: ArgKind::Max, axis: 1, last: false, keepdims: true };
        let pivot_at = cx.add(pivot_at, &[magnitude])?;
        let whole_row = cx.broadcast(pivot_at, vec![count.clone(), unit.clone(), left.clone()])?;
        let pivot_row = cx.add(GatherElements { axis: 1 }, &[matrix, whole_row])?;
        let pivot = cx.slice_axis(pivot_row, 2, Dim::from(0), unit.clone())?;
        product = cx.binary(BinaryKind::Mul, product, pivot)?;
        let stays = cx.compare(Cmp::Eq, pivot_at, first)?;
        let exchanged = cx.unary(UnaryKind::Neg, product)?;
        product = cx.select(stays, product, exchanged)?;
        if n_left == 1 {
            break;
        }
        // The first row takes the pivot row's place; then neither first row nor first column is needed.
        let row = cx.iota(left.clone(), DType::I64)?;
        let row = cx.reshape(row, vec![left.clone(), unit.clone()])?;
        let is_pivot = cx.compare(Cmp::Eq, row, pivot_at)?;
        let first_row = cx.slice_axis(matrix, 1, Dim::from(0), unit.clone())?;
        let swapped = cx.select(is_pivot, first_row, matrix)?;
        let rest = cx.slice_axis(swapped, 1, unit.clone(), others.clone())?;
        let factor = cx.slice_axis(rest, 2, Dim::from(0), unit.clone())?;
        let is_singular = cx.compare(Cmp::Eq, pivot, zero)?;
        let divisor = cx.select(is_singular, one, pivot)?;
        let factor = cx.binary(BinaryKind::Div, factor, divisor)?;
        let rest = cx.slice_axis(rest, 2, unit.clone(), others.clone())?;
        let pivot_row = cx.slice_axis(pivot_row, 2, unit, others)?;
        let eliminated = cx.binary(BinaryKind::Mul, factor, pivot_row)?;
        matrix = cx.binary(BinaryKind::Sub, rest, eliminated)?;
    }
    let y = cx.reshape(product, batch.to_vec())?;
    Ok(vec![cx.cast(y, cx.dtype(x)?)?])
}
