//! Operators on text, and n-gram counts of text or numbers.

use tcc_ir::ValueId;
use tcc_ir::attr::Float;
use tcc_ir::ops::{
    CaseChange, RegexFullMatch, StringConcat, StringNormalizer, StringSplit, TfIdf, TfIdfMode,
};

use super::{Entry, onnx};
use crate::onnx::node::{ImportError, NodeCx, Result};

pub(super) const TABLE: &[Entry] = &[
    onnx("RegexFullMatch", 20, |cx| {
        let pattern = cx.string("pattern", "")?.to_owned();
        let x = cx.input(0)?;
        Ok(vec![cx.add(RegexFullMatch { pattern }, &[x])?])
    }),
    onnx("StringConcat", 20, |cx| {
        let (a, b) = (cx.input(0)?, cx.input(1)?);
        Ok(vec![cx.add(StringConcat {}, &[a, b])?])
    }),
    onnx("StringNormalizer", 10, string_normalizer),
    onnx("StringSplit", 20, |cx| {
        let delimiter = cx.opt_string("delimiter")?.map(str::to_owned);
        let max_splits = cx.opt_int("maxsplit")?.and_then(|max| usize::try_from(max).ok());
        let x = cx.input(0)?;
        cx.add_all(StringSplit { delimiter, max_splits }, &[x])
    }),
    onnx("TfIdfVectorizer", 9, tf_idf),
];

fn string_normalizer(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    // Letters change case by Unicode's rules whatever the locale.
    cx.ignore_attribute("locale");
    let case = match cx.string("case_change_action", "NONE")? {
        "NONE" => CaseChange::None,
        "LOWER" => CaseChange::Lower,
        "UPPER" => CaseChange::Upper,
        other => return Err(ImportError::invalid(format!("case_change_action `{other}` is unknown"))),
    };
    let case_sensitive = cx.flag("is_case_sensitive", false)?;
    let stopwords = cx.opt_strings("stopwords")?.unwrap_or_default().to_vec();
    let x = cx.input(0)?;
    Ok(vec![cx.add(StringNormalizer { case, case_sensitive, stopwords }, &[x])?])
}

fn tf_idf(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let mode = match cx.string("mode", "")? {
        "TF" => TfIdfMode::Tf,
        "IDF" => TfIdfMode::Idf,
        "TFIDF" => TfIdfMode::TfIdf,
        other => return Err(ImportError::invalid(format!("mode `{other}` is unknown"))),
    };
    let size = |name: &str, value: i64| {
        usize::try_from(value).map_err(|_| ImportError::invalid(format!("{name}: {value} is negative")))
    };
    let required = |name: &str| size(name, cx.required_int(name)?);
    let list = |name: &str| -> Result<Vec<usize>> {
        cx.required_ints(name)?.iter().map(|&value| size(name, value)).collect()
    };
    let op = TfIdf {
        mode,
        min_gram_length: required("min_gram_length")?,
        max_gram_length: required("max_gram_length")?,
        max_skip_count: required("max_skip_count")?,
        ngram_counts: list("ngram_counts")?,
        ngram_indexes: list("ngram_indexes")?,
        pool_ints: cx.opt_ints("pool_int64s")?.unwrap_or_default().to_vec(),
        pool_strings: cx.opt_strings("pool_strings")?.unwrap_or_default().to_vec(),
        weights: cx.opt_floats("weights")?.unwrap_or_default().iter().map(|&w| Float(w.into())).collect(),
    };
    let x = cx.input(0)?;
    Ok(vec![cx.add(op, &[x])?])
}
