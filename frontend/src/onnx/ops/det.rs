//! Determinants of small matrices.

use tcc_ir::ops::BinaryKind;
use tcc_ir::{DType, Dim, ValueId};

use super::{Entry, onnx};
use crate::onnx::node::{ImportError, NodeCx, Result};

pub(super) const TABLE: &[Entry] = &[onnx("Det", 11, det)];

/// Beyond it the expansion is too long and too inexact.
const MAX_SIZE: usize = 4;

fn det(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let dims = cx.shape(x)?;
    let [batch @ .., rows, columns] = &dims[..] else {
        return Err(ImportError::invalid("the input must have at least two dimensions"));
    };
    if let (Some(rows), Some(columns)) = (rows.as_const(), columns.as_const())
        && rows != columns
    {
        return Err(ImportError::invalid(format!("matrices of {rows} x {columns} aren't square")));
    }
    let known = rows.as_const().and_then(|size| usize::try_from(size).ok());
    let Some(size) = known.filter(|size| columns.as_const().is_some() && *size <= MAX_SIZE) else {
        return Err(ImportError::unsupported(format!(
            "only matrices of a known size up to {MAX_SIZE} x {MAX_SIZE} are supported"
        )));
    };
    let dtype = cx.dtype(x)?;
    let wide = if dtype == DType::F64 { dtype } else { DType::F32 };
    let x = cx.cast(x, wide)?;
    let rank = dims.len();
    let mut elements = Vec::new();
    for row in 0..size {
        let line = cx.slice_axis(x, rank - 2, Dim::from(row), Dim::from(1))?;
        for column in 0..size {
            let element = cx.slice_axis(line, rank - 1, Dim::from(column), Dim::from(1))?;
            elements.push(cx.reshape(element, batch.to_vec())?);
        }
    }
    let all: Vec<usize> = (0..size).collect();
    let result = match expand(cx, &elements, size, 0, &all)? {
        Some(result) => result,
        None => {
            let one = cx.scalar(wide, 1.0);
            cx.broadcast(one, batch.to_vec())?
        }
    };
    Ok(vec![cx.cast(result, dtype)?])
}

/// Expands along `row`, with the columns that are left; `None` stands for the empty product.
fn expand(
    cx: &mut NodeCx,
    elements: &[ValueId],
    size: usize,
    row: usize,
    columns: &[usize],
) -> Result<Option<ValueId>> {
    let mut sum = None;
    for (index, &column) in columns.iter().enumerate() {
        let rest: Vec<usize> = columns.iter().copied().filter(|&other| other != column).collect();
        let element = elements[row * size + column];
        let term = match expand(cx, elements, size, row + 1, &rest)? {
            Some(minor) => cx.binary(BinaryKind::Mul, element, minor)?,
            None => element,
        };
        let kind = if index % 2 == 0 { BinaryKind::Add } else { BinaryKind::Sub };
        sum = Some(match sum {
            Some(sum) => cx.binary(kind, sum, term)?,
            None => term,
        });
    }
    Ok(sum)
}
