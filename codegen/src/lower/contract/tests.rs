//! Matrix products and convolutions, as operators of a graph, against the kernel interpreter.

use crate::lower::tests::{agree, kernel_of};
use crate::target::Target;
use tcc_ir::kernel::{BufferKind, Kernel, interpret};
use tcc_ir::ops::{Cast, Contract, Conv, ConvTranspose, Reshape, Transpose};
use tcc_ir::{DType, Dim, EvalCx, Graph, Loc, Node, Op, Symbol, Tensor, TensorType, Type, ValueId};
use tcc_passes::kernels::compose::{Bound, append_consumer, inline_producer};
use tcc_passes::kernels::view_op;

fn values(dtype: DType, shape: &[usize], seed: usize) -> Tensor {
    let n: usize = shape.iter().product();
    let ints = (0..n).map(|i| ((i * 31 + seed * 17) % 19) as i128 - 9);
    if dtype.is_float() {
        Tensor::from_floats(dtype, shape.to_vec(), ints.map(|v| v as f64 * 0.125))
    } else {
        Tensor::from_ints(dtype, shape.to_vec(), ints)
    }
}

fn none(_: &Symbol) -> Option<i64> {
    None
}

fn check(op: impl Into<Op>, dtype: DType, shapes: &[&[usize]]) {
    let types: Vec<Type> = shapes.iter().map(|s| Type::tensor(dtype, s.iter().copied())).collect();
    let inputs: Vec<Tensor> = shapes.iter().enumerate().map(|(i, s)| values(dtype, s, i)).collect();
    agree(&kernel_of(op, &types), &none, &inputs, if dtype == DType::F16 { 2e-3 } else { 1e-5 });
}

fn matmul(out: DType) -> Contract {
    Contract { lhs_batch: vec![], rhs_batch: vec![], lhs: vec![1], rhs: vec![0], out }
}

#[test]
fn matrix_products_of_odd_sizes_agree() {
    for (m, k, n) in [(1, 1, 1), (4, 4, 8), (5, 7, 9), (6, 16, 16), (13, 33, 47), (7, 300, 17), (64, 5, 130)]
    {
        for dtype in [DType::F32, DType::F64, DType::I32, DType::F16] {
            check(matmul(dtype), dtype, &[&[m, k], &[k, n]]);
        }
    }
    // Sums wait in memory between blocks of k.
    for (m, k, n) in [(7, 513, 9), (13, 700, 40)] {
        check(matmul(DType::F32), DType::F32, &[&[m, k], &[k, n]]);
    }
    for (m, k, n) in [(0, 4, 8), (6, 0, 16), (6, 4, 0)] {
        check(matmul(DType::F32), DType::F32, &[&[m, k], &[k, n]]);
    }
}

#[test]
fn batched_and_transposed_products_agree() {
    let batched = Contract {
        lhs_batch: vec![0, 1],
        rhs_batch: vec![0, 1],
        lhs: vec![3],
        rhs: vec![2],
        out: DType::F32,
    };
    check(batched, DType::F32, &[&[2, 3, 7, 9], &[2, 3, 9, 20]]);
    let transposed =
        Contract { lhs_batch: vec![], rhs_batch: vec![], lhs: vec![0], rhs: vec![1], out: DType::F32 };
    check(transposed, DType::F32, &[&[33, 10], &[40, 33]]);
    let two =
        Contract { lhs_batch: vec![], rhs_batch: vec![], lhs: vec![1, 2], rhs: vec![0, 1], out: DType::F32 };
    check(two, DType::F32, &[&[9, 3, 5], &[3, 5, 24]]);
    let rank4 =
        Contract { lhs_batch: vec![0], rhs_batch: vec![0], lhs: vec![2], rhs: vec![3], out: DType::F32 };
    check(rank4, DType::F32, &[&[2, 10, 8], &[2, 5, 6, 8]]);
}

#[test]
fn symbolic_products_agree() {
    let dim = |n: &str| Dim::from(Symbol::new(n));
    let types =
        [Type::tensor(DType::F32, [dim("m"), dim("k")]), Type::tensor(DType::F32, [dim("k"), dim("n")])];
    let k = kernel_of(matmul(DType::F32), &types);
    for (m, kk, n) in
        [(1usize, 1usize, 1usize), (7, 19, 33), (6, 0, 5), (0, 3, 3), (100, 64, 16), (9, 600, 40)]
    {
        let env = move |s: &Symbol| {
            Some(match &*s.name {
                "m" => m,
                "k" => kk,
                _ => n,
            } as i64)
        };
        agree(&k, &env, &[values(DType::F32, &[m, kk], 0), values(DType::F32, &[kk, n], 1)], 1e-5);
    }
}

