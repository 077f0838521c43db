//! Kernels of several stages with matrix products of their own, against the interpreter.

use super::{Tolerance, compare, ramp, run};
use crate::lower::stages::Stages;
use crate::lower::{collapse, prepack};
use crate::target::Target;
use tcc_ir::kernel::interpret;
use tcc_ir::{DType, EvalCx, TensorType};
use tcc_passes::kernels::winograd::{PLACES, winograd};

/// A convolution of an image by tiles, with so many zeros above, left, below and right; its weights as they are and laid
/// out ahead.
fn check([n, c, m]: [i64; 3], [height, width]: [i64; 2], pads: [i64; 4]) {
    let [top, left, bottom, right] = pads;
    let x = TensorType::new(DType::F32, [n, c, height, width]);
    let u = TensorType::new(DType::F32, [PLACES, m, c]);
    let y = TensorType::new(DType::F32, [n, m, height + top + bottom - 2, width + left + right - 2]);
    let kernel = winograd(&x, &u, &y, [top, left]).expect("a kernel");
    let target = Target::host().expect("a known host");
    let usual = target.vector_bits > 0;
    if usual && c >= 4 && m >= 4 {
        assert!(Stages::of(&collapse::collapse(&kernel), &target).is_some(), "{c} {m} {height} {width}");
    }
    let shape = |ty: &TensorType| ty.static_shape().expect("known sizes");
    let inputs = vec![ramp(DType::F32, &shape(&x), 0.37), ramp(DType::F32, &shape(&u), 0.21)];
    let none = |_: &_| None;
    let cx = EvalCx::new(&none, &[], &|_, _| unreachable!("kernels have no regions"));
    let want = interpret(&kernel, &cx, &inputs).expect("interprets");
    let largest = want[0].floats().iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    let near = |_, _, want: f64, got: f64| {
        Tolerance::Relative(1e-5).allows(DType::F32, want, got) || (want - got).abs() < 1e-5 * largest
    };
    compare(&kernel, &want, &run(&kernel, &none, &inputs).expect("runs"), &near);
    let Some(packed) = prepack(&kernel, &target, &|input| input == 1) else { return };
    let mut laid_out = inputs;
    for (input, layout) in &packed.layouts {
        laid_out[*input] = layout.apply(&laid_out[*input]);
    }
    compare(&kernel, &want, &run(&packed.kernel, &none, &laid_out).expect("runs"), &near);
}

#[test]
fn convolutions_by_tiles_agree() {
    check([1, 8, 8], [8, 8], [1, 1, 1, 1]);
    check([2, 5, 7], [9, 31], [1, 1, 1, 1]);
    check([1, 16, 13], [33, 18], [0, 0, 0, 0]);
    check([1, 4, 6], [7, 7], [2, 0, 1, 3]);
    check([1, 40, 24], [28, 28], [1, 1, 1, 1]);
    check([3, 2, 3], [3, 1], [1, 1, 1, 1]);
    check([1, 530, 9], [6, 5], [1, 1, 1, 1]);
}
