//! Kernels of several stages with products among them, over blocks of rows, against the interpreter.

use super::{Tolerance, compare, run};
use crate::lower::blocks::Blocks;
use crate::lower::{collapse, prepack};
use crate::target::Target;
use tcc_ir::kernel::{Acc, AccOp, AxisId, Builder, ExprId, Kernel, interpret};
use tcc_ir::ops::{BinaryKind, UnaryKind};
use tcc_ir::{Cmp, DType, Dim, EvalCx, Symbol, Tensor, TensorType};

/// What is added to the scores.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Mask {
    None,
    /// One row for every query of a batch.
    Keys,
    /// One of each query's own.
    Full,
    /// No key behind the query.
    Causal,
}

/// How keys lie in memory.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Keys {
    /// Each key in one piece.
    Rows,
    /// Each feature of all keys in one piece.
    Columns,
}

#[derive(Clone)]
struct Attention {
    dtype: DType,
    batch: Dim,
    /// Heads of the keys, and heads of the queries for each.
    heads: Dim,
    group: Dim,
    queries: Dim,
    keys: Dim,
    depth: Dim,
    mask: Mask,
    layout: Keys,
}

fn sum(value: ExprId, dtype: DType) -> Acc {
    Acc { op: AccOp::Sum, value, dtype }
}

impl Attention {
    fn of(queries: usize, keys: usize, depth: usize) -> Attention {
        Attention {
            dtype: DType::F32,
            batch: 2.into(),
            heads: 2.into(),
            group: 1.into(),
            queries: queries.into(),
            keys: keys.into(),
            depth: depth.into(),
            mask: Mask::None,
            layout: Keys::Rows,
        }
    }

    fn shapes(&self) -> [TensorType; 4] {
        let Attention { batch, heads, group, queries, keys, depth, .. } = self;
        let ty = |dims: &[&Dim]| TensorType::new(self.dtype, dims.iter().map(|d| (*d).clone()));
        let one = Dim::from(1);
        [
            ty(&[batch, heads, group, queries, depth]),
            match self.layout {
                Keys::Rows => ty(&[batch, heads, keys, depth]),
                Keys::Columns => ty(&[batch, heads, depth, keys]),
            },
            ty(&[batch, heads, keys, depth]),
            ty(&[batch, if self.mask == Mask::Full { queries } else { &one }, keys]),
        ]
    }

