//! A row kernel and its meaning.

use super::*;
use crate::{EvalCx, Symbol, Tensor};

/// softmax over the last axis, as three stages over a row.
fn softmax(n: Dim, m: Dim) -> Kernel {
    let f = DType::F32;
    let mut b = Builder::new("softmax");
    let x = b.input(&TensorType::new(f, [n.clone(), m.clone()]));
    let y = b.output(&TensorType::new(f, [n.clone(), m.clone()]));
    let (max, sum) = (b.temp(TensorType::scalar(f)), b.temp(TensorType::scalar(f)));
    let row = b.axis(n);
    let cols: Vec<AxisId> = (0..3).map(|_| b.axis(m.clone())).collect();
    b.kernel_mut().outer = vec![row];
    let r = b.at(row);
    let c = b.all(&cols);
    let v = b.load(x, vec![r, c[0]]);
    b.reduce_stage(
        (vec![], vec![cols[0]]),
        Acc { op: AccOp::Max, value: v, dtype: f },
        (max, vec![]),
        |_, acc| acc,
    );
    let top = b.load(max, vec![]);
    let shifted = |b: &mut Builder, c| {
        let v = b.load(x, vec![r, c]);
        let d = b.sub(v, top);
        b.unary(UnaryKind::Exp, d)
    };
    let e = shifted(&mut b, c[1]);
    b.reduce_stage(
        (vec![], vec![cols[1]]),
        Acc { op: AccOp::Sum, value: e, dtype: f },
        (sum, vec![]),
        |_, acc| acc,
    );
    let e = shifted(&mut b, c[2]);
    let total = b.load(sum, vec![]);
    let q = b.binary(BinaryKind::Div, e, total);
    b.map_stage(vec![cols[2]], y, vec![r, c[2]], q);
    b.finish()
}

#[test]
fn softmax_rows_sum_to_one() {
    let k = softmax(Symbol::new("n").into(), 3i64.into());
    let x = Tensor::from_floats(DType::F32, vec![2, 3], [1.0, 2.0, 3.0, 1000.0, 1000.0, 1000.0]);
    let env = |_: &Symbol| Some(2);
    let cx = EvalCx::new(&env, &[], &|_, _| unreachable!("no regions"));
    let y = interpret(&k, &cx, &[x]).unwrap().remove(0).floats();
    assert!((y[..3].iter().sum::<f64>() - 1.0).abs() < 1e-6);
    assert!(y[3..].iter().all(|v| (v - 1.0 / 3.0).abs() < 1e-7));
}

/// A chain of rows: `a` is made, `b` of `a` element by element or the other way round, then `c` of the sum of `b`.
fn chain_of_rows(reversed: bool) -> Kernel {
    let f = DType::F32;
    let row = TensorType::new(f, [8i64]);
    let mut b = Builder::new("chain");
    let (x, y) = (b.input(&row), b.output(&row));
    let temps: Vec<_> = (0..3).map(|_| b.temp(row.clone())).collect();
    let total = b.temp(TensorType::scalar(f));
    let axis = b.axis(8);
    let i = b.at(axis);
    let v = b.load(x, vec![i]);
    b.map_stage(vec![axis], temps[0], vec![i], v);
    let seven = b.int(7);
    let at = if reversed { b.sub(seven, i) } else { i };
    let v = b.load(temps[0], vec![at]);
    let v = b.unary(UnaryKind::Neg, v);
    b.map_stage(vec![axis], temps[1], vec![i], v);
    let v = b.load(temps[1], vec![i]);
    let acc = Acc { op: AccOp::Sum, value: v, dtype: f };
    b.reduce_stage((vec![], vec![axis]), acc, (total, vec![]), |_, a| a);
    let s = b.load(total, vec![]);
    let q = b.mul(v, s);
    b.map_stage(vec![axis], temps[2], vec![i], q);
    let v = b.load(temps[2], vec![i]);
    b.map_stage(vec![axis], y, vec![i], v);
    b.finish()
}

#[test]
fn temporaries_share_a_place_when_none_reads_what_another_overwrites() {
    let number_of_places = |kernel: &Kernel| super::Places::of(kernel).bytes.len();
    // One row after another in place, and the sum.
    assert_eq!(number_of_places(&chain_of_rows(false)), 2);
    // A row that is made of another in other order needs a place of its own.
    assert_eq!(number_of_places(&chain_of_rows(true)), 3);
}
