//! Contraction, convolution and pooling.

use super::one_op::{apply, apply1, f32s, i64s, ints};
use crate::ops::broadcast::{for_each_index, strides};
use crate::ops::{Contract, Conv, ConvTranspose, Window, WindowKind};
use crate::{DType, Dim, Value};

#[test]
fn matrix_products() {
    let (a, b) = (f32s(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), f32s(&[3, 1], &[1.0, 0.5, -1.0]));
    assert_eq!(apply1(Contract::matmul(DType::F32), &[a.clone(), b]), f32s(&[2, 1], &[-1.0, 0.5]));
    // Over no elements: 0, whatever the other extents.
    let empty = [f32s(&[2, 0], &[]), f32s(&[0, 3], &[])];
    assert_eq!(apply1(Contract::matmul(DType::F32), &empty), f32s(&[2, 3], &[0.0; 6]));
    assert!(apply(Contract::matmul(DType::F32), &[a.clone(), a.clone()]).unwrap_err().contains("contracted"));
    assert!(apply(Contract::matmul(DType::I32), &[a.clone(), a]).is_err());
}

#[test]
fn axes_of_the_result_are_batch_then_left_then_right() {
    // a[k, b, m], b[n, k, b] with b = 2, m = 1, n = 3, k = 2.
    let a = i64s(&[2, 2, 1], &[1, 2, 3, 4]);
    let b = i64s(&[3, 2, 2], &(0..12).collect::<Vec<_>>());
    let op = Contract { lhs_batch: vec![1], rhs_batch: vec![2], lhs: vec![0], rhs: vec![1], out: DType::I64 };
    // out[b, m, n] = sum over k of a[k, b, m] * b[n, k, b]
    let expected: Vec<i128> = (0..2)
        .flat_map(|b| (0..3).map(move |n| (0..2).map(|k| (1 + 2 * k + b) * (4 * n + 2 * k + b)).sum()))
        .collect();
    assert_eq!(apply1(op, &[a, b]), i64s(&[2, 1, 3], &expected));
}

#[test]
fn integer_products_are_wide() {
    let a = ints(DType::I8, &[1, 2], &[-128, 127]);
    let b = ints(DType::U8, &[2, 1], &[255, 255]);
    assert_eq!(apply1(Contract::matmul(DType::I32), &[a, b]), ints(DType::I32, &[1, 1], &[-255]));
    let max = i128::from(u64::MAX);
    let (a, b) = (ints(DType::U64, &[1, 1], &[max]), ints(DType::U64, &[1, 1], &[max]));
    assert_eq!(apply1(Contract::matmul(DType::U64), &[a, b]), ints(DType::U64, &[1, 1], &[1]));
}

fn dims(v: &[i64]) -> Vec<Dim> {
    v.iter().map(|d| Dim::from(*d)).collect()
}

/// Small numbers without a pattern that a wrong index would keep.
fn scrambled(shape: &[usize], salt: i128) -> Value {
    let n = shape.iter().product::<usize>() as i128;
    i64s(shape, &(0..n).map(|i| (i * 7919 + salt * 104_729) % 23 - 11).collect::<Vec<_>>())
}

/// The formula of convolution, term by term.
fn direct(op: &Conv, x: &Value, w: &Value, out_shape: &[usize]) -> Vec<i128> {
    let (x, w) = (x.tensor(), w.tensor());
    let (xs, ws, xe, we) = (strides(x.shape()), strides(w.shape()), x.ints(), w.ints());
    let m_per_group = w.shape()[0] / op.groups;
    let mut out = Vec::new();
    for_each_index(out_shape, |o| {
        let mut sum = 0;
        for_each_index(&w.shape()[1..], |k| {
            let c = o[1] / m_per_group * w.shape()[1] + k[0];
            let mut at = (o[0] * xs[0] + c * xs[1]) as i64;
            for s in 0..op.strides.len() {
                let before = op.pads_before[s].as_const().unwrap();
                let i = (o[2 + s] * op.strides[s] + k[1 + s] * op.dilations[s]) as i64 - before;
                if i < 0 || i >= x.shape()[2 + s] as i64 {
                    return;
                }
                at += i * xs[2 + s] as i64;
            }
            let weight = o[1] * ws[0] + k.iter().zip(&ws[1..]).map(|(i, s)| i * s).sum::<usize>();
            sum += xe[at as usize] * we[weight];
        });
        out.push(sum);
    });
    out
}

