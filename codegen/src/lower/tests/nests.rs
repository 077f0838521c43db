//! Loop nests of every shape against the interpreter: empty and odd extents, guards, scatters, scans, several stages.

use super::{agree, no_symbols, ramp, run};
use tcc_ir::kernel::{Acc, AccOp, Builder, Kernel, Scalar, Stage, Store};
use tcc_ir::ops::{BinaryKind, UnaryKind};
use tcc_ir::{Cmp, DType, Dim, Symbol, Tensor, TensorType};

fn ty(shape: &[usize]) -> TensorType {
    TensorType::new(DType::F32, shape.iter().map(|n| *n as i64))
}

#[test]
fn maps_of_every_rank_and_odd_extents_agree() {
    for shape in [&[][..], &[0], &[1], &[8193], &[3, 0, 2], &[1, 1], &[2, 3, 5, 7], &[65, 129]] {
        let mut b = Builder::new(format!("map_{shape:?}"));
        let (x, y) = (b.input(&ty(shape)), b.output(&ty(shape)));
        let axes = b.axes(&ty(shape).shape);
        let index = b.all(&axes);
        let v = b.load(x, index.clone());
        let v = b.unary(UnaryKind::Neg, v);
        b.map_stage(axes, y, index, v);
        agree(&b.finish(), &no_symbols, &[ramp(DType::F32, shape, 0.5)], 0.0);
    }
}

#[test]
fn a_transposed_and_broadcast_sum_agrees() {
    let (n, m) = (13usize, 37usize);
    let mut b = Builder::new("transpose_add");
    let (x, row, y) = (b.input(&ty(&[m, n])), b.input(&ty(&[m])), b.output(&ty(&[n, m])));
    let axes = b.axes(&ty(&[n, m]).shape);
    let at = b.all(&axes);
    let v = b.load(x, vec![at[1], at[0]]);
    let r = b.load(row, vec![at[1]]);
    let sum = b.add(v, r);
    b.map_stage(axes, y, at, sum);
    agree(&b.finish(), &no_symbols, &[ramp(DType::F32, &[m, n], 0.5), ramp(DType::F32, &[m], 2.0)], 0.0);
}

#[test]
fn guarded_loads_and_stores_agree() {
    // Padding by 2 on the left and 3 on the right, and a store of the even places only.
    let n = 11usize;
    let mut b = Builder::new("pad");
    let (x, y) = (b.input(&ty(&[n])), b.output(&ty(&[n + 5])));
    let axes = b.axes(&ty(&[n + 5]).shape);
    let at = b.all(&axes);
    let two = b.int(2);
    let from = b.sub(at[0], two);
    let inside = b.in_range(from, &Dim::from(n as i64));
    let v = b.load_if(x, vec![from], Some(inside));
    let zero = b.float(DType::F32, 0.0);
    b.map_stage(axes.clone(), y, at.clone(), zero);
    let rest = b.binary(BinaryKind::Mod, at[0], two);
    let none = b.int(0);
    let even = b.compare(Cmp::Eq, rest, none);
    let store = Store { buffer: y, index: at, value: v, update: None, guard: Some(even) };
    b.stage(Stage { axes, stores: vec![store], ..Stage::default() });
    agree(&b.finish(), &no_symbols, &[ramp(DType::F32, &[n], 1.0)], 0.0);
}

#[test]
fn scatters_with_updates_agree() {
    for update in
        [None, Some(BinaryKind::Add), Some(BinaryKind::Mul), Some(BinaryKind::Max), Some(BinaryKind::Min)]
    {
        let (n, m) = (7usize, 23usize);
        let mut b = Builder::new(format!("scatter_{update:?}"));
        let x = b.input(&ty(&[n]));
        let places = b.input(&TensorType::new(DType::I64, [m as i64]));
        let updates = b.input(&ty(&[m]));
        let y = b.output(&ty(&[n]));
        let copy = b.axes(&ty(&[n]).shape);
        let at = b.all(&copy);
        let v = b.load(x, at.clone());
        b.map_stage(copy, y, at, v);
        let axes = b.axes(&ty(&[m]).shape);
        let at = b.all(&axes);
        let place = b.load(places, at.clone());
        let inside = b.in_range(place, &Dim::from(n as i64));
        let place = b.expr(Scalar::Check { cond: inside, value: place });
        let value = b.load(updates, at);
        let store = Store { buffer: y, index: vec![place], value, update, guard: None };
        b.stage(Stage { axes, stores: vec![store], ..Stage::default() });
        b.kernel_mut().serial = true;
        let places = Tensor::from_i64s(&(0..m as i64).map(|i| (i * 5 + 2) % n as i64).collect::<Vec<_>>());
        let inputs = [ramp(DType::F32, &[n], 1.0), places, ramp(DType::F32, &[m], 0.25)];
        agree(&b.finish(), &no_symbols, &inputs, 0.0);
    }
}

