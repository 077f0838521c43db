//! A package's values as they are written in a picture: types with shapes, and bytes.

use std::collections::BTreeMap;

use tcc_codegen::program::expr_text;
use tcc_runtime::package::{DType, Expr, ExprId, Form, Manifest, Storage, Value, ValueId};

use super::text;

/// Element type and shape; sizes that aren't known are symbols.
pub fn type_text(manifest: &Manifest, id: ValueId) -> String {
    let Value { form, dtype, dims, .. } = &manifest.values[id.index()];
    match form {
        Form::Tensor if dims.is_empty() => dtype.to_string(),
        Form::Tensor => {
            let dims: Vec<String> = dims.iter().map(|&at| expr_text(manifest, at)).collect();
            format!("{dtype}[{}]", dims.join(", "))
        }
        Form::Sequence => format!("sequence of {dtype}"),
        Form::Optional | Form::OptionalSequence => format!("optional {dtype}"),
    }
}

/// The value whose memory this one is, or is a part of.
pub fn root(manifest: &Manifest, mut id: ValueId) -> ValueId {
    while let Storage::Alias { of, .. } = manifest.values[id.index()].storage {
        id = of;
    }
    id
}

/// Whether the value is known before any run.
pub fn is_constant(manifest: &Manifest, id: ValueId) -> bool {
    let storage = manifest.values[root(manifest, id).index()].storage;
    matches!(storage, Storage::Weight { .. } | Storage::Strings(_))
}

/// Bytes of all values together, as far as they have a size: a number for each product of symbols.
pub fn bytes_text(manifest: &Manifest, ids: &[ValueId]) -> String {
    let mut sum: BTreeMap<String, u128> = BTreeMap::new();
    for &id in ids {
        let value = &manifest.values[id.index()];
        if value.form != Form::Tensor || value.dtype == DType::String {
            continue;
        }
        let (known, unknown) = product(manifest, &value.dims);
        let total = sum.entry(unknown).or_default();
        *total = total.saturating_add(known.saturating_mul(value.dtype.size() as u128));
    }
    sum.retain(|_, count| *count > 0);
    let terms = sum.iter().map(|(symbols, &count)| match symbols.as_str() {
        "" => text::bytes(count),
        symbols => format!("{symbols} × {}", text::bytes(count)),
    });
    let terms: Vec<String> = terms.collect();
    if terms.is_empty() { "0 B".to_string() } else { terms.join(" + ") }
}

/// The product of the sizes that are known, and the others as text.
fn product(manifest: &Manifest, dims: &[ExprId]) -> (u128, String) {
    let mut known = 1u128;
    let mut unknown = Vec::new();
    for &dim in dims {
        match manifest.exprs[dim.index()] {
            Expr::Const(size) => known = known.saturating_mul(u128::try_from(size).unwrap_or(0)),
            _ => unknown.push(expr_text(manifest, dim)),
        }
    }
    unknown.sort_unstable();
    (known, unknown.join(" × "))
}