fn conv(
    strides: [usize; 2],
    dilations: [usize; 2],
    before: [i64; 2],
    after: [i64; 2],
    groups: usize,
) -> Conv {
    Conv {
        strides: strides.to_vec(),
        dilations: dilations.to_vec(),
        pads_before: before.map(Dim::from).to_vec(),
        pads_after: after.map(Dim::from).to_vec(),
        groups,
    }
}

#[test]
fn convolutions_agree() {
    let f = DType::F32;
    check(conv([1, 1], [1, 1], [0, 0], [0, 0], 1), f, &[&[1, 8, 7, 9], &[16, 8, 1, 1]]);
    check(conv([1, 1], [1, 1], [1, 1], [1, 1], 1), f, &[&[2, 3, 7, 9], &[10, 3, 3, 3]]);
    check(conv([2, 2], [1, 1], [3, 3], [3, 3], 1), f, &[&[1, 3, 20, 21], &[8, 3, 7, 7]]);
    check(conv([2, 1], [2, 3], [1, 0], [0, 2], 1), f, &[&[1, 4, 12, 13], &[5, 4, 3, 2]]);
    check(conv([1, 1], [1, 1], [1, 1], [1, 1], 4), f, &[&[1, 8, 6, 6], &[24, 2, 3, 3]]);
    check(conv([1, 2], [1, 1], [1, 1], [1, 1], 6), f, &[&[2, 6, 9, 70], &[6, 1, 3, 3]]);
    check(conv([1, 1], [1, 1], [-1, 0], [0, -1], 1), f, &[&[1, 2, 6, 6], &[4, 2, 3, 3]]);
    check(conv([1, 1], [1, 1], [1, 1], [1, 1], 1), f, &[&[1, 70, 5, 6], &[13, 70, 3, 3]]);
    check(conv([2, 2], [1, 1], [0, 1], [1, 0], 1), DType::I32, &[&[1, 60, 9, 8], &[5, 60, 3, 3]]);
    check(conv([1, 1], [1, 1], [1, 1], [1, 1], 1), f, &[&[1, 1, 9, 20], &[4, 1, 3, 3]]);
}

#[test]
fn convolutions_of_a_symbolic_batch_agree() {
    let batch = Dim::from(Symbol::new("b"));
    let x = Type::tensor(DType::F32, [batch, 3.into(), 7.into(), 9.into()]);
    let w = Type::tensor(DType::F32, [10i64, 3, 3, 3]);
    let k = kernel_of(conv([1, 1], [1, 1], [1, 1], [1, 1], 1), &[x, w]);
    for n in [0usize, 1, 3] {
        let inputs = [values(DType::F32, &[n, 3, 7, 9], 0), values(DType::F32, &[10, 3, 3, 3], 1)];
        agree(&k, &move |_| Some(n as i64), &inputs, 1e-5);
    }
}

/// Few columns share the rows out, many don't.
#[test]
fn convolutions_of_many_channels_and_a_symbolic_width_agree() {
    let width = Dim::from(Symbol::new("w"));
    for (channels, widths) in [(2usize, [1usize, 4, 900]), (103, [1, 4, 390])] {
        let x = Type::tensor(DType::F32, [1.into(), channels.into(), 1.into(), width.clone()]);
        let w = Type::tensor(DType::F32, [97usize, channels, 1, 5]);
        let k = kernel_of(conv([1, 1], [1, 1], [0, 2], [0, 2], 1), &[x, w]);
        for n in widths {
            let inputs =
                [values(DType::F32, &[1, channels, 1, n], 0), values(DType::F32, &[97, channels, 1, 5], 1)];
            agree(&k, &move |_| Some(n as i64), &inputs, 1e-5);
        }
    }
}