/// A running sum or product along the last axis but one, inclusive or exclusive, forward or backward.
fn scan(op: AccOp, dtype: DType, exclusive: bool, reverse: bool, shape: [usize; 2]) -> Kernel {
    let t = TensorType::new(dtype, shape.map(|n| n as i64));
    let mut b = Builder::new(format!("scan_{}_{dtype}_{exclusive}_{reverse}", op.name()));
    let (x, y) = (b.input(&t), b.output(&t));
    let axes = b.axes(&t.shape);
    let mut at = b.all(&axes);
    if reverse {
        let last = b.int(shape[1] as i64 - 1);
        at[1] = b.sub(last, at[1]);
    }
    let value = b.load(x, at.clone());
    let acc = b.expr(if exclusive { Scalar::AccBefore(0) } else { Scalar::Acc(0) });
    let store = Store { buffer: y, index: at, value: acc, update: None, guard: None };
    b.stage(Stage {
        axes: vec![axes[0]],
        reduce: vec![axes[1]],
        accs: vec![Acc { op, value, dtype }],
        scan: true,
        stores: vec![store],
    });
    b.finish()
}

#[test]
fn scans_agree() {
    for (op, dtype) in [
        (AccOp::Sum, DType::F32),
        (AccOp::Prod, DType::I32),
        (AccOp::Max, DType::F16),
        (AccOp::Sum, DType::U8),
    ] {
        for (exclusive, reverse) in [(false, false), (true, false), (false, true), (true, true)] {
            for shape in [[3usize, 17], [1, 1], [2, 0]] {
                let k = scan(op, dtype, exclusive, reverse, shape);
                agree(&k, &no_symbols, &[ramp(dtype, &shape, 1.0)], 1e-6);
            }
        }
    }
}

#[test]
fn stages_pass_rows_through_temporaries() {
    // y = (x - mean(x)) * rsqrt(mean(x^2)), with the squares kept in a temporary of a row.
    for (rows, cols) in [(5usize, 33usize), (1, 1), (0, 4), (2, 300)] {
        let f = DType::F32;
        let mut b = Builder::new("normalise");
        let (x, y) = (b.input(&ty(&[rows, cols])), b.output(&ty(&[rows, cols])));
        let squares = b.temp(ty(&[cols]));
        let (mean, power) = (b.temp(ty(&[])), b.temp(ty(&[])));
        let row = b.axis(rows as i64);
        let c: Vec<_> = (0..4).map(|_| b.axis(cols as i64)).collect();
        b.kernel_mut().outer = vec![row];
        let (r, at) = (b.at(row), b.all(&c));
        let v = b.load(x, vec![r, at[0]]);
        let square = b.mul(v, v);
        b.map_stage(vec![c[0]], squares, vec![at[0]], square);
        let n = b.float(f, cols as f64);
        let v = b.load(x, vec![r, at[1]]);
        b.reduce_stage(
            (vec![], vec![c[1]]),
            Acc { op: AccOp::Sum, value: v, dtype: f },
            (mean, vec![]),
            |b, s| b.binary(BinaryKind::Div, s, n),
        );
        let v = b.load(squares, vec![at[2]]);
        b.reduce_stage(
            (vec![], vec![c[2]]),
            Acc { op: AccOp::Sum, value: v, dtype: f },
            (power, vec![]),
            |b, s| b.binary(BinaryKind::Div, s, n),
        );
        let v = b.load(x, vec![r, at[3]]);
        let (m, p) = (b.load(mean, vec![]), b.load(power, vec![]));
        let centred = b.sub(v, m);
        let root = b.unary(UnaryKind::Sqrt, p);
        let out = b.binary(BinaryKind::Div, centred, root);
        b.map_stage(vec![c[3]], y, vec![r, at[3]], out);
        agree(&b.finish(), &no_symbols, &[ramp(f, &[rows, cols], 0.3)], 1e-4);
    }
}

