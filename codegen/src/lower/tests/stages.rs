//! Kernels of several stages with matrix products of their own, against the interpreter.

use super::{Tolerance, compare, ramp, run};
use crate::lower::stages::Stages;
use crate::lower::{collapse, prepack};
use crate::target::Target;
use tcc_ir::kernel::interpret;
use tcc_ir::{DType, Dim, EvalCx, Symbol, TensorType};
use tcc_passes::Machine;
use tcc_passes::kernels::winograd::{FOUR, TWO, Tile, winograd};

/// A convolution of images, whose number isn't known ahead, with so many zeros above, left, below and right; its weights
/// as they are and laid out ahead.
fn check(tile: &'static Tile, [n, c, m]: [i64; 3], [height, width]: [i64; 2], pads: [i64; 4]) {
    let [top, left, bottom, right] = pads;
    let [to_height, to_width] = [height + top + bottom - 2, width + left + right - 2];
    let batch = Symbol::bounded("N", 0, None);
    let batch = Dim::from(batch);
    let ty = |first: Dim, rest: [i64; 3]| {
        TensorType::new(DType::F32, [first].into_iter().chain(rest.map(Dim::from)).collect::<Vec<_>>())
    };
    let x = ty(batch.clone(), [c, height, width]);
    let u = TensorType::new(DType::F32, [tile.places(), m, c]);
    let y = ty(batch, [m, to_height, to_width]);
    // As for a core, blocks are large; as for many, there are several.
    let machine = Machine { cores: 1 + (height % 3) as u32, ..Machine::default() };
    let kernel = winograd(tile, &machine, &x, &u, &y, [top, left]).expect("a kernel");
    let target = Target::host().expect("a known host");
    if target.vector_bits > 0 && c >= 4 && m >= 4 {
        assert!(Stages::of(&collapse::collapse(&kernel), &target).is_some(), "{c} {m} {height} {width}");
    }
    let sizes = |list: &[i64]| list.iter().map(|n| *n as usize).collect::<Vec<_>>();
    let inputs = vec![
        ramp(DType::F32, &sizes(&[n, c, height, width]), 0.37),
        ramp(DType::F32, &sizes(&[tile.places(), m, c]), 0.21),
    ];
    let env = |_: &Symbol| Some(n);
    let cx = EvalCx::new(&env, &[], &|_, _| unreachable!("kernels have no regions"));
    let want = interpret(&kernel, &cx, &inputs).expect("interprets");
    let largest = want[0].floats().iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    let near = |_, _, want: f64, got: f64| {
        Tolerance::Relative(1e-5).allows(DType::F32, want, got) || (want - got).abs() < 1e-5 * largest
    };
    compare(&kernel, &want, &run(&kernel, &env, &inputs).expect("runs"), &near);
    let Some(packed) = prepack(&kernel, &target, &|input| input == 1) else { return };
    let mut laid_out = inputs;
    for (input, layout) in &packed.layouts {
        laid_out[*input] = layout.apply(&laid_out[*input]);
    }
    compare(&kernel, &want, &run(&packed.kernel, &env, &laid_out).expect("runs"), &near);
}

#[test]
fn convolutions_by_tiles_agree() {
    for tile in [&TWO, &FOUR] {
        check(tile, [1, 8, 8], [8, 8], [1, 1, 1, 1]);
        check(tile, [2, 5, 7], [9, 31], [1, 1, 1, 1]);
        check(tile, [1, 16, 13], [33, 18], [0, 0, 0, 0]);
        check(tile, [1, 4, 6], [7, 7], [2, 0, 1, 3]);
        check(tile, [0, 4, 6], [7, 7], [0, 9, 5, 0]);
        check(tile, [1, 40, 24], [28, 28], [1, 1, 1, 1]);
        check(tile, [2, 2, 3], [3, 1], [1, 1, 1, 1]);
        check(tile, [1, 530, 9], [6, 5], [1, 1, 1, 1]);
        check(tile, [1, 1, 17], [61, 50], [1, 1, 1, 1]);
    }
}

/// All that tiles may be cut to, and blocks of one row and more.
#[test]
fn convolutions_by_tiles_agree_for_all_small_planes() {
    for n in 1..=13 {
        let tile = if n % 2 == 0 { &TWO } else { &FOUR };
        check(tile, [1, 9, 5], [n, 14 - n], [1, 1, 1, 1]);
        check(tile, [1, 6, 10], [14 - n, n + 2], [n % 3, 1, 2, (n + 1) % 4]);
    }
}