#[test]
fn convolution_is_its_formula() {
    // (x, w, strides, dilations, before, after, groups, out): padding, cropping, dilation, groups, 1 to 3 axes, size 0.
    type Case = (Vec<usize>, Vec<usize>, Vec<usize>, Vec<usize>, Vec<i64>, Vec<i64>, usize, Vec<usize>);
    let cases: Vec<Case> = vec![
        (
            vec![2, 4, 7, 6],
            vec![6, 2, 3, 2],
            vec![2, 1],
            vec![1, 3],
            vec![1, 2],
            vec![0, -1],
            2,
            vec![2, 6, 3, 4],
        ),
        (
            vec![1, 3, 5, 5],
            vec![3, 1, 3, 3],
            vec![1, 1],
            vec![1, 1],
            vec![1, 1],
            vec![1, 1],
            3,
            vec![1, 3, 5, 5],
        ),
        (vec![1, 1, 9], vec![2, 1, 2], vec![3], vec![2], vec![-2], vec![1], 1, vec![1, 2, 2]),
        (
            vec![1, 2, 3, 2, 4],
            vec![1, 2, 1, 2, 3],
            vec![1, 1, 2],
            vec![1, 1, 1],
            vec![0, 1, 0],
            vec![1, 0, 1],
            1,
            vec![1, 1, 4, 2, 2],
        ),
        (vec![0, 2, 4], vec![3, 2, 2], vec![1], vec![1], vec![0], vec![0], 1, vec![0, 3, 3]),
        (vec![2, 2], vec![3, 2], vec![], vec![], vec![], vec![], 1, vec![2, 3]),
        (vec![1, 1, 2], vec![1, 1, 3], vec![1], vec![1], vec![0], vec![0], 1, vec![1, 1, 0]),
        (vec![1, 1, 2], vec![1, 1, 2], vec![1], vec![1], vec![5], vec![0], 1, vec![1, 1, 6]),
    ];
    for (x, w, strides, dilations, before, after, groups, out) in cases {
        let (x, w) = (scrambled(&x, 1), scrambled(&w, 2));
        let op = Conv { strides, dilations, pads_before: dims(&before), pads_after: dims(&after), groups };
        let expected = i64s(&out, &direct(&op, &x, &w, &out));
        assert_eq!(apply1(op, &[x, w]), expected);
    }
}

#[test]
fn convolution_rejects_operands_that_do_not_fit() {
    let conv = |groups, pad: i64| Conv {
        strides: vec![1],
        dilations: vec![1],
        pads_before: dims(&[pad]),
        pads_after: dims(&[0]),
        groups,
    };
    let (x, w) = (scrambled(&[1, 4, 5], 1), scrambled(&[3, 2, 2], 1));
    assert!(apply(conv(1, 0), &[x.clone(), w.clone()]).unwrap_err().contains("channels"));
    assert!(apply(conv(2, 0), &[x.clone(), w.clone()]).unwrap_err().contains("groups"));
    assert!(apply(conv(0, 0), &[x.clone(), w]).is_err());
    let w = scrambled(&[1, 4, 2], 1);
    assert!(
        apply(conv(1, -5), &[x.clone(), w.clone()]).unwrap_err().contains("larger than the padded input")
    );
    let still = Conv { strides: vec![0], ..conv(1, 0) };
    assert!(apply(still, &[x, w]).unwrap_err().contains("positive"));
}