#[test]
fn contractions_of_odd_sizes_agree() {
    for (n, m, k) in [(1usize, 1usize, 1usize), (3, 70, 5), (7, 3, 130), (2, 5, 0), (0, 3, 3)] {
        let mut b = Builder::new("contract");
        let (x, y, z) = (b.input(&ty(&[n, k])), b.input(&ty(&[k, m])), b.output(&ty(&[n, m])));
        let axes = b.axes(&[n, m, k].map(Dim::from));
        let at = b.all(&axes);
        let (a, c) = (b.load(x, vec![at[0], at[2]]), b.load(y, vec![at[2], at[1]]));
        let product = b.mul(a, c);
        let acc = Acc { op: AccOp::Sum, value: product, dtype: DType::F32 };
        b.reduce_stage((vec![axes[0], axes[1]], vec![axes[2]]), acc, (z, vec![at[0], at[1]]), |b, s| {
            b.unary(UnaryKind::Abs, s)
        });
        agree(
            &b.finish(),
            &no_symbols,
            &[ramp(DType::F32, &[n, k], 0.5), ramp(DType::F32, &[k, m], 0.25)],
            1e-4,
        );
    }
}

/// Pooling with padding as guarded loads: windows of every step, over widths around a block's.
#[test]
fn padded_windows_agree() {
    for (width, step, reach) in [
        (7usize, 1i64, 1i64),
        (64, 1, 1),
        (65, 2, 1),
        (130, 3, 2),
        (131, 5, 1),
        (1, 2, 1),
        (38, 1, 9),
        (44, 1, 18),
    ] {
        for op in [AccOp::Sum, AccOp::Max] {
            let (height, k) = (5usize, 3i64);
            let out = (width as i64 + 2 - reach * (k - 1) - 1).div_euclid(step) + 1;
            let out = out.max(0);
            let mut b = Builder::new("window");
            let x = b.input(&ty(&[height, width]));
            let y = b.output(&TensorType::new(DType::F32, [height as i64, out]));
            let axes = b.axes(&[Dim::from(height), Dim::from(out)]);
            let reduce = b.axes(&[Dim::from(k), Dim::from(k)]);
            let (at, inside) = (b.all(&axes), b.all(&reduce));
            let one = b.int(1);
            let row = b.add(at[0], inside[0]);
            let row = b.sub(row, one);
            let (by, dilation) = (b.int(step), b.int(reach));
            let base = b.mul(at[1], by);
            let offset = b.mul(inside[1], dilation);
            let column = b.add(base, offset);
            let column = b.sub(column, one);
            let guards = [b.in_range(row, &Dim::from(height)), b.in_range(column, &Dim::from(width))];
            let guard = b.all_of(guards).expect("a guard");
            let raw = b.load_if(x, vec![row, column], Some(guard));
            let value = if op == AccOp::Max {
                let lowest = b.float(DType::F32, f64::NEG_INFINITY);
                b.select(guard, raw, lowest)
            } else {
                raw
            };
            let acc = Acc { op, value, dtype: DType::F32 };
            b.reduce_stage((axes, reduce), acc, (y, at), |_, acc| acc);
            agree(&b.finish(), &no_symbols, &[ramp(DType::F32, &[height, width], 0.5)], 1e-5);
        }
    }
}

/// Windows of products of which each factor ends somewhere else: one of the guards bounds the loop, the other stays. The
/// last tile of some has fewer positions than are done at once.
#[test]
fn windows_under_two_guards_agree() {
    // Tiles of the longest windows are 256 positions.
    for (n, taps) in [(7i64, 3i64), (21, 3), (40, 32), (64, 9), (256 + 5, 32), (256 + 8, 32), (512 + 1, 32)] {
        let mut b = Builder::new(format!("window_{n}_{taps}"));
        let (size, short) = (Dim::from(n), Dim::from(n - 3));
        let (x, y, z) =
            (b.input(&ty(&[n as usize])), b.input(&ty(&[n as usize - 3])), b.output(&ty(&[n as usize])));
        let (at, tap) = (b.axis(size.clone()), b.axis(taps));
        let (i, r) = (b.at(at), b.at(tap));
        let (one, two) = (b.int(1), b.int(2));
        let place = b.add(i, r);
        let (left, right) = (b.sub(place, two), b.sub(place, one));
        let (in_x, in_y) = (b.in_range(left, &size), b.in_range(right, &short));
        let (left, right) = (b.load_if(x, vec![left], Some(in_x)), b.load_if(y, vec![right], Some(in_y)));
        let value = b.mul(left, right);
        let acc = Acc { op: AccOp::Sum, value, dtype: DType::F32 };
        b.reduce_stage((vec![at], vec![tap]), acc, (z, vec![i]), |_, sum| sum);
        let inputs = [ramp(DType::F32, &[n as usize], 0.5), ramp(DType::F32, &[n as usize - 3], 0.25)];
        agree(&b.finish(), &no_symbols, &inputs, 1e-5);
    }
}