#[test]
fn depthwise_convolutions_of_a_symbolic_width_agree() {
    let width = Dim::from(Symbol::new("w"));
    let x = Type::tensor(DType::F32, [1.into(), 3.into(), 5.into(), width]);
    let w = Type::tensor(DType::F32, [6i64, 1, 3, 3]);
    let k = kernel_of(conv([1, 1], [1, 1], [1, 2], [1, 0], 3), &[x, w]);
    for n in [1usize, 2, 8, 21, 40] {
        let inputs = [values(DType::F32, &[1, 3, 5, n], 0), values(DType::F32, &[6, 1, 3, 3], 1)];
        agree(&k, &move |_| Some(n as i64), &inputs, 1e-5);
    }
}

#[test]
fn transposed_convolutions_agree() {
    for (stride, groups, padding) in [(1, 1, 0), (2, 1, 1), (3, 2, 0)] {
        let op = ConvTranspose {
            strides: vec![stride; 2],
            dilations: vec![1, 2],
            pads_before: vec![1.into(), 0.into()],
            pads_after: vec![0.into(), 1.into()],
            output_padding: vec![padding; 2],
            groups,
        };
        check(op, DType::F32, &[&[2, 4, 5, 6], &[4, 6 / groups, 3, 2]]);
    }
}

/// The kernel with both operands constant and laid out ahead does the same on the new layouts, in the interpreter
/// and compiled. Gives how many operands changed.
fn check_prepacked(op: impl Into<Op>, shapes: &[&[usize]]) -> usize {
    let types: Vec<Type> = shapes.iter().map(|s| Type::tensor(DType::F32, s.iter().copied())).collect();
    let plain: Vec<Tensor> = shapes.iter().enumerate().map(|(i, s)| values(DType::F32, s, i)).collect();
    let kernel = kernel_of(op, &types);
    let host = Target::host().expect("a known host");
    let Some(packed) = super::prepack(&kernel, &host, &|_| true) else { return 0 };
    let mut inputs = plain.clone();
    for (input, layout) in &packed.layouts {
        inputs[*input] = layout.apply(&plain[*input]);
        let ty = &packed.kernel.buffers[*input].ty;
        assert_eq!(*ty, TensorType::new(DType::F32, inputs[*input].shape().iter().map(|n| *n as i64)));
    }
    let cx = EvalCx::new(&none, &[], &|_, _| unreachable!("kernels have no regions"));
    let want = interpret(&kernel, &cx, &plain).expect("interprets");
    assert_eq!(interpret(&packed.kernel, &cx, &inputs).expect("interprets"), want);
    agree(&packed.kernel, &none, &inputs, 1e-5);
    packed.layouts.len()
}

#[test]
fn operands_laid_out_ahead_agree() {
    for (m, k, n) in [(4, 4, 8), (13, 33, 47), (9, 700, 40), (7, 513, 9)] {
        assert_eq!(check_prepacked(matmul(DType::F32), &[&[m, k], &[k, n]]), 2);
    }
    // Of few rows the columns alone.
    for m in [1, 2, 3] {
        for (k, n) in [(4, 8), (5, 9), (300, 63), (33, 64), (16, 65), (700, 130)] {
            assert_eq!(check_prepacked(matmul(DType::F32), &[&[m, k], &[k, n]]), 1, "{m} {k} {n}");
        }
    }
    let transposed =
        Contract { lhs_batch: vec![], rhs_batch: vec![], lhs: vec![0], rhs: vec![1], out: DType::F32 };
    assert_eq!(check_prepacked(transposed.clone(), &[&[33, 1], &[40, 33]]), 1);
    assert_eq!(check_prepacked(transposed, &[&[33, 10], &[40, 33]]), 2);
    let padded = conv([1, 1], [1, 1], [1, 1], [1, 1], 1);
    assert_eq!(check_prepacked(padded, &[&[1, 70, 5, 6], &[13, 70, 3, 3]]), 1);
    assert_eq!(check_prepacked(conv([1, 1], [1, 1], [0, 0], [0, 0], 1), &[&[2, 8, 7, 9], &[16, 8, 1, 1]]), 1);
    // The weights of groups depend on the group too.
    assert_eq!(check_prepacked(conv([1, 1], [1, 1], [1, 1], [1, 1], 4), &[&[1, 8, 6, 6], &[24, 2, 3, 3]]), 0);
}

/// The kernels of a graph's nodes.
fn kernels_of(g: &Graph) -> Vec<Bound<ValueId>> {
    let bound = |(_, node): (_, &Node)| {
        let view = || view_op(&node.op, g.ty(node.inputs[0]), g.ty(node.outputs[0]));
        let kernel = tcc_passes::kernels::describe(g, node).or_else(view).expect("a kernel");
        Bound { kernel, inputs: node.inputs.clone(), outputs: node.outputs.clone() }
    };
    g.nodes().map(bound).collect()
}

