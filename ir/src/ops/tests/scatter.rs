//! ScatterElements, ScatterNd.

use super::{ints, numbered, run, run_fixed};
use crate::ops::{BinaryKind, ScatterElements, ScatterNd};
use crate::{DType, Tensor};

fn elements(update: Option<BinaryKind>, axis: usize, ins: [Tensor; 3]) -> Result<Tensor, String> {
    run(ScatterElements { axis, update }, &ins)
}

fn nd(update: Option<BinaryKind>, ins: [Tensor; 3]) -> Result<Tensor, String> {
    run_fixed(ScatterNd { update }, &ins, &[1])
}

#[test]
fn elements_are_replaced_and_the_last_one_wins() {
    let y = elements(None, 0, [numbered(&[3]), ints(&[3], &[1, -1, 1]), ints(&[3], &[10, 11, 12])]);
    assert_eq!(y.unwrap(), ints(&[3], &[0, 12, 11]));
    let y = elements(None, 1, [numbered(&[2, 3]), ints(&[1, 2], &[2, 0]), ints(&[1, 2], &[7, 8])]);
    assert_eq!(y.unwrap(), ints(&[2, 3], &[8, 1, 7, 3, 4, 5]));
    let text = |elems: &[&str]| {
        Tensor::from_strings(vec![elems.len()], elems.iter().map(|s| s.to_string()).collect())
    };
    let y = elements(None, 0, [text(&["a", "b"]), ints(&[1], &[1]), text(&["z"])]).unwrap();
    assert_eq!(y, text(&["a", "z"]));
    let y = elements(None, 0, [numbered(&[2]), ints(&[0], &[]), ints(&[0], &[])]).unwrap();
    assert_eq!(y, numbered(&[2]));
}

#[test]
fn updates_of_one_element_all_combine() {
    let half = |elems: &[f64]| super::floats(DType::F16, elems);
    let index = ints(&[2], &[0, 0]);
    // Steps of 1 get lost in f16 at 2048 unless the sum is rounded once.
    let y = elements(Some(BinaryKind::Add), 0, [half(&[2048.0]), index.clone(), half(&[1.0, 1.0])]);
    assert_eq!(y.unwrap().floats(), [2050.0]);
    let bytes = |elems: &[i128]| Tensor::from_ints(DType::U8, vec![elems.len()], elems.to_vec());
    let y = elements(Some(BinaryKind::Mul), 0, [bytes(&[20]), index.clone(), bytes(&[20, 2])]);
    assert_eq!(y.unwrap(), bytes(&[32]));
    let y = elements(Some(BinaryKind::Max), 0, [half(&[1.0]), index.clone(), half(&[f64::NAN, 3.0])]);
    assert!(y.unwrap().floats()[0].is_nan());
    let bits = |elems: &[i128]| Tensor::from_ints(DType::Bool, vec![elems.len()], elems.to_vec());
    let y = elements(Some(BinaryKind::Min), 0, [bits(&[1]), index.clone(), bits(&[1, 0])]);
    assert_eq!(y.unwrap(), bits(&[0]));
    assert!(elements(Some(BinaryKind::Add), 0, [bits(&[1]), index.clone(), bits(&[1, 0])]).is_err());
    assert!(elements(Some(BinaryKind::Sub), 0, [bytes(&[1]), index, bytes(&[1, 0])]).is_err());
}

#[test]
fn slices_are_replaced_or_combined() {
    let x = numbered(&[3, 2]);
    let y = nd(None, [x.clone(), ints(&[2, 1], &[2, -3]), ints(&[2, 2], &[9, 8, 7, 6])]);
    assert_eq!(y.unwrap(), ints(&[3, 2], &[7, 6, 2, 3, 9, 8]));
    let y = nd(Some(BinaryKind::Add), [x.clone(), ints(&[2, 2], &[1, 1, 1, 1]), ints(&[2], &[10, 20])]);
    assert_eq!(y.unwrap(), ints(&[3, 2], &[0, 1, 2, 33, 4, 5]));
    // Tuples of no index address all of x.
    let y = nd(None, [ints(&[], &[5]), ints(&[2, 0], &[]), ints(&[2], &[6, 7])]);
    assert_eq!(y.unwrap(), ints(&[], &[7]));
    let y = nd(None, [numbered(&[0]), ints(&[0, 1], &[]), ints(&[0], &[])]);
    assert_eq!(y.unwrap(), numbered(&[0]));
}

#[test]
fn updates_must_fit() {
    let x = numbered(&[3, 2]);
    assert!(nd(None, [x.clone(), ints(&[1, 1], &[0]), ints(&[1], &[1])]).is_err());
    assert!(nd(None, [x.clone(), ints(&[1, 1], &[0]), ints(&[1, 3], &[1, 2, 3])]).is_err());
    assert!(
        nd(None, [x.clone(), ints(&[1, 1], &[3]), ints(&[1, 2], &[1, 2])]).unwrap_err().contains("index 3")
    );
    assert!(elements(None, 0, [x.clone(), ints(&[1, 2], &[0, 0]), ints(&[2, 1], &[0, 0])]).is_err());
    assert!(elements(None, 0, [x, ints(&[1, 2], &[0, 9]), ints(&[1, 2], &[0, 0])]).is_err());
}
