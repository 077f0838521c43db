//! Pow: the base's type is the result's, whatever the exponent's.

use tcc_ir::DType;
use tcc_ir::ValueId;
use tcc_ir::ops::BinaryKind;

use super::{Entry, onnx};
use crate::onnx::node::{NodeCx, Result};

pub(super) const TABLE: &[Entry] = &[onnx("Pow", 7, pow)];

fn pow(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let (base, exponent) = (cx.input(0)?, cx.input(1)?);
    let (of_base, of_exponent) = (cx.dtype(base)?, cx.dtype(exponent)?);
    let common = common_type(of_base, of_exponent);
    let (base, exponent) = (cx.cast(base, common)?, cx.cast(exponent, common)?);
    let power = cx.binary(BinaryKind::Pow, base, exponent)?;
    Ok(vec![cx.cast(power, of_base)?])
}

/// A type that holds both operands: i64 wraps as every narrower integer does; an f32 exponent of an integer is
/// computed with in f64, which holds the integers exactly.
fn common_type(base: DType, exponent: DType) -> DType {
    match (base, exponent) {
        (base, exponent) if base == exponent => base,
        (base, exponent) if !base.is_float() && !exponent.is_float() => DType::I64,
        (DType::F64, _) | (_, DType::F64) => DType::F64,
        (base, _) if !base.is_float() => DType::F64,
        _ => DType::F32,
    }
}
