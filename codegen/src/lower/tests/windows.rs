//! Sliding windows against the kernel interpreter: one channel's at a time, of shapes where windows pass the ends.

use super::{agree, kernel_of, no_symbols, ramp};
use crate::lower::collapse;
use crate::lower::planes::Planes;
use crate::target::Target;
use tcc_ir::kernel::{BufferKind, Builder, ExprId, Kernel, Scalar, Store};
use tcc_ir::ops::{Conv, UnaryKind, Window, WindowKind};
use tcc_ir::{DType, Dim, Symbol, Tensor, TensorType, Type};

/// How windows of so many places slide along an axis of so many.
#[derive(Clone, Copy)]
struct Along {
    n: usize,
    size: usize,
    stride: usize,
    dilation: usize,
    pads: [i64; 2],
}

fn along(n: usize, size: usize, stride: usize, dilation: usize, pads: [i64; 2]) -> Along {
    Along { n, size, stride, dilation, pads }
}

fn all<T>(axes: &[Along], of: fn(&Along) -> T) -> Vec<T> {
    axes.iter().map(of).collect()
}

/// A convolution of each channel alone; sizes of the image may be symbols, which stand for those of `axes`.
fn depthwise(dtype: DType, channels: usize, axes: &[Along], sizes: &[Dim]) -> Kernel {
    let op = Conv {
        strides: all(axes, |a| a.stride),
        dilations: all(axes, |a| a.dilation),
        pads_before: all(axes, |a| a.pads[0].into()),
        pads_after: all(axes, |a| a.pads[1].into()),
        groups: channels,
    };
    let image = [&[sizes[0].clone(), channels.into()], &sizes[1..]].concat();
    let weights = [vec![channels, 1], all(axes, |a| a.size)].concat();
    kernel_of(op, &[Type::tensor(dtype, image), Type::tensor(dtype, weights)])
}

fn pooling(kind: WindowKind, dtype: DType, axes: &[Along], sizes: &[Dim]) -> Kernel {
    let op = Window {
        kind,
        window: all(axes, |a| a.size),
        strides: all(axes, |a| a.stride),
        dilations: all(axes, |a| a.dilation),
        pads_before: all(axes, |a| a.pads[0].into()),
        pads_after: all(axes, |a| a.pads[1].into()),
    };
    let image = [&[sizes[0].clone(), 3.into()], &sizes[1..]].concat();
    kernel_of(op, &[Type::tensor(dtype, image)])
}

fn known(batch: usize, axes: &[Along]) -> Vec<Dim> {
    [vec![batch.into()], all(axes, |a| Dim::from(a.n))].concat()
}

fn slides(kernel: &Kernel) -> bool {
    let target = Target::host().expect("a known host");
    target.vector_bits == 0 || Planes::of(&collapse::collapse(kernel), &target).is_some()
}

fn inputs(kernel: &Kernel, env: &dyn Fn(&Symbol) -> Option<i64>) -> Vec<Tensor> {
    let ins = kernel.buffers_of(BufferKind::Input).enumerate();
    ins.map(|(i, (_, b))| {
        let shape: Vec<usize> = b.ty.shape.iter().map(|d| d.eval(env).expect("bound") as usize).collect();
        ramp(b.ty.dtype, &shape, [0.25, 0.5, 1.0][i])
    })
    .collect()
}

fn check(kernel: &Kernel, tolerance: f64) {
    agree(kernel, &no_symbols, &inputs(kernel, &no_symbols), tolerance);
}

/// Shapes where something passes an end or is left over.
const PLANES: [[Along; 2]; 15] = {
    const fn axis(n: usize, size: usize, stride: usize, dilation: usize, before: i64, after: i64) -> Along {
        Along { n, size, stride, dilation, pads: [before, after] }
    }
    const fn both(
        n: usize,
        size: usize,
        stride: usize,
        dilation: usize,
        before: i64,
        after: i64,
    ) -> [Along; 2] {
        [axis(n, size, stride, dilation, before, after); 2]
    }
    [
        both(1, 3, 1, 1, 1, 1),
        both(4, 3, 1, 1, 1, 1),
        both(7, 3, 1, 1, 1, 1),
        both(7, 5, 1, 1, 2, 2),
        both(8, 3, 2, 1, 0, 1),
        both(15, 5, 2, 1, 2, 2),
        both(17, 3, 3, 1, 1, 1),
        both(14, 4, 3, 1, 2, 0),
        both(9, 3, 1, 4, 4, 4),
        both(20, 3, 2, 3, 3, 1),
        // The window is larger than the image, and more than it is padding.
        both(4, 9, 1, 1, 4, 4),
        both(3, 2, 1, 1, 3, 3),
        // The axis that isn't the last is cut into blocks, of which the last one is short.
        [axis(71, 3, 1, 1, 1, 1), axis(90, 2, 1, 1, 0, 1)],
        [axis(41, 3, 2, 1, 0, 0), axis(201, 3, 2, 1, 0, 0)],
        [axis(50, 2, 1, 1, 0, 0), axis(90, 8, 1, 1, 0, 0)],
    ]
};

