//! String operators, labels and n-grams.

use super::one_op::{apply, apply1, f32s, i64s, ints, texts};
use crate::attr::Float;
use crate::ops::*;
use crate::{DType, Tensor};

#[test]
fn concatenation_broadcasts() {
    let (a, b) = (texts(&[2, 1], &["a", "ü"]), texts(&[2], &["", "x"]));
    assert_eq!(apply1(StringConcat {}, &[a, b]), texts(&[2, 2], &["a", "ax", "ü", "üx"]));
    assert!(apply(StringConcat {}, &[texts(&[], &["a"]), i64s(&[], &[1])]).is_err());
}

#[test]
fn splitting() {
    let split = |d: Option<&str>, max_splits| StringSplit { delimiter: d.map(str::to_string), max_splits };
    let x = texts(&[3], &["  a  b c ", "", "a-b--"]);
    let out = apply(split(None, None), std::slice::from_ref(&x)).unwrap();
    assert_eq!(out, [texts(&[3, 3], &["a", "b", "c", "", "", "", "a-b--", "", ""]), i64s(&[3], &[3, 0, 1])]);
    let out = apply(split(Some(""), Some(1)), std::slice::from_ref(&x)).unwrap();
    assert_eq!(out, [texts(&[3, 2], &["a", "b c ", "", "", "a-b--", ""]), i64s(&[3], &[2, 0, 1])]);
    let out = apply(split(Some("-"), None), &[x]).unwrap();
    assert_eq!(out[1], i64s(&[3], &[1, 1, 4]));
    let out = apply(split(Some("-"), None), &[texts(&[0], &[])]).unwrap();
    assert_eq!(out, [texts(&[0, 0], &[]), i64s(&[0], &[])]);
}

#[test]
fn normalizing() {
    let op =
        |case, case_sensitive| StringNormalizer { case, case_sensitive, stopwords: vec!["Monday".into()] };
    let x = texts(&[1, 3], &["Monday", "monday", "Öl"]);
    let run = |op| apply1(op, std::slice::from_ref(&x));
    assert_eq!(run(op(CaseChange::Upper, true)), texts(&[1, 2], &["MONDAY", "ÖL"]));
    assert_eq!(run(op(CaseChange::None, false)), texts(&[1, 1], &["Öl"]));
    assert_eq!(
        apply1(op(CaseChange::Lower, false), &[texts(&[2], &["monday", "MONDAY"])]),
        texts(&[1], &[""])
    );
    assert!(apply(op(CaseChange::Lower, false), &[texts(&[2, 1], &["a", "b"])]).is_err());
}

#[test]
fn regular_expressions_match_whole_strings() {
    let op = |p: &str| RegexFullMatch { pattern: p.into() };
    let x = texts(&[3], &["ab", "cab", "ab\n"]);
    assert_eq!(apply1(op("a|ab"), std::slice::from_ref(&x)), ints(DType::Bool, &[3], &[1, 0, 0]));
    assert!(apply(op("(a"), &[x]).unwrap_err().contains("(a"));
}

#[test]
fn labels() {
    let op = LabelEncoder {
        keys: Tensor::from_strings(vec![2], vec!["a".into(), "b".into()]),
        values: Tensor::from_floats(DType::F32, vec![2], [1.5, 2.5]),
        default: Tensor::scalar_float(DType::F32, -1.0),
    };
    assert_eq!(apply1(op.clone(), &[texts(&[3], &["b", "", "a"])]), f32s(&[3], &[2.5, -1.0, 1.5]));
    assert!(apply(op, &[i64s(&[1], &[1])]).is_err());
    let op = LabelEncoder {
        keys: Tensor::from_floats(DType::F32, vec![2], [f64::NAN, 0.0]),
        values: Tensor::from_strings(vec![2], vec!["nan".into(), "zero".into()]),
        default: Tensor::from_strings(vec![1], vec!["?".into()]),
    };
    let x = f32s(&[3], &[-0.0, f64::NAN, 1.0]);
    assert_eq!(apply1(op, &[x]), texts(&[3], &["zero", "nan", "?"]));
}

fn tf_idf(mode: TfIdfMode, skip: usize, lengths: (usize, usize), weights: &[f64]) -> TfIdf {
    TfIdf {
        mode,
        min_gram_length: lengths.0,
        max_gram_length: lengths.1,
        max_skip_count: skip,
        ngram_counts: vec![0, 4],
        ngram_indexes: vec![0, 1, 2, 3, 4, 5, 6],
        pool_ints: vec![2, 3, 5, 4, 5, 6, 7, 8, 6, 7],
        pool_strings: vec![],
        weights: weights.iter().map(|w| Float(*w)).collect(),
    }
}

#[test]
fn n_grams() {
    let x = i64s(&[12], &[1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8]);
    let run = |op| apply1(op, std::slice::from_ref(&x)).tensor().floats();
    assert_eq!(run(tf_idf(TfIdfMode::Tf, 0, (2, 2), &[])), [0., 0., 0., 0., 1., 1., 1.]);
    assert_eq!(run(tf_idf(TfIdfMode::Tf, 5, (2, 2), &[])), [0., 0., 0., 0., 1., 3., 1.]);
    assert_eq!(run(tf_idf(TfIdfMode::Tf, 5, (1, 2), &[])), [0., 3., 1., 0., 1., 3., 1.]);
    let weights = [1., 10., 1., 1., 1., 2., 1.];
    assert_eq!(run(tf_idf(TfIdfMode::Idf, 5, (1, 2), &weights)), [0., 10., 1., 0., 1., 2., 1.]);
    assert_eq!(run(tf_idf(TfIdfMode::TfIdf, 5, (1, 2), &weights)), [0., 30., 1., 0., 1., 6., 1.]);
    let rows = i64s(&[2, 1], &[3, 9]);
    assert_eq!(apply1(tf_idf(TfIdfMode::Tf, 0, (1, 2), &[]), &[rows]).tensor().shape(), [2, 7]);
    assert_eq!(apply1(tf_idf(TfIdfMode::Tf, 9, (1, 2), &[]), &[i64s(&[0], &[])]), f32s(&[7], &[0.; 7]));
    let cut = TfIdf { ngram_counts: vec![0, 3], ..tf_idf(TfIdfMode::Tf, 0, (1, 2), &[]) };
    assert!(apply(cut, &[x]).is_err());
}
