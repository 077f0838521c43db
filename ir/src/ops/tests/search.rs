//! Unique, non-maximum suppression, random numbers.

use super::one_op::{apply, apply1, f32s, i64s, texts};
use crate::attr::Float;
use crate::ops::{Nms, Random, RandomKind, Unique};
use crate::{DType, Dim, Value};

#[test]
fn unique_elements() {
    let x = i64s(&[2, 3], &[2, 1, 1, 3, 4, 3]);
    let list = |v: &[i128]| i64s(&[v.len()], v);
    let out = apply(Unique { axis: None, sorted: false }, std::slice::from_ref(&x)).unwrap();
    assert_eq!(
        out,
        [list(&[2, 1, 3, 4]), list(&[0, 1, 3, 4]), list(&[0, 1, 1, 2, 3, 2]), list(&[1, 2, 2, 1])]
    );
    let out = apply(Unique { axis: None, sorted: true }, &[x]).unwrap();
    assert_eq!(
        out,
        [list(&[1, 2, 3, 4]), list(&[1, 0, 3, 4]), list(&[1, 0, 0, 2, 3, 2]), list(&[2, 1, 2, 1])]
    );
    let out = apply(Unique { axis: None, sorted: true }, &[texts(&[3], &["b", "", "b"])]).unwrap();
    assert_eq!(out, [texts(&[2], &["", "b"]), list(&[1, 0]), list(&[1, 0, 1]), list(&[1, 2])]);
    let nan = f64::NAN;
    let out = apply(Unique { axis: None, sorted: true }, &[f32s(&[4], &[nan, 0.0, nan, -0.0])]).unwrap();
    assert_eq!(out[1..], [list(&[1, 0]), list(&[1, 0, 1, 0]), list(&[2, 2])]);
}

#[test]
fn unique_slices() {
    let x = f32s(&[2, 4, 2], &[1., 1., 0., 1., 2., 1., 0., 1., 1., 1., 0., 1., 2., 1., 0., 1.]);
    let list = |v: &[i128]| i64s(&[v.len()], v);
    let out = apply(Unique { axis: Some(1), sorted: true }, std::slice::from_ref(&x)).unwrap();
    assert_eq!(out[0], f32s(&[2, 3, 2], &[0., 1., 1., 1., 2., 1., 0., 1., 1., 1., 2., 1.]));
    assert_eq!(out[1..], [list(&[1, 0, 2]), list(&[1, 0, 2, 0]), list(&[2, 1, 1])]);
    let out = apply(Unique { axis: Some(0), sorted: true }, &[f32s(&[0, 2], &[])]).unwrap();
    assert_eq!(out, [f32s(&[0, 2], &[]), list(&[]), list(&[]), list(&[])]);
    // Slices without elements are all equal.
    let out = apply(Unique { axis: Some(0), sorted: true }, &[f32s(&[3, 0], &[])]).unwrap();
    assert_eq!(out, [f32s(&[1, 0], &[]), list(&[0]), list(&[0, 0, 0]), list(&[3])]);
    assert!(apply(Unique { axis: Some(3), sorted: true }, &[x]).is_err());
}

fn suppress(boxes: &[f64], scores: &[f64], max: i128, iou: f64, least: f64) -> Value {
    let (b, s) = (f32s(&[1, boxes.len() / 4, 4], boxes), f32s(&[1, 1, scores.len()], scores));
    let inputs = [b, s, i64s(&[], &[max]), f32s(&[1], &[iou]), f32s(&[], &[least])];
    apply1(Nms { center_point_box: false }, &inputs)
}

#[test]
fn suppression_is_strict_at_the_threshold() {
    // The boxes share 0.25 of 1.75.
    let boxes = [0., 0., 1., 1., 1.5, 1.5, 0.5, 0.5];
    assert_eq!(suppress(&boxes, &[0.9, 0.8], 3, 1.0 / 7.0 + 1e-6, 0.0), i64s(&[2, 3], &[0, 0, 0, 0, 0, 1]));
    assert_eq!(suppress(&boxes, &[0.8, 0.9], 3, 0.14, 0.0), i64s(&[1, 3], &[0, 0, 1]));
    assert_eq!(suppress(&boxes, &[0.9, 0.9], 1, 1.0, 0.0), i64s(&[1, 3], &[0, 0, 0]));
    assert_eq!(suppress(&boxes, &[0.9, 0.5], 3, 1.0, 0.5), i64s(&[1, 3], &[0, 0, 0]));
    assert_eq!(suppress(&boxes, &[0.9, 0.5], 0, 1.0, 0.0), i64s(&[0, 3], &[]));
    assert_eq!(suppress(&[], &[], 5, 0.5, 0.0), i64s(&[0, 3], &[]));
    // A box without area suppresses nothing.
    assert_eq!(
        suppress(&[0., 0., 0., 1., 0., 0., 0., 1.], &[0.9, 0.8], 5, 0.0, 0.0),
        i64s(&[2, 3], &[0, 0, 0, 0, 0, 1])
    );
}

fn random(kind: RandomKind, dims: &[i64], a: f64, b: f64, seed: i64) -> Random {
    let dims = dims.iter().map(|d| Dim::from(*d)).collect();
    Random { kind, dtype: DType::F32, dims, a: Float(a), b: Float(b), seed }
}

#[test]
fn random_numbers_follow_seed_and_distribution() {
    let draw = |kind, seed| apply1(random(kind, &[4000], 2.0, 5.0, seed), &[]).tensor().floats();
    let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
    let u = draw(RandomKind::Uniform, 1);
    assert!(u.iter().all(|v| (2.0..=5.0).contains(v)) && (mean(&u) - 3.5).abs() < 0.1, "{}", mean(&u));
    assert_eq!(u, draw(RandomKind::Uniform, 1));
    assert_ne!(u, draw(RandomKind::Uniform, 2));
    let g = draw(RandomKind::Normal, 3);
    let deviation = mean(&g.iter().map(|v| (v - 2.0).powi(2)).collect::<Vec<_>>()).sqrt();
    assert!((mean(&g) - 2.0).abs() < 0.3 && (deviation - 5.0).abs() < 0.3, "{} {deviation}", mean(&g));
    let coin = |p: &[f64]| {
        apply1(random(RandomKind::Bernoulli, &[p.len() as i64], 0., 0., 7), &[f32s(&[p.len()], p)])
    };
    assert_eq!(coin(&[0.0, 1.0, 0.0]), f32s(&[3], &[0.0, 1.0, 0.0]));
    let never = f64::NEG_INFINITY;
    let classes = apply1(
        random(RandomKind::Multinomial, &[2, 50], 0., 0., 7),
        &[f32s(&[2, 3], &[never, 0., never, 0., 0., never])],
    );
    let classes = classes.tensor().floats();
    assert!(classes[..50].iter().all(|c| *c == 1.0));
    assert!(classes[50..].contains(&0.0) && classes[50..].contains(&1.0) && !classes[50..].contains(&2.0));
    assert!(apply(random(RandomKind::Bernoulli, &[2], 0., 0., 7), &[f32s(&[3], &[0.; 3])]).is_err());
}