#[test]
fn convolutions_of_single_channels_agree() {
    for axes in PLANES {
        check(&depthwise(DType::F32, 3, &axes, &known(2, &axes)), 1e-5);
    }
    for axes in &PLANES[3..8] {
        for dtype in [DType::F64, DType::F16, DType::I32] {
            let tolerance = if dtype == DType::F16 { 2e-3 } else { 1e-5 };
            check(&depthwise(dtype, 2, axes, &known(1, axes)), tolerance);
        }
    }
    let axes = [along(7, 3, 1, 1, [1, 1]); 2];
    for (batch, channels) in [(0, 3), (1, 2), (1, 16)] {
        check(&depthwise(DType::F32, channels, &axes, &known(batch, &axes)), 1e-5);
    }
}

#[test]
fn overlapping_pools_agree() {
    for axes in PLANES {
        check(&pooling(WindowKind::Max, DType::F32, &axes, &known(1, &axes)), 0.0);
    }
    for axes in &PLANES[3..8] {
        for (kind, dtype) in [
            (WindowKind::Sum, DType::F32),
            (WindowKind::Max, DType::I8),
            (WindowKind::Sum, DType::F16),
            (WindowKind::ArgMax, DType::F32),
        ] {
            check(&pooling(kind, dtype, axes, &known(1, axes)), 1e-3);
        }
    }
}

#[test]
fn windows_in_one_and_three_dimensions_agree() {
    let line = |n| [along(n, 5, 1, 1, [2, 2])];
    let (short, long) = (line(37), line(20_000));
    assert!(slides(&depthwise(DType::F32, 3, &short, &known(2, &short))));
    assert!(!slides(&depthwise(DType::F32, 3, &long, &known(2, &long))));
    let cube = [along(9, 3, 1, 1, [1, 1]), along(6, 3, 2, 1, [1, 1]), along(11, 2, 1, 2, [0, 1])];
    assert!(slides(&depthwise(DType::F32, 3, &cube, &known(1, &cube))));
    for axes in [&short[..], &long, &cube] {
        check(&depthwise(DType::F32, 3, axes, &known(2, axes)), 1e-5);
        check(&pooling(WindowKind::Max, DType::F32, axes, &known(1, axes)), 1e-5);
    }
}

#[test]
fn windows_over_sizes_that_are_not_known_agree() {
    let symbol = |name: &str| Dim::from(Symbol::new(name));
    let sizes = [symbol("n"), symbol("h"), symbol("w")];
    for (size, stride, pads) in [(3usize, 1usize, [1i64, 1i64]), (3, 2, [1, 1]), (5, 2, [2, 1])] {
        let axes = [along(0, size, stride, 1, pads); 2];
        let kernels =
            [depthwise(DType::F32, 3, &axes, &sizes), pooling(WindowKind::Max, DType::F32, &axes, &sizes)];
        for kernel in kernels {
            assert!(slides(&kernel));
            for [n, h, w] in [[2i64, 7, 7], [1, 60, 33], [0, 7, 7], [1, 3, 140]] {
                let env = move |s: &Symbol| {
                    Some(match &*s.name {
                        "n" => n,
                        "h" => h,
                        _ => w,
                    })
                };
                agree(&kernel, &env, &inputs(&kernel, &env), 1e-5);
            }
        }
    }
}

/// Stores functions of the sum: alone, beside an element of the result's place, and under a guard.
fn with_functions(kernel: Kernel) -> Kernel {
    let mut b = Builder::resume(kernel);
    let first = b.kernel().stages[0].stores[0].clone();
    let ty = b.kernel().buffer(first.buffer).ty.clone();
    let beside = b.input(&ty);
    let sum = first.value;
    let sigmoid = b.unary(UnaryKind::Sigmoid, sum);
    let gated = b.mul(sum, sigmoid);
    let element = b.load(beside, first.index.clone());
    let moved = b.add(gated, element);
    let column = *first.index.last().expect("an axis");
    let two = b.int(2);
    let guard = b.expr(Scalar::Compare(tcc_ir::Cmp::Ge, column, two));
    let also = |b: &mut Builder, value: ExprId| {
        let buffer = b.output(&TensorType::new(DType::F32, ty.shape.clone()));
        Store { buffer, index: first.index.clone(), value, update: None, guard: None }
    };
    let others = [also(&mut b, gated), also(&mut b, moved)];
    let zeroed = also(&mut b, sum);
    let some = Store { guard: Some(guard), value: moved, ..zeroed.clone() };
    let stores = &mut b.kernel_mut().stages[0].stores;
    stores.extend(others);
    stores.extend([zeroed, some]);
    b.finish()
}

#[test]
fn functions_behind_windows_agree() {
    for axes in PLANES {
        check(&with_functions(depthwise(DType::F32, 2, &axes, &known(1, &axes))), 1e-5);
    }
}

/// What windows slide over may be computed: once for each place then.
#[test]
fn windows_over_functions_agree() {
    let axes = [along(19, 3, 2, 1, [1, 1]); 2];
    let mut kernel = depthwise(DType::F32, 3, &axes, &known(1, &axes));
    let Scalar::Binary(_, weight, element) = *kernel.expr(kernel.stages[0].accs[0].value) else {
        unreachable!("a product")
    };
    let mut b = Builder::resume(kernel.clone());
    let function = b.unary(UnaryKind::Tanh, element);
    let value = b.mul(weight, function);
    kernel = b.finish();
    kernel.stages[0].accs[0].value = value;
    assert!(slides(&kernel));
    // Sums that come near zero have lost the last digits of the functions.
    check(&kernel, 1e-3);
}