/// A matrix product whose columns are stored apart: as axes of these extents, in the order `perm` of rows and axes.
fn product_stored_apart([m, k]: [usize; 2], columns: &[usize], perm: &[usize]) -> Kernel {
    let mut g = Graph::new("g");
    let n: usize = columns.iter().product();
    let x = g.add_input("x", Type::tensor(DType::F32, [m, k]));
    let y = g.add_input("y", Type::tensor(DType::F32, [k, n]));
    let product = g.add1(matmul(DType::F32), &[x, y], &Loc::default()).expect("types fit");
    let dims = std::iter::once(&m).chain(columns).map(|d| Dim::from(*d)).collect();
    let apart = g.add1(Reshape { dims }, &[product], &Loc::default()).expect("as many elements");
    g.add(Transpose { perm: perm.to_vec() }, &[apart], &Loc::default()).expect("a permutation");
    let kernels = kernels_of(&g);
    let [product_kernel, reshape, transpose] = &kernels[..] else { unreachable!("three nodes") };
    let moved = inline_producer(transpose, reshape, apart).expect("two maps");
    append_consumer(product_kernel, &moved, product, true)
        .expect("each element goes to one place")
        .kernel
        .canonical()
}

#[test]
fn products_whose_columns_are_stored_apart_agree() {
    let check = |[m, k]: [usize; 2], columns: &[usize], perm: &[usize]| {
        let n = columns.iter().product();
        let inputs = [values(DType::F32, &[m, k], 0), values(DType::F32, &[k, n], 1)];
        agree(&product_stored_apart([m, k], columns, perm), &none, &inputs, 1e-5);
    };
    // Parts that are whole panels, and such that panels reach over.
    for part in [16, 48, 20] {
        for m in [1, 6, 13] {
            check([m, 33], &[3, part], &[1, 0, 2]);
            check([m, 33], &[2, 3, part], &[2, 1, 0, 3]);
        }
    }
    // Sums wait in memory between blocks of k.
    check([13, 700], &[3, 48], &[1, 0, 2]);
    check([13, 700], &[9, 16], &[1, 0, 2]);
    check([13, 700], &[3, 20], &[1, 0, 2]);
    check([4, 5], &[1, 16], &[1, 0, 2]);
}

/// The kernel of an operator on operands of 32 bits, which are widened from these types on the way.
fn widening_kernel(op: impl Into<Op>, operands: &[(DType, &[usize]); 2]) -> Kernel {
    let mut g = Graph::new("g");
    let mut add = |i: usize| {
        let (dtype, shape) = operands[i];
        let x = g.add_input(format!("x{i}"), Type::tensor(dtype, shape.iter().copied()));
        g.add1(Cast { to: DType::I32, saturate: true }, &[x], &Loc::default()).expect("widens")
    };
    let ins = [add(0), add(1)];
    g.add(op, &ins, &Loc::default()).expect("types fit");
    let kernels = kernels_of(&g);
    let [x, y, product] = &kernels[..] else { unreachable!("three nodes") };
    let both = inline_producer(product, x, ins[0]).and_then(|k| inline_producer(&k, y, ins[1]));
    both.expect("casts go into products").kernel.canonical()
}

/// All numbers of a type, its ends among them.
fn integers(dtype: DType, shape: &[usize], seed: usize) -> Tensor {
    let n: usize = shape.iter().product();
    let (lo, hi) = dtype.int_range().expect("integers");
    let mixed = |i: usize| ((i + seed) as i128).wrapping_mul(0x9e37_79b9) >> 7;
    let ints = (0..n).map(|i| match i % 11 {
        0 => lo,
        5 => hi,
        _ => lo + mixed(i).rem_euclid(hi - lo + 1),
    });
    Tensor::from_ints(dtype, shape.to_vec(), ints)
}

/// How many operands are laid out for a product of integers of few bits: columns, where pairs are multiplied.
const IN_PAIRS: usize = cfg!(target_arch = "x86_64") as usize;