    fn kernel(&self) -> Kernel {
        let f = DType::F32;
        let mut b = Builder::new("attention");
        let [q, k, v, m] = self.shapes();
        let [query, key, value, mask] = [&q, &k, &v, &m].map(|ty| b.input(ty));
        let out = b.output(&q);
        let scores = b.temp(TensorType::new(f, [self.keys.clone()]));
        let weights = b.temp(TensorType::new(self.dtype, [self.keys.clone()]));
        let (top, total) = (b.temp(TensorType::scalar(f)), b.temp(TensorType::scalar(f)));
        let outer: Vec<AxisId> =
            [&self.batch, &self.heads, &self.group, &self.queries].map(|d| b.axis(d.clone())).into();
        let (at_key, feature) = (b.axis(self.keys.clone()), b.axis(self.depth.clone()));
        b.kernel_mut().outer.clone_from(&outer);
        let o = b.all(&outer);
        let (j, d) = (b.at(at_key), b.at(feature));
        let zero = b.int(0);

        let x = b.load(query, vec![o[0], o[1], o[2], o[3], d]);
        let place = if self.layout == Keys::Rows { vec![o[0], o[1], j, d] } else { vec![o[0], o[1], d, j] };
        let y = b.load(key, place);
        let (x, y) = (b.cast(f, x), b.cast(f, y));
        let xy = b.mul(x, y);
        let mask = match self.mask {
            Mask::None => None,
            Mask::Keys => Some(b.load(mask, vec![o[0], zero, j])),
            Mask::Full => Some(b.load(mask, vec![o[0], o[3], j])),
            Mask::Causal => {
                let seen = b.compare(Cmp::Ge, o[3], j);
                let (zero, low) = (b.float(f, 0.0), b.float(f, f64::NEG_INFINITY));
                Some(b.select(seen, zero, low))
            }
        };
        b.reduce_stage((vec![at_key], vec![feature]), sum(xy, f), (scores, vec![j]), |b, s| {
            let half = b.float(f, 0.5);
            let s = b.mul(s, half);
            match mask {
                Some(mask) => {
                    let mask = b.cast(f, mask);
                    b.add(s, mask)
                }
                None => s,
            }
        });
        let s = b.load(scores, vec![j]);
        b.reduce_stage(
            (vec![], vec![at_key]),
            Acc { op: AccOp::Max, value: s, dtype: f },
            (top, vec![]),
            |_, a| a,
        );
        let most = b.load(top, vec![]);
        let e = b.sub(s, most);
        let e = b.unary(UnaryKind::Exp, e);
        b.reduce_stage((vec![], vec![at_key]), sum(e, f), (total, vec![]), |_, a| a);
        let all = b.load(total, vec![]);
        let p = b.binary(BinaryKind::Div, e, all);
        let p = b.cast(self.dtype, p);
        b.map_stage(vec![at_key], weights, vec![j], p);
        let p = b.load(weights, vec![j]);
        let v = b.load(value, vec![o[0], o[1], j, d]);
        let (p, v) = (b.cast(f, p), b.cast(f, v));
        let pv = b.mul(p, v);
        let place = vec![o[0], o[1], o[2], o[3], d];
        let dtype = self.dtype;
        b.reduce_stage((vec![feature], vec![at_key]), sum(pv, f), (out, place), |b, s| b.cast(dtype, s));
        b.finish()
    }

    /// Compares with the interpreter; gives whether blocks were used.
    fn check(&self, env: &dyn Fn(&Symbol) -> Option<i64>) -> bool {
        let inputs: Vec<Tensor> = self
            .shapes()
            .iter()
            .enumerate()
            .map(|(i, ty)| {
                let shape: Vec<usize> =
                    ty.shape.iter().map(|d| d.eval(env).expect("all symbols are bound") as usize).collect();
                let n: usize = shape.iter().product();
                let keys = shape.last().copied().unwrap_or(1).max(1);
                let number = |at: usize| ((at * 31 + i * 17) % 19) as f64 * 0.0625;
                let value = |at: usize| match i {
                    // The first row of the mask leaves no key, the others some.
                    3 if at / keys == 0 || at % 5 == 3 => f64::NEG_INFINITY,
                    _ => number(at),
                };
                Tensor::from_floats(ty.dtype, shape, (0..n).map(value))
            })
            .collect();
        let tolerance = if self.dtype == DType::F32 { 2e-5 } else { 1e-2 };
        agree(&self.kernel(), env, &inputs, tolerance)
    }
}

fn agree(kernel: &Kernel, env: &dyn Fn(&Symbol) -> Option<i64>, inputs: &[Tensor], tolerance: f64) -> bool {
    let cx = EvalCx::new(env, &[], &|_, _| unreachable!("kernels have no regions"));
    let want = interpret(kernel, &cx, inputs).expect("interprets");
    let got = run(kernel, env, inputs).expect("runs");
    let allows = Tolerance::Relative(tolerance);
    compare(kernel, &want, &got, &|dtype, _, want, got| allows.allows(dtype, want, got));
    let host = Target::host().expect("a known host");
    Blocks::of(&collapse::collapse(kernel), &host, &|_| false).is_some()
}

fn none(_: &Symbol) -> Option<i64> {
    None
}

#[test]
fn attention_of_rows_around_a_block_agrees() {
    for queries in [0usize, 1, 2, 23, 24, 25, 47, 48, 49, 100] {
        for layout in [Keys::Rows, Keys::Columns] {
            let used = Attention { layout, ..Attention::of(queries, 19, 12) }.check(&none);
            assert_eq!(used, queries >= 4, "{queries} queries");
        }
    }
}