#[test]
fn the_extremes_of_rows_with_nan_and_infinities_agree() {
    for (op, dtype) in [AccOp::Max, AccOp::Min]
        .into_iter()
        .flat_map(|op| [DType::F32, DType::F64, DType::F16, DType::BF16].map(|dtype| (op, dtype)))
    {
        for n in [1usize, 7, 64, 131] {
            let rows = 5;
            let mut b = Builder::new(format!("{}_{dtype}_{n}", op.name()));
            let x = b.input(&TensorType::new(dtype, [rows, n]));
            let y = b.output(&TensorType::new(dtype, [rows]));
            let axes = b.axes(&[rows.into(), n.into()]);
            let at = b.all(&axes);
            let value = b.load(x, at.clone());
            let acc = Acc { op, value, dtype };
            b.reduce_stage((vec![axes[0]], vec![axes[1]]), acc, (y, vec![at[0]]), |_, a| a);
            // Rows of numbers, with a NaN first, last, of infinities only, and with one infinity.
            let special = |row: usize, i: usize| match row {
                1 if i == 0 => f64::NAN,
                2 if i == n - 1 => f64::NAN,
                3 => f64::NEG_INFINITY,
                4 if i == n / 2 => f64::INFINITY,
                _ => ((i * 7 + row) % 23) as f64 - 11.0,
            };
            let values = (0..rows * n).map(|i| special(i / n, i % n));
            agree(&b.finish(), &no_symbols, &[Tensor::from_floats(dtype, vec![rows, n], values)], 0.0);
        }
    }
}

#[test]
fn places_that_elements_count_themselves_agree() {
    use tcc_ir::ops::TopK;
    use tcc_ir::{Graph, Loc, Type};
    let special = [f64::NAN, 1.0, 0.0, -0.0, f64::INFINITY, 1.0, f64::NEG_INFINITY, f64::NAN, -2.5];
    for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16, DType::I8, DType::U8, DType::I64] {
        for (shape, axis, k) in
            [([4, 9], 1, 3), ([9, 4], 0, 9), ([5, 1], 1, 1), ([0, 9], 1, 2), ([3, 9], 1, 0)]
        {
            for largest in [true, false] {
                let n: usize = shape.iter().product();
                let x = if dtype.is_float() {
                    Tensor::from_floats(dtype, shape.to_vec(), (0..n).map(|i| special[i * 5 % 9]))
                } else {
                    Tensor::from_ints(dtype, shape.to_vec(), (0..n).map(|i| (i * 5 % 7) as i128))
                };
                let mut graph = Graph::new("g");
                let input = graph.add_input("x", Type::tensor(dtype, shape));
                let op = TopK { axis, k: Dim::from(k), largest, sorted: true };
                graph.add(op, &[input], &Loc::default()).expect("types fit");
                let (_, node) = graph.nodes().next().expect("one node");
                let kernel = tcc_passes::kernels::describe(&graph, node).expect("a short axis");
                agree(&kernel, &no_symbols, &[x], 0.0);
            }
        }
    }
}