/// sum(conv(x, w) * y) = sum(x * conv_transpose(y, w)) for every x and y: one is the other's adjoint.
#[test]
fn transposed_convolution_is_the_adjoint() {
    let cases = [(1, 1, 0, 0, 1), (2, 1, 1, 0, 2), (3, 2, 2, 1, 1), (2, 3, -1, 2, 2)];
    for (stride, dilation, before, after, groups) in cases {
        let (c, m, n, k) = (2 * groups, 3 * groups, 11usize, 3usize);
        let (x, w) = (scrambled(&[2, c, n], 5), scrambled(&[m, c / groups, k], 6));
        let (pads_before, pads_after) = (dims(&[before]), dims(&[after]));
        let conv = Conv {
            strides: vec![stride],
            dilations: vec![dilation],
            pads_before: pads_before.clone(),
            pads_after: pads_after.clone(),
            groups,
        };
        let y = apply1(conv, &[x.clone(), w.clone()]);
        let places = y.tensor().shape()[2];
        let reached = (places - 1) * stride + (k - 1) * dilation + 1;
        let extra = (n as i64 + before + after) as usize - reached;
        let g = scrambled(&[2, m, places], 7);
        let transposed = ConvTranspose {
            strides: vec![stride],
            dilations: vec![dilation],
            pads_before,
            pads_after,
            output_padding: vec![extra],
            groups,
        };
        let back = apply1(transposed, &[g.clone(), w]);
        assert_eq!(back.tensor().shape(), x.tensor().shape());
        let dot = |a: &Value, b: &Value| -> i128 {
            a.tensor().ints().iter().zip(b.tensor().ints()).map(|(a, b)| a * b).sum()
        };
        assert_eq!(dot(&y, &g), dot(&x, &back), "stride {stride} dilation {dilation}");
    }
}

fn window(kind: WindowKind, size: usize, stride: usize, dilation: usize, before: i64, after: i64) -> Window {
    Window {
        kind,
        window: vec![size],
        strides: vec![stride],
        dilations: vec![dilation],
        pads_before: dims(&[before]),
        pads_after: dims(&[after]),
    }
}

#[test]
fn pooling_ignores_what_is_outside() {
    let x = f32s(&[2, 4], &[-1.0, -3.0, -2.0, -4.0, 1.0, f64::NAN, 2.0, 2.0]);
    let run = |op| apply1(op, std::slice::from_ref(&x));
    let y = run(window(WindowKind::Max, 2, 1, 1, 1, 1));
    assert_eq!(y.tensor().shape(), [2, 5]);
    let y = y.tensor().floats();
    assert_eq!(y[..5], [-1.0, -1.0, -2.0, -2.0, -4.0]);
    assert!(y[5] == 1.0 && y[6].is_nan() && y[7].is_nan() && y[8] == 2.0);
    assert_eq!(
        run(window(WindowKind::ArgMax, 2, 1, 1, 1, 1)),
        i64s(&[2, 5], &[0, 0, 2, 2, 3, 0, 1, 1, 2, 3])
    );
    // Crop the first two, dilation 1: only [2], [3] are seen.
    assert_eq!(run(window(WindowKind::Sum, 2, 1, 1, -2, 0)), f32s(&[2, 1], &[-6.0, 4.0]));
    // A place wholly in the padding.
    let y = run(window(WindowKind::Max, 1, 4, 1, 4, 0));
    assert_eq!(y.tensor().floats()[0], f64::NEG_INFINITY);
    assert_eq!(run(window(WindowKind::Sum, 2, 1, 3, 0, 0)).tensor().floats()[0], -5.0);
    let bytes = ints(DType::U8, &[3], &[3, 250, 7]);
    assert_eq!(
        apply1(window(WindowKind::Max, 3, 1, 1, 0, 0), std::slice::from_ref(&bytes)),
        ints(DType::U8, &[1], &[250])
    );
    assert_eq!(apply1(window(WindowKind::Sum, 3, 1, 1, 0, 0), &[bytes]), ints(DType::U8, &[1], &[4]));
}

#[test]
fn arg_max_counts_over_the_windowed_axes() {
    let x = i64s(&[1, 2, 3], &[1, 5, 2, 5, 0, 9]);
    let op = Window {
        kind: WindowKind::ArgMax,
        window: vec![2, 2],
        strides: vec![1, 1],
        dilations: vec![1, 1],
        pads_before: dims(&[0, 0]),
        pads_after: dims(&[0, 0]),
    };
    assert_eq!(apply1(op, &[x]), i64s(&[1, 1, 2], &[1, 5]));
}