#[test]
fn attention_of_few_keys_and_features_agrees() {
    for (queries, keys, depth) in [(30, 1, 8), (30, 2, 16), (40, 0, 4), (33, 50, 1), (26, 9, 3), (30, 530, 8)]
    {
        for layout in [Keys::Rows, Keys::Columns] {
            Attention { layout, ..Attention::of(queries, keys, depth) }.check(&none);
        }
    }
}

#[test]
fn attention_under_masks_agrees() {
    for mask in [Mask::Keys, Mask::Full, Mask::Causal] {
        for layout in [Keys::Rows, Keys::Columns] {
            assert!(Attention { mask, layout, ..Attention::of(41, 41, 8) }.check(&none));
        }
    }
}

#[test]
fn attention_of_narrow_floats_and_of_grouped_heads_agrees() {
    for dtype in [DType::F16, DType::BF16] {
        assert!(Attention { dtype, mask: Mask::Keys, ..Attention::of(29, 21, 8) }.check(&none));
    }
    for queries in [1usize, 27] {
        let grouped = Attention { group: 5.into(), ..Attention::of(queries, 21, 8) };
        grouped.check(&none);
    }
}

#[test]
fn attention_of_symbolic_sizes_agrees() {
    let dim = |n: &str| Dim::from(Symbol::new(n));
    for layout in [Keys::Rows, Keys::Columns] {
        let symbolic = Attention {
            batch: dim("b"),
            queries: dim("q"),
            keys: dim("k"),
            mask: Mask::Full,
            layout,
            ..Attention::of(1, 1, 8)
        };
        for (batch, queries, keys) in
            [(1, 1, 1), (2, 17, 33), (0, 3, 3), (1, 0, 4), (1, 5, 0), (1, 97, 20), (1, 96, 3)]
        {
            let env = |s: &Symbol| {
                Some(match &*s.name {
                    "b" => batch,
                    "q" => queries,
                    _ => keys,
                })
            };
            assert!(symbolic.check(&env));
        }
    }
}

/// `(y - mean(y)) / sqrt(mean(y * y))` of the rows `y = x * w + r`.
fn normalised_product(rows: Dim, depth: usize, width: usize, transposed: bool) -> Kernel {
    let f = DType::F32;
    let mut b = Builder::new("normalised");
    let ty = |dims: &[&Dim]| TensorType::new(f, dims.iter().map(|d| (*d).clone()));
    let (k, n) = (Dim::from(depth), Dim::from(width));
    let x = b.input(&ty(&[&rows, &k]));
    let w = b.input(&if transposed { ty(&[&n, &k]) } else { ty(&[&k, &n]) });
    let (r, out) = (b.input(&ty(&[&rows, &n])), b.output(&ty(&[&rows, &n])));
    let (y, mean, power) = (b.temp(ty(&[&n])), b.temp(ty(&[])), b.temp(ty(&[])));
    let (row, at_k, at_n) = (b.axis(rows), b.axis(k), b.axis(n));
    b.kernel_mut().outer = vec![row];
    let (i, c, j) = (b.at(row), b.at(at_k), b.at(at_n));
    let (left, right) = (b.load(x, vec![i, c]), b.load(w, if transposed { vec![j, c] } else { vec![c, j] }));
    let product = b.mul(left, right);
    let residual = b.load(r, vec![i, j]);
    b.reduce_stage((vec![at_n], vec![at_k]), sum(product, f), (y, vec![j]), |b, s| b.add(s, residual));
    let v = b.load(y, vec![j]);
    let count = b.float(f, width as f64);
    let square = b.mul(v, v);
    for (value, temp) in [(v, mean), (square, power)] {
        b.reduce_stage((vec![], vec![at_n]), sum(value, f), (temp, vec![]), |b, s| {
            b.binary(BinaryKind::Div, s, count)
        });
    }
    let (mean, power) = (b.load(mean, vec![]), b.load(power, vec![]));
    let (centred, root) = (b.sub(v, mean), b.unary(UnaryKind::Sqrt, power));
    let value = b.binary(BinaryKind::Div, centred, root);
    b.map_stage(vec![at_n], out, vec![i, j], value);
    b.finish()
}

