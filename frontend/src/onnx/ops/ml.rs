//! Operators of classical models (`ai.onnx.ml`).

use tcc_ir::ops::LabelEncoder;
use tcc_ir::{Cmp, DType, Dim, Tensor, ValueId};

use super::Entry;
use crate::onnx::node::{ImportError, NodeCx, Result};

const fn ml(op_type: &'static str, since: i64, import: super::ImportFn) -> Entry {
    Entry { domain: "ai.onnx.ml", op_type, since, import }
}

pub(super) const TABLE: &[Entry] = &[
    ml("ArrayFeatureExtractor", 1, array_feature_extractor),
    ml("Binarizer", 1, |cx| {
        let x = cx.input(0)?;
        let dtype = cx.dtype(x)?;
        let threshold = cx.float("threshold", 0.0)?;
        let threshold = cx.scalar(dtype, threshold)?;
        let is_above = cx.compare(Cmp::Gt, x, threshold)?;
        Ok(vec![cx.cast(is_above, dtype)?])
    }),
    ml("LabelEncoder", 1, label_encoder_of_classes),
    ml("LabelEncoder", 2, label_encoder),
];

/// Columns of the last axis, picked by a list of numbers.
fn array_feature_extractor(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let (x, columns) = (cx.input(0)?, cx.input(1)?);
    let count = cx.tensor_type(columns)?.n_elements();
    let columns = cx.reshape(columns, vec![count.clone()])?;
    let rank = cx.rank(x)?;
    let last = rank.checked_sub(1).ok_or_else(|| ImportError::invalid("the input has no axis"))?;
    let picked = cx.gather(x, columns, last)?;
    Ok(vec![if rank == 1 { cx.reshape(picked, vec![Dim::from(1), count])? } else { picked }])
}

fn strings(values: &[String]) -> Tensor {
    Tensor::from_strings(vec![values.len()], values.to_vec())
}

fn floats(values: &[f32]) -> Tensor {
    Tensor::from_floats(DType::F32, vec![values.len()], values.iter().map(|&value| value.into()))
}

/// One table for both ways: from a class to its number, and back.
fn label_encoder_of_classes(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let classes = cx.opt_strings("classes_strings")?.unwrap_or_default();
    let numbers: Vec<i64> = (0..classes.len() as i64).collect();
    let (classes, numbers) = (strings(classes), Tensor::from_i64s(&numbers));
    let no_number = Tensor::from_i64s(&[cx.int("default_int64", -1)?]);
    let no_class = strings(&[cx.string("default_string", "_Unused")?.to_owned()]);
    let op = match cx.dtype(x)? {
        DType::String => LabelEncoder { keys: classes, values: numbers, default: no_number },
        _ => LabelEncoder { keys: numbers, values: classes, default: no_class },
    };
    Ok(vec![cx.add(op, &[x])?])
}

fn label_encoder(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let x = cx.input(0)?;
    let keys = one_list(cx, "keys")?;
    let values = one_list(cx, "values")?;
    let stated = cx.opt_tensor("default_tensor")?;
    let (float, int, string) = (
        cx.float("default_float", -0.0)?,
        cx.int("default_int64", -1)?,
        cx.string("default_string", "_Unused")?.to_owned(),
    );
    let default = match (stated, values.dtype()) {
        (Some(stated), _) => stated,
        (None, DType::String) => strings(&[string]),
        (None, dtype) if dtype.is_float() => Tensor::from_floats(dtype, vec![1], [float]),
        (None, dtype) => Tensor::from_ints(dtype, vec![1], [int.into()]),
    };
    Ok(vec![cx.add(LabelEncoder { keys, values, default }, &[x])?])
}

/// The one list among the attributes that begin with `prefix`.
fn one_list(cx: &NodeCx, prefix: &str) -> Result<Tensor> {
    let name = |kind: &str| format!("{prefix}_{kind}");
    let found = [
        cx.opt_tensor(&name("tensor"))?,
        cx.opt_strings(&name("strings"))?.map(strings),
        cx.opt_ints(&name("int64s"))?.map(Tensor::from_i64s),
        cx.opt_floats(&name("floats"))?.map(floats),
    ];
    let mut found = found.into_iter().flatten();
    match (found.next(), found.next()) {
        (Some(list), None) => Ok(list),
        _ => Err(ImportError::invalid(format!("one of the attributes {prefix}_... must be given"))),
    }
}
