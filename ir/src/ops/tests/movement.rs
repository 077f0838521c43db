//! Select, Broadcast, Transpose, Slice, Pad, Concat, Iota.

use super::{dims, floats, ints, numbered, run};
use crate::ops::{Broadcast, Concat, Iota, Pad, PadMode, Select, Slice, Transpose};
use crate::{DType, Tensor};

fn slice(x: &Tensor, starts: &[i64], sizes: &[i64], steps: &[i64]) -> Result<Tensor, String> {
    let op = Slice { starts: dims(starts), sizes: dims(sizes), steps: dims(steps) };
    run(op, std::slice::from_ref(x))
}

fn pad(x: &Tensor, before: &[i64], after: &[i64], mode: PadMode) -> Result<Tensor, String> {
    let op = Pad { before: dims(before), after: dims(after), mode };
    run(op, &[x.clone(), ints(&[], &[-1])])
}

#[test]
fn select_broadcasts_all_three() {
    let cond = Tensor::from_ints(DType::Bool, vec![2, 1], [1, 0]);
    let text = |shape: &[usize], elems: &[&str]| {
        Tensor::from_strings(shape.to_vec(), elems.iter().map(|s| s.to_string()).collect())
    };
    let y = run(Select {}, &[cond.clone(), text(&[3], &["a", "b", "c"]), text(&[], &["-"])]).unwrap();
    assert_eq!(y, text(&[2, 3], &["a", "b", "c", "-", "-", "-"]));
    let empty = run(Select {}, &[cond.clone(), ints(&[0], &[]), ints(&[1], &[4])]).unwrap();
    assert_eq!(empty.shape(), [2, 0]);
    assert!(run(Select {}, &[ints(&[], &[1]), ints(&[], &[1]), ints(&[], &[1])]).is_err());
    assert!(run(Select {}, &[cond, ints(&[], &[1]), floats(DType::F32, &[1.0])]).is_err());
}

#[test]
fn broadcast_repeats_axes_of_extent_one() {
    let to = |x: &Tensor, shape: &[i64]| run(Broadcast { dims: dims(shape) }, std::slice::from_ref(x));
    assert_eq!(to(&ints(&[2, 1], &[5, 6]), &[2, 2, 2]).unwrap(), ints(&[2, 2, 2], &[5, 5, 6, 6, 5, 5, 6, 6]));
    assert_eq!(to(&ints(&[], &[3]), &[2]).unwrap(), ints(&[2], &[3, 3]));
    assert_eq!(to(&ints(&[1], &[3]), &[0]).unwrap(), ints(&[0], &[]));
    assert_eq!(to(&ints(&[], &[3]), &[]).unwrap(), ints(&[], &[3]));
    for (x, shape) in
        [(ints(&[3], &[1, 2, 3]), vec![1i64]), (ints(&[2], &[1, 2]), vec![]), (ints(&[0], &[]), vec![1])]
    {
        assert!(to(&x, &shape).is_err(), "{x:?} to {shape:?}");
    }
    assert!(to(&ints(&[1], &[1]), &[-2]).is_err());
}

#[test]
fn transpose_wants_a_permutation() {
    let t = |x: &Tensor, perm: &[usize]| run(Transpose { perm: perm.to_vec() }, std::slice::from_ref(x));
    assert_eq!(t(&numbered(&[2, 3]), &[1, 0]).unwrap(), ints(&[3, 2], &[0, 3, 1, 4, 2, 5]));
    assert_eq!(t(&numbered(&[]), &[]).unwrap(), numbered(&[]));
    assert_eq!(t(&numbered(&[2, 0, 3]), &[2, 0, 1]).unwrap().shape(), [3, 2, 0]);
    for perm in [vec![0], vec![0, 0], vec![0, 2], vec![0, 1, 2]] {
        assert!(t(&numbered(&[2, 3]), &perm).is_err(), "{perm:?}");
    }
}

#[test]
fn slices_go_both_ways_and_stay_inside() {
    let x = numbered(&[5]);
    assert_eq!(slice(&x, &[4], &[5], &[-1]).unwrap(), ints(&[5], &[4, 3, 2, 1, 0]));
    assert_eq!(slice(&x, &[1], &[2], &[3]).unwrap(), ints(&[2], &[1, 4]));
    assert_eq!(slice(&x, &[3], &[2], &[-3]).unwrap(), ints(&[2], &[3, 0]));
    assert_eq!(slice(&x, &[2], &[3], &[0]).unwrap(), ints(&[3], &[2, 2, 2]));
    // Empty slices may start anywhere.
    for start in [-1, 5, 100] {
        assert_eq!(slice(&x, &[start], &[0], &[1]).unwrap(), ints(&[0], &[]));
    }
    assert_eq!(slice(&numbered(&[]), &[], &[], &[]).unwrap(), numbered(&[]));
    assert_eq!(slice(&numbered(&[2, 0]), &[1, 0], &[1, 0], &[1, 1]).unwrap().shape(), [1, 0]);
    for (start, size, step) in
        [(0, 6, 1), (-1, 1, 1), (5, 1, 1), (4, 6, -1), (0, 2, -1), (0, -1, 1), (1, 2, i64::MAX)]
    {
        assert!(slice(&x, &[start], &[size], &[step]).is_err(), "{start} {size} {step}");
    }
    assert!(slice(&numbered(&[0]), &[0], &[1], &[1]).is_err());
    assert!(slice(&x, &[0, 0], &[1], &[1]).is_err());
}

