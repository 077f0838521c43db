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
