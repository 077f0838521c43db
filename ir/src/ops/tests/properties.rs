//! Movement operators against plain index formulas, on random small shapes.

use super::{at, ints, numbered, run};
use crate::ops::broadcast::for_each_index;
use crate::ops::{Concat, Gather, Pad, PadMode, Sizes, Slice, Transpose};
use crate::{DType, Dim, Graph, Loc, Op, Symbol, Tensor};
use proptest::prelude::*;
use proptest::sample::select;

fn shape(ranks: std::ops::Range<usize>) -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(prop_oneof![1 => Just(0usize), 8 => 1usize..4], ranks)
}

/// A shape with one start, size and step an axis that stay inside.
fn sliced() -> impl Strategy<Value = (Vec<usize>, Vec<(i64, i64, i64)>)> {
    shape(0..4).prop_flat_map(|shape| {
        let axes: Vec<_> = shape
            .iter()
            .map(|n| {
                let n = *n as i64;
                (0..n.max(1), -3i64..4, 0i64..5).prop_map(move |(start, step, size)| {
                    let room = match step {
                        _ if n == 0 => 0,
                        0 => size,
                        s if s > 0 => (n - 1 - start) / s + 1,
                        s => start / -s + 1,
                    };
                    (start, size.min(room), step)
                })
            })
            .collect();
        (Just(shape), axes)
    })
}

fn check(y: &Tensor, want: &[usize], formula: impl Fn(&[usize]) -> i128) -> Result<(), TestCaseError> {
    prop_assert_eq!(y.shape(), want);
    let mut found = Ok(());
    for_each_index(want, |index| {
        if found.is_ok() && at(y, index) != formula(index) {
            found = Err(TestCaseError::fail(format!("at {index:?}: {} != {}", at(y, index), formula(index))));
        }
    });
    found
}

/// What a unary movement does to positions it must do to every element type and to symbolic elements.
fn check_dtypes(op: impl Into<Op>, y: &Tensor, x_shape: &[usize]) -> Result<(), TestCaseError> {
    let op = op.into();
    let positions: Vec<usize> = y.ints().iter().map(|p| *p as usize).collect();
    let n: usize = x_shape.iter().product();
    for dtype in [DType::String, DType::Bool, DType::F16, DType::C128] {
        let x = match dtype {
            DType::String => {
                Tensor::from_strings(x_shape.to_vec(), (0..n).map(|i| format!("s{i}")).collect())
            }
            _ => {
                let bytes: Vec<u8> = (0..n * dtype.size()).map(|i| (i / dtype.size() % 2) as u8).collect();
                Tensor::from_bytes(dtype, x_shape.to_vec(), bytes.into()).expect("the size fits")
            }
        };
        let moved = run(op.clone(), std::slice::from_ref(&x));
        prop_assert_eq!(moved, Ok(x.gather_linear(y.shape().to_vec(), positions.iter().copied())));
    }
    let elems: Vec<Dim> = (0..n).map(|i| Dim::symbol(Symbol::new(format!("e{i}")))).collect();
    let mut g = Graph::new("g");
    let sizes = Sizes { dtype: DType::I64, shape: x_shape.to_vec(), elems: elems.clone() };
    let x = g.add1(sizes, &[], &Loc::default()).expect("as many as the shape says");
    let moved = g.add1(op, &[x], &Loc::default()).expect("it evaluated");
    if g.value(x).elems.is_some() && positions.len() <= crate::graph::MAX_ELEMS {
        let want: Vec<Dim> = positions.iter().map(|p| elems[*p].clone()).collect();
        prop_assert_eq!(g.value(moved).elems.as_ref(), Some(&want));
    }
    Ok(())
}