#[test]
fn padding_fills_by_mode() {
    let x = numbered(&[3]);
    let filled = |mode, before, after| pad(&x, &[before], &[after], mode).unwrap().ints();
    assert_eq!(filled(PadMode::Constant, 1, 2), [-1, 0, 1, 2, -1, -1]);
    assert_eq!(filled(PadMode::Edge, 2, 1), [0, 0, 0, 1, 2, 2]);
    assert_eq!(filled(PadMode::Reflect, 2, 2), [2, 1, 0, 1, 2, 1, 0]);
    // More than once around.
    assert_eq!(filled(PadMode::Reflect, 5, 0), [1, 0, 1, 2, 1, 0, 1, 2]);
    assert_eq!(filled(PadMode::Wrap, 4, 4), [2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0]);
    let one = pad(&numbered(&[1]), &[2], &[1], PadMode::Reflect).unwrap();
    assert_eq!(one, ints(&[4], &[0, 0, 0, 0]));
}

#[test]
fn negative_padding_crops_first() {
    let x = numbered(&[4]);
    let filled = |mode, before, after| pad(&x, &[before], &[after], mode).unwrap().ints();
    assert_eq!(filled(PadMode::Constant, -1, -1), [1, 2]);
    assert_eq!(filled(PadMode::Constant, -2, 3), [2, 3, -1, -1, -1]);
    assert_eq!(filled(PadMode::Edge, 2, -2), [0, 0, 0, 1]);
    assert_eq!(filled(PadMode::Wrap, -2, 2), [2, 3, 2, 3]);
    assert_eq!(filled(PadMode::Constant, -4, 0), [] as [i128; 0]);
    // All of the axis is cropped away, and then some.
    assert_eq!(filled(PadMode::Constant, -6, 4), [-1, -1]);
    assert!(pad(&x, &[-3], &[-2], PadMode::Constant).is_err());
    assert!(pad(&x, &[-4], &[1], PadMode::Edge).is_err());
}

#[test]
fn an_empty_axis_pads_by_a_value_only() {
    let x = numbered(&[0, 2]);
    let y = pad(&x, &[1, 0], &[0, 1], PadMode::Constant).unwrap();
    assert_eq!(y, ints(&[1, 3], &[-1, -1, -1]));
    for mode in [PadMode::Edge, PadMode::Reflect, PadMode::Wrap] {
        assert!(pad(&x, &[1, 0], &[0, 0], mode).is_err());
        assert_eq!(pad(&x, &[0, 1], &[0, 0], mode).unwrap().shape(), [0, 3]);
    }
    assert_eq!(pad(&numbered(&[]), &[], &[], PadMode::Edge).unwrap(), numbered(&[]));
    assert!(pad(&x, &[1], &[1], PadMode::Constant).is_err());
}

#[test]
fn concat_joins_along_an_axis() {
    let c = |ins: &[Tensor], axis| run(Concat { axis }, ins);
    let (a, b) = (ints(&[2, 1], &[1, 2]), ints(&[2, 2], &[3, 4, 5, 6]));
    assert_eq!(c(&[a.clone(), b.clone()], 1).unwrap(), ints(&[2, 3], &[1, 3, 4, 2, 5, 6]));
    assert_eq!(c(&[b.clone(), ints(&[0, 2], &[]), b.clone()], 0).unwrap().shape(), [4, 2]);
    assert_eq!(c(std::slice::from_ref(&a), 0).unwrap(), a);
    assert_eq!(c(&[numbered(&[0, 1]), numbered(&[0, 2])], 1).unwrap().shape(), [0, 3]);
    assert!(c(&[a.clone(), b.clone()], 0).is_err());
    assert!(c(&[a.clone(), b], 2).is_err());
    assert!(c(&[a.clone(), ints(&[2], &[1, 2])], 0).is_err());
    assert!(c(&[a, floats(DType::F32, &[1.0])], 0).is_err());
    assert!(c(&[ints(&[], &[1])], 0).is_err());
}

#[test]
fn iota_counts_along_its_axis() {
    let iota = |shape: &[i64], axis, dtype| run(Iota { dims: dims(shape), axis, dtype }, &[]);
    assert_eq!(iota(&[2, 3], 1, DType::I64).unwrap(), ints(&[2, 3], &[0, 1, 2, 0, 1, 2]));
    assert_eq!(iota(&[2, 3], 0, DType::F16).unwrap().floats(), [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
    assert_eq!(iota(&[6], 0, DType::U2).unwrap().ints(), [0, 1, 2, 3, 0, 1]);
    assert_eq!(iota(&[0], 0, DType::I32).unwrap().shape(), [0]);
    assert!(iota(&[], 0, DType::I64).is_err());
    assert!(iota(&[2], 0, DType::Bool).is_err());
    assert!(iota(&[1 << 40, 1 << 40], 0, DType::I64).is_err());
}