fn numbers(shape: [usize; 2], seed: usize) -> Tensor {
    let value = |i: usize| ((i * 31 + seed * 17) % 19) as f64 * 0.0625 - 0.25;
    Tensor::from_floats(DType::F32, shape.to_vec(), (0..shape[0] * shape[1]).map(value))
}

#[test]
fn a_product_with_the_normalisation_of_its_rows_agrees() {
    for (rows, depth, width) in [(0, 8, 16), (1, 8, 16), (24, 9, 17), (25, 520, 33), (49, 16, 40), (98, 5, 8)]
    {
        for transposed in [false, true] {
            let kernel = normalised_product(rows.into(), depth, width, transposed);
            let weights = numbers(if transposed { [width, depth] } else { [depth, width] }, 1);
            let mut inputs = vec![numbers([rows, depth], 0), weights, numbers([rows, width], 2)];
            let used = agree(&kernel, &none, &inputs, 1e-3);
            assert_eq!(used, rows >= 4, "{rows} rows");
            // The same with the weights laid out ahead.
            let host = Target::host().expect("a known host");
            let packed = prepack(&kernel, &host, &|input| input == 1);
            assert_eq!(packed.is_some(), used, "{rows} rows");
            if let Some(packed) = packed {
                let [(1, layout)] = &packed.layouts[..] else { panic!("only the weights are constant") };
                inputs[1] = layout.apply(&inputs[1]);
                assert!(agree(&packed.kernel, &none, &inputs, 1e-3));
            }
        }
    }
}

#[test]
fn a_product_of_a_symbolic_number_of_rows_with_its_normalisation_agrees() {
    let rows = Dim::from(Symbol::new("n"));
    let kernel = normalised_product(rows, 10, 20, false);
    for rows in [0usize, 1, 5, 96, 97] {
        let inputs = [numbers([rows, 10], 0), numbers([10, 20], 1), numbers([rows, 20], 2)];
        assert!(agree(&kernel, &move |_| Some(rows as i64), &inputs, 1e-3));
    }
}

/// `sum(x[n, c] * w[c, j]) * sum(y[n, i, c] * z[n, c, j])` by `[n, i, j]`: of the second product, nothing is shared by
/// the rows of the first.
#[test]
fn a_product_of_each_row_s_own_beside_one_of_rows_agrees() {
    let f = DType::F32;
    let rows = Dim::from(Symbol::new("n"));
    for (depth, width) in [(8usize, 40usize), (300, 16)] {
        let mut b = Builder::new("own");
        let ty = |dims: &[&Dim]| TensorType::new(f, dims.iter().map(|d| (*d).clone()));
        let (c, j) = (Dim::from(depth), Dim::from(width));
        let types = [ty(&[&rows, &c]), ty(&[&c, &j]), ty(&[&rows, &c, &c]), ty(&[&rows, &c, &j])];
        let [x, w, y, z] = [0, 1, 2, 3].map(|i| b.input(&types[i]));
        let (out, t) = (b.output(&types[3]), b.temp(ty(&[&j])));
        let (row, at_i) = (b.axis(rows.clone()), b.axis(c.clone()));
        let (at_c, at_j) = (b.axis(c.clone()), b.axis(j.clone()));
        b.kernel_mut().outer = vec![row];
        let [n, i, c, j] = [row, at_i, at_c, at_j].map(|axis| b.at(axis));
        let (left, right) = (b.load(x, vec![n, c]), b.load(w, vec![c, j]));
        let first = b.mul(left, right);
        b.reduce_stage((vec![at_j], vec![at_c]), sum(first, f), (t, vec![j]), |_, s| s);
        let (left, right) = (b.load(y, vec![n, i, c]), b.load(z, vec![n, c, j]));
        let (own, factor) = (b.mul(left, right), b.load(t, vec![j]));
        let place = vec![n, i, j];
        b.reduce_stage((vec![at_i, at_j], vec![at_c]), sum(own, f), (out, place), |b, s| b.mul(s, factor));
        let kernel = b.finish();
        for rows in [0usize, 1, 3] {
            let env = move |_: &Symbol| Some(rows as i64);
            let inputs: Vec<Tensor> = types
                .iter()
                .enumerate()
                .map(|(seed, ty)| {
                    let dim = |d: &Dim| d.eval(&env).expect("one symbol") as usize;
                    let shape: Vec<usize> = ty.shape.iter().map(dim).collect();
                    let [outer, inner] = [shape[..shape.len() - 1].iter().product(), shape[shape.len() - 1]];
                    let flat = numbers([outer, inner], seed);
                    Tensor::from_bytes(f, shape, flat.bytes().to_vec().into()).expect("as many bytes")
                })
                .collect();
            assert!(agree(&kernel, &env, &inputs, 1e-3));
        }
    }
}

