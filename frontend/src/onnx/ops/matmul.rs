//! Products of matrices.

use tcc_ir::ops::{BinaryKind, Contract};
use tcc_ir::{DType, Dim, ValueId};

use super::contraction;
use super::precision::compute_type;
use super::{Entry, onnx};
use crate::onnx::node::{ImportError, NodeCx, Result};

pub(super) const TABLE: &[Entry] = &[
    onnx("Gemm", 1, gemm),
    onnx("MatMul", 1, |cx| {
        let (a, b) = (cx.input(0)?, cx.input(1)?);
        let out = cx.dtype(a)?;
        Ok(vec![contraction::matmul(cx, a, b, out)?])
    }),
    onnx("MatMulInteger", 10, |cx| {
        let (a, a_zero) = (cx.input(0)?, cx.optional_input(2));
        let (b, b_zero) = (cx.input(1)?, cx.optional_input(3));
        let (a, b) = (without_zero_point(cx, a, a_zero, 1)?, without_zero_point(cx, b, b_zero, 0)?);
        Ok(vec![contraction::matmul(cx, a, b, DType::I32)?])
    }),
];

/// An 8-bit operand of a matrix product minus its zero point, which is one number or one for each row
/// (`n_after` = 1) or column (0).
pub(super) fn without_zero_point(
    cx: &mut NodeCx,
    x: ValueId,
    zero_point: Option<ValueId>,
    n_after: usize,
) -> Result<ValueId> {
    let Some(zero_point) = zero_point else { return Ok(x) };
    if cx.dtype(zero_point)? != cx.dtype(x)? {
        return Err(ImportError::invalid("a zero point isn't of its operand's type"));
    }
    let is_zero = |tensor: &tcc_ir::Tensor| tensor.dtype().is_int() && tensor.ints().iter().all(|&v| v == 0);
    if cx.constant_of(zero_point).is_some_and(is_zero) {
        return Ok(x);
    }
    let zero_point = match cx.shape(zero_point)?[..] {
        [ref dim] if dim.is_const(1) => cx.reshape(zero_point, vec![])?,
        [ref dim] if n_after == 1 => {
            let dims = vec![dim.clone(), Dim::from(1)];
            cx.reshape(zero_point, dims)?
        }
        _ => zero_point,
    };
    let (x, zero_point) = (cx.cast(x, DType::I16)?, cx.cast(zero_point, DType::I16)?);
    cx.minus(x, zero_point)
}

/// `alpha * A' * B' + beta * C`.
fn gemm(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let (a, b, c) = (cx.input(0)?, cx.input(1)?, cx.optional_input(2));
    if cx.opset() < 7 {
        cx.ignore_attribute("broadcast");
    }
    let (alpha, beta) = (cx.float("alpha", 1.0)?, cx.float("beta", 1.0)?);
    let (is_a_turned, is_b_turned) = (cx.flag("transA", false)?, cx.flag("transB", false)?);
    let (rank_a, rank_b) = (cx.rank(a)?, cx.rank(b)?);
    if rank_a != 2 || rank_b != 2 {
        return Err(ImportError::invalid(format!("the operands have ranks {rank_a} and {rank_b}, not 2")));
    }
    let dtype = cx.dtype(a)?;
    let c = c.filter(|_| beta != 0.0);
    let is_plain = alpha == 1.0 && beta == 1.0;
    if dtype.is_int() && (alpha.fract() != 0.0 || beta.fract() != 0.0) {
        return Err(ImportError::unsupported("a fractional alpha or beta with integer matrices"));
    }
    let wide = match dtype {
        dtype if dtype.is_int() || (is_plain && c.is_none()) => dtype,
        dtype => compute_type(dtype),
    };
    let (lhs, rhs) = (vec![usize::from(!is_a_turned)], vec![usize::from(is_b_turned)]);
    let product = Contract { lhs_batch: vec![], rhs_batch: vec![], lhs, rhs, out: wide };
    let product = cx.add(product, &[a, b])?;
    let mut y = cx.times_scalar(product, alpha)?;
    if let Some(c) = c {
        let dims = cx.shape(y)?;
        let own = cx.shape(c)?;
        let fits = own.len() <= 2
            && own.iter().rev().zip(dims.iter().rev()).all(|(own, dim)| own.is_const(1) || own == dim);
        let c = if fits { c } else { cx.broadcast(c, dims)? };
        let c = cx.cast(c, wide)?;
        let c = cx.times_scalar(c, beta)?;
        y = cx.binary(BinaryKind::Add, y, c)?;
    }
    Ok(vec![cx.cast(y, dtype)?])
}