/// Where a step off an axis of `extent` leads, one step at a time.
fn outside(mode: PadMode, extent: i64, at: i64) -> Option<i64> {
    let (mut place, mut direction) = (0i64, 1i64);
    let forward = if at >= 0 { 1 } else { -1 };
    for _ in 0..at.abs() {
        match mode {
            PadMode::Constant if (0..extent).contains(&(place + forward)) => place += forward,
            PadMode::Constant => return None,
            PadMode::Edge => place = (place + forward).clamp(0, extent - 1),
            PadMode::Wrap => place = (place + forward + extent) % extent,
            PadMode::Reflect if extent == 1 => {}
            PadMode::Reflect => {
                // A mirror looks the same from both sides: only the distance counts.
                if !(0..extent).contains(&(place + direction)) {
                    direction = -direction;
                }
                place += direction;
            }
        }
    }
    Some(place)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn transpose_reorders_indices(
        (shape, perm) in shape(0..5).prop_flat_map(|s| {
            let perm = Just((0..s.len()).collect::<Vec<_>>()).prop_shuffle();
            (Just(s), perm)
        }),
    ) {
        let x = numbered(&shape);
        let op = Transpose { perm: perm.clone() };
        let y = run(op.clone(), std::slice::from_ref(&x)).map_err(TestCaseError::fail)?;
        let want: Vec<usize> = perm.iter().map(|a| shape[*a]).collect();
        check(&y, &want, |index| {
            let mut source = vec![0; index.len()];
            perm.iter().zip(index).for_each(|(a, i)| source[*a] = *i);
            at(&x, &source)
        })?;
        check_dtypes(op, &y, &shape)?;
    }

    #[test]
    fn slice_steps_along_axes((shape, axes) in sliced()) {
        let x = numbered(&shape);
        let column = |f: fn(&(i64, i64, i64)) -> i64| axes.iter().map(|a| Dim::from(f(a))).collect();
        let op = Slice { starts: column(|a| a.0), sizes: column(|a| a.1), steps: column(|a| a.2) };
        let y = run(op.clone(), std::slice::from_ref(&x)).map_err(TestCaseError::fail)?;
        let want: Vec<usize> = axes.iter().map(|a| a.1 as usize).collect();
        check(&y, &want, |index| {
            let source: Vec<usize> =
                index.iter().zip(&axes).map(|(i, a)| (a.0 + *i as i64 * a.2) as usize).collect();
            at(&x, &source)
        })?;
        check_dtypes(op, &y, &shape)?;
    }

    #[test]
    fn pad_fills_what_lies_outside(
        (shape, pads) in shape(0..4).prop_flat_map(|s| {
            let pads = prop::collection::vec((-2i64..6, -2i64..6), s.len());
            (Just(s), pads)
        }),
        mode in select(PadMode::ALL.to_vec()),
    ) {
        let x = numbered(&shape);
        let left: Vec<i64> =
            shape.iter().zip(&pads).map(|(n, p)| *n as i64 + p.0.min(0) + p.1.min(0)).collect();
        prop_assume!(left.iter().all(|n| *n >= i64::from(mode != PadMode::Constant)));
        let op = Pad {
            before: pads.iter().map(|p| Dim::from(p.0)).collect(),
            after: pads.iter().map(|p| Dim::from(p.1)).collect(),
            mode,
        };
        let y = run(op, &[x.clone(), ints(&[], &[-1])]).map_err(TestCaseError::fail)?;
        let want: Vec<usize> = left.iter().zip(&pads).map(|(n, p)| (n + p.0.max(0) + p.1.max(0)) as usize).collect();
        check(&y, &want, |index| {
            let mut source = Vec::new();
            for (a, i) in index.iter().enumerate() {
                let (before, first) = (pads[a].0.max(0), (-pads[a].0).max(0));
                match outside(mode, left[a], *i as i64 - before) {
                    // An axis with nothing left has no place 0 either.
                    Some(place) if left[a] > 0 => source.push((place + first) as usize),
                    _ => return -1,
                }
            }
            at(&x, &source)
        })?;
    }

    #[test]
    fn concat_finds_the_operand(
        (shape, axis, extents) in shape(1..4).prop_flat_map(|s| {
            let rank = s.len();
            (Just(s), 0..rank, prop::collection::vec(0usize..4, 1..4))
        }),
    ) {
        let tensors: Vec<Tensor> = extents
            .iter()
            .enumerate()
            .map(|(k, n)| {
                let mut own = shape.clone();
                own[axis] = *n;
                let n: usize = own.iter().product();
                ints(&own, &(0..n as i64).map(|i| i + 1000 * k as i64).collect::<Vec<_>>())
            })
            .collect();
        let y = run(Concat { axis }, &tensors).map_err(TestCaseError::fail)?;
        let mut want = shape.clone();
        want[axis] = extents.iter().sum();
        check(&y, &want, |index| {
            let (mut k, mut source) = (0, index.to_vec());
            while source[axis] >= extents[k] {
                source[axis] -= extents[k];
                k += 1;
            }
            at(&tensors[k], &source)
        })?;
    }

    #[test]
    fn gather_looks_up_indices(
        (shape, axis, index_shape, picks) in (shape(1..4), shape(0..3)).prop_flat_map(|(s, i)| {
            let (rank, n) = (s.len(), i.iter().product::<usize>());
            (Just(s), 0..rank, Just(i), prop::collection::vec(-20i64..20, n))
        }),
    ) {
        let x = numbered(&shape);
        let extent = shape[axis] as i64;
        let picks: Vec<i64> = picks.iter().map(|p| if extent == 0 { *p } else { p.rem_euclid(2 * extent) - extent }).collect();
        let indices = ints(&index_shape, &picks);
        let y = run(Gather { axis }, &[x.clone(), indices.clone()]);
        if extent == 0 && !picks.is_empty() {
            prop_assert!(y.is_err());
            return Ok(());
        }
        let want = [&shape[..axis], &index_shape, &shape[axis + 1..]].concat();
        check(&y.map_err(TestCaseError::fail)?, &want, |index| {
            let pick = at(&indices, &index[axis..axis + index_shape.len()]) as i64;
            let wrapped = if pick < 0 { pick + extent } else { pick };
            let source = [&index[..axis], &[wrapped as usize], &index[axis + index_shape.len()..]].concat();
            at(&x, &source)
        })?;
    }
}