/// The rows of a product of narrow integers, less their largest elements.
fn narrow_product(rows: usize, depth: usize, width: usize, types: [DType; 2]) -> Kernel {
    let i = DType::I32;
    let ty = |dtype, shape: &[usize]| TensorType::new(dtype, shape.iter().copied());
    let mut b = Builder::new("narrow");
    let (x, w) = (b.input(&ty(types[0], &[rows, depth])), b.input(&ty(types[1], &[depth, width])));
    let out = b.output(&ty(i, &[rows, width]));
    let (y, top) = (b.temp(ty(i, &[width])), b.temp(ty(i, &[])));
    let (row, at_k, at_n) = (b.axis(rows), b.axis(depth), b.axis(width));
    b.kernel_mut().outer = vec![row];
    let (r, c, j) = (b.at(row), b.at(at_k), b.at(at_n));
    let (left, right) = (b.load(x, vec![r, c]), b.load(w, vec![c, j]));
    let (left, right) = (b.cast(i, left), b.cast(i, right));
    let product = b.mul(left, right);
    b.reduce_stage((vec![at_n], vec![at_k]), sum(product, i), (y, vec![j]), |_, s| s);
    let v = b.load(y, vec![j]);
    let largest = Acc { op: AccOp::Max, value: v, dtype: i };
    b.reduce_stage((vec![], vec![at_n]), largest, (top, vec![]), |_, a| a);
    let most = b.load(top, vec![]);
    let value = b.sub(v, most);
    b.map_stage(vec![at_n], out, vec![r, j], value);
    b.finish()
}

#[test]
fn products_of_narrow_integers_over_blocks_agree() {
    let integers = |dtype: DType, shape: [usize; 2], seed: usize| {
        let (lo, hi) = dtype.int_range().expect("integers");
        let value = |i: usize| lo + ((i * 7919 + seed * 104_729) as i128).rem_euclid(hi - lo + 1);
        Tensor::from_ints(dtype, shape.to_vec(), (0..shape[0] * shape[1]).map(value))
    };
    let host = Target::host().expect("a known host");
    for types in [[DType::U8, DType::I8], [DType::I16, DType::U8]] {
        for (rows, depth, width) in [(1, 8, 16), (4, 7, 16), (25, 521, 33), (49, 16, 40), (98, 5, 8)] {
            let kernel = narrow_product(rows, depth, width, types);
            let mut inputs =
                vec![integers(types[0], [rows, depth], 0), integers(types[1], [depth, width], 1)];
            let used = agree(&kernel, &none, &inputs, 0.0);
            assert_eq!(used, rows >= 4, "{rows} rows");
            // Weights are laid out ahead where pairs of them are multiplied.
            let packed = prepack(&kernel, &host, &|input| input == 1);
            assert_eq!(packed.is_some(), used && cfg!(target_arch = "x86_64"), "{rows} rows");
            if let Some(packed) = packed {
                inputs[1] = packed.layouts[0].1.apply(&inputs[1]);
                assert!(agree(&packed.kernel, &none, &inputs, 0.0));
            }
        }
    }
}