#[test]
fn checks_in_front_of_empty_loops_agree() {
    // Row sums of `x` plus an element of `t` at a place that a load gives: sums of nothing are stored too, what isn't
    // reached isn't checked, and nothing is read there.
    let (rows, len) = (Dim::symbol(Symbol::new("M")), Dim::symbol(Symbol::new("K")));
    let mut b = Builder::new("sum_and_gather");
    let x = b.input(&TensorType { dtype: DType::F32, shape: vec![rows.clone(), len.clone()] });
    let t = b.input(&ty(&[5]));
    let places = b.input(&TensorType::new(DType::I64, [1i64]));
    let y = b.output(&TensorType { dtype: DType::F32, shape: vec![rows.clone()] });
    let (i, j) = (b.axis(&rows), b.axis(&len));
    let (row, col, zero) = (b.at(i), b.at(j), b.int(0));
    let value = b.load(x, vec![row, col]);
    let place = b.load(places, vec![zero]);
    let cond = b.in_range(place, &Dim::from(5));
    let place = b.expr(Scalar::Check { cond, value: place });
    let taken = b.load(t, vec![place]);
    let sum = b.expr(Scalar::Acc(0));
    let value_out = b.add(sum, taken);
    b.stage(Stage {
        axes: vec![i],
        reduce: vec![j],
        accs: vec![Acc { op: AccOp::Sum, value, dtype: DType::F32 }],
        stores: vec![Store { buffer: y, index: vec![row], value: value_out, update: None, guard: None }],
        ..Stage::default()
    });
    let k = b.finish();
    let place = |at: i64| Tensor::from_i64s(&[at]);
    for (m, n, at, fails) in
        [(4, 3, 2, false), (4, 0, 2, false), (0, 3, 7, false), (4, 3, 7, true), (4, 0, 7, true)]
    {
        let env = |s: &Symbol| Some(if *s.name == *"M" { m } else { n });
        let inputs =
            [ramp(DType::F32, &[m as usize, n as usize], 1.0), ramp(DType::F32, &[5], 0.5), place(at)];
        if fails {
            assert_eq!(run(&k, &env, &inputs), Err(1), "{m} x {n}");
        } else {
            agree(&k, &env, &inputs, 0.0);
        }
    }
}

/// Loads of temporaries go in front of loops that they don't depend on, also where those have no positions.
#[test]
fn temporaries_beside_empty_axes_agree() {
    let f = DType::F32;
    let symbol = |name: &str| Dim::symbol(Symbol::bounded(name, 0, Some(64)));
    for (len, lengths) in [(symbol("K"), &[0usize, 1, 5][..]), (Dim::from(0), &[0])] {
        // The rows of `x` plus their sums; and the sums of what that gives plus the sums.
        let rows = symbol("M");
        let mut b = Builder::new("row_sums");
        let full = TensorType { dtype: f, shape: vec![rows.clone(), len.clone()] };
        let (x, y) = (b.input(&full), b.output(&full));
        let z = b.output(&TensorType { dtype: f, shape: vec![rows.clone()] });
        let (sum, total) = (b.temp(ty(&[])), b.temp(TensorType { dtype: f, shape: vec![len.clone()] }));
        let row = b.axis(rows);
        let axes: Vec<_> = (0..4).map(|_| b.axis(len.clone())).collect();
        b.kernel_mut().outer = vec![row];
        let (i, at) = (b.at(row), b.all(&axes));
        let of_row = |value| Acc { op: AccOp::Sum, value, dtype: f };
        let v = b.load(x, vec![i, at[0]]);
        b.reduce_stage((vec![], vec![axes[0]]), of_row(v), (sum, vec![]), |_, a| a);
        let (v, s) = (b.load(x, vec![i, at[1]]), b.load(sum, vec![]));
        let both = b.add(v, s);
        b.map_stage(vec![axes[1]], y, vec![i, at[1]], both);
        // For each position the sum over all of them, of products with what is the same for all.
        let (v, s) = (b.load(x, vec![i, at[3]]), b.load(sum, vec![]));
        let product = b.mul(v, s);
        b.reduce_stage((vec![axes[2]], vec![axes[3]]), of_row(product), (total, vec![at[2]]), |b, a| {
            b.add(a, s)
        });
        let last = b.axis(len.clone());
        let j = b.at(last);
        let (v, s) = (b.load(total, vec![j]), b.load(sum, vec![]));
        let product = b.mul(v, s);
        b.reduce_stage((vec![], vec![last]), of_row(product), (z, vec![i]), |b, a| b.add(a, s));
        let k = b.finish();
        for m in [0usize, 1, 3] {
            for n in lengths {
                let env = |s: &Symbol| Some(if *s.name == *"M" { m } else { *n } as i64);
                agree(&k, &env, &[ramp(f, &[m, *n], 0.5)], 1e-5);
            }
        }
    }
}
