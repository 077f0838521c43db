//! The import table: which operators of which opsets are read, and how. One file a family.

mod activation;
mod along_axis;
mod attention;
mod axes;
mod cast;
mod contraction;
mod control;
mod conv;
mod det;
mod einsum;
mod elementwise;
mod flex;
mod generate;
mod grid_sample;
mod index;
mod loss;
mod matmul;
mod ml;
mod movement;
mod normalize;
mod pool;
mod power;
mod precision;
mod quantize;
mod random;
mod recurrent;
mod recurrent_attention;
mod reduce;
mod resize;
mod resize_taps;
mod rotary;
mod sampled_windows;
mod select;
mod sequence;
mod sequence_map;
mod shape;
mod signal;
mod slice_pad;
mod softmax;
mod spatial;
mod strings;
mod training;
mod unpool;

use tcc_ir::ValueId;

use super::node::{NodeCx, Result};
use super::opset::ONNX_DOMAIN;

/// Adds what a node means to the graph and gives its outputs, in order; those at the end that nobody can ask for
/// may be left out.
pub type ImportFn = fn(&mut NodeCx) -> Result<Vec<ValueId>>;

/// An operator from one opset on, until the next entry of the same operator.
pub struct Entry {
    /// Canonical: `ai.onnx` for the default one.
    pub domain: &'static str,
    pub op_type: &'static str,
    pub since: i64,
    pub import: ImportFn,
}

/// An operator of the default domain.
const fn onnx(op_type: &'static str, since: i64, import: ImportFn) -> Entry {
    Entry { domain: ONNX_DOMAIN, op_type, since, import }
}

const FAMILIES: &[&[Entry]] = &[
    activation::TABLE,
    along_axis::TABLE,
    attention::TABLE,
    cast::TABLE,
    control::TABLE,
    conv::TABLE,
    det::TABLE,
    einsum::TABLE,
    elementwise::TABLE,
    flex::TABLE,
    generate::TABLE,
    grid_sample::TABLE,
    index::TABLE,
    loss::TABLE,
    matmul::TABLE,
    ml::TABLE,
    movement::TABLE,
    normalize::TABLE,
    pool::TABLE,
    power::TABLE,
    quantize::TABLE,
    random::TABLE,
    recurrent::TABLE,
    recurrent_attention::TABLE,
    reduce::TABLE,
    resize::TABLE,
    rotary::TABLE,
    sampled_windows::TABLE,
    select::TABLE,
    sequence::TABLE,
    sequence_map::TABLE,
    shape::TABLE,
    signal::TABLE,
    slice_pad::TABLE,
    softmax::TABLE,
    strings::TABLE,
    training::TABLE,
    unpool::TABLE,
];

/// Every entry, family by family.
pub fn all() -> impl Iterator<Item = &'static Entry> {
    FAMILIES.iter().copied().flatten()
}

pub enum Found {
    Entry(&'static Entry),
    /// The operator is known, but only from this opset on.
    OnlySince(i64),
    Nothing,
}

/// The entry for an operator of a model that imports its domain at `opset`.
pub fn find(domain: &str, op_type: &str, opset: i64) -> Found {
    let versions = || all().filter(|entry| entry.op_type == op_type && entry.domain == domain);
    match versions().filter(|entry| entry.since <= opset).max_by_key(|entry| entry.since) {
        Some(entry) => Found::Entry(entry),
        None => versions().map(|entry| entry.since).min().map_or(Found::Nothing, Found::OnlySince),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_operator_has_two_entries_of_one_version() {
        let mut keys: Vec<_> = all().map(|entry| (entry.domain, entry.op_type, entry.since)).collect();
        keys.sort_unstable();
        assert_eq!(keys.windows(2).find(|pair| pair[0] == pair[1]), None);
    }
}