/// Products of 16-bit pairs are what the kernel does, and laid out ahead too. Gives how many operands were laid out.
fn check_narrow(op: impl Into<Op>, operands: &[(DType, &[usize]); 2]) -> usize {
    let kernel = widening_kernel(op, operands);
    let inputs = [0, 1].map(|i| integers(operands[i].0, operands[i].1, i));
    let by_input: Vec<Tensor> = kernel
        .buffers_of(BufferKind::Input)
        .map(|(_, b)| inputs.iter().find(|t| t.dtype() == b.ty.dtype).expect("types differ").clone())
        .collect();
    agree(&kernel, &none, &by_input, 0.0);
    let host = Target::host().expect("a known host");
    let Some(packed) = super::prepack(&kernel, &host, &|_| true) else { return 0 };
    let mut laid_out = by_input;
    for (input, layout) in &packed.layouts {
        laid_out[*input] = layout.apply(&laid_out[*input]);
    }
    agree(&packed.kernel, &none, &laid_out, 0.0);
    packed.layouts.len()
}

#[test]
fn products_of_narrow_integers_agree() {
    use DType::{I8, I16, U8};
    let sizes = [
        ((4, 4, 8), (U8, I8)),
        ((5, 7, 9), (I8, U8)),
        ((13, 33, 47), (U8, I8)),
        ((64, 5, 130), (I16, I8)),
        ((7, 1025, 9), (U8, I16)),
        ((12, 1500, 40), (U8, I8)),
        ((3, 64, 16), (U8, I8)),
        ((7, 9, 24), (DType::U4, DType::I4)),
    ];
    for ((m, k, n), types) in sizes {
        let laid_out = check_narrow(matmul(DType::I32), &[(types.0, &[m, k]), (types.1, &[k, n])]);
        // Few rows aren't done in pairs.
        assert_eq!(laid_out, if m < 4 { 0 } else { IN_PAIRS }, "{m} {k} {n}");
    }
    // Two products of the lowest number wrap when they are added.
    let mut kernel = widening_kernel(matmul(DType::I32), &[(I16, &[6, 8]), (I8, &[8, 16])]);
    let operands = kernel.buffers.iter_mut().filter(|b| b.kind == BufferKind::Input);
    let lowest = operands.map(|b| {
        b.ty.dtype = I16;
        let shape = b.ty.static_shape().expect("a constant shape");
        let n = shape.iter().product();
        Tensor::from_ints(I16, shape, vec![i128::from(i16::MIN); n])
    });
    let lowest: Vec<Tensor> = lowest.collect();
    agree(&kernel, &none, &lowest, 0.0);

    let transposed = Contract { rhs: vec![1], ..matmul(DType::I32) };
    assert_eq!(check_narrow(transposed, &[(U8, &[10, 33]), (I8, &[40, 33])]), IN_PAIRS);
    let batched =
        Contract { lhs_batch: vec![0], rhs_batch: vec![0], lhs: vec![2], rhs: vec![1], out: DType::I32 };
    // Each batch has columns of its own, which are laid out one after the other.
    assert_eq!(check_narrow(batched, &[(I16, &[3, 9, 21]), (U8, &[3, 21, 18])]), IN_PAIRS);
}

#[test]
fn convolutions_of_narrow_integers_agree() {
    use DType::{I8, I16, U8};
    let cases: [(Conv, &[usize], &[usize]); 6] = [
        (conv([1, 1], [1, 1], [0, 0], [0, 0], 1), &[1, 8, 7, 9], &[16, 8, 1, 1]),
        (conv([1, 1], [1, 1], [1, 1], [1, 1], 1), &[2, 3, 7, 9], &[10, 3, 3, 3]),
        (conv([2, 2], [1, 1], [3, 3], [3, 3], 1), &[1, 3, 20, 21], &[8, 3, 7, 7]),
        (conv([1, 1], [1, 1], [1, 1], [1, 1], 4), &[1, 8, 6, 6], &[24, 2, 3, 3]),
        (conv([1, 1], [1, 1], [1, 1], [1, 1], 1), &[1, 130, 5, 6], &[13, 130, 3, 3]),
        (conv([1, 2], [1, 1], [1, 1], [1, 1], 6), &[2, 6, 9, 70], &[6, 1, 3, 3]),
    ];
    for (i, (op, x, w)) in cases.into_iter().enumerate() {
        // The weights are rows, which aren't laid out for pairs.
        let laid_out = check_narrow(op, &[(if i % 2 == 0 { U8 } else { I16 }, x), (I8, w)]);
        assert_eq!(laid_out, 0, "convolution {i}");
    }
}
