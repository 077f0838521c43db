//! Lowered kernels against the kernel interpreter, on the machine that the tests run on.

mod blocks;
mod nests;
mod scalars;
mod stages;
mod targets;
mod windows;

use super::{Span, lower};
use crate::mlir::Session;
use crate::{Emit, OptLevel, Options, Target, compile_in};
use std::ops::Range;
use tcc_ir::kernel::{Acc, AccOp, AxisId, BufferKind, Builder, Kernel, interpret};
use tcc_ir::ops::{BinaryKind, UnaryKind};
use tcc_ir::{DType, Dim, EvalCx, Graph, Loc, Op, Symbol, Tensor, TensorType, Type};

/// Memory that machine code was copied to.
struct Code(*mut libc::c_void, usize);

impl Code {
    fn map(bytes: &[u8]) -> Code {
        // SAFETY: a fresh private mapping, written before it is made executable.
        unsafe {
            let len = bytes.len().max(1);
            let at = libc::mmap(
                std::ptr::null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            assert_ne!(at, libc::MAP_FAILED);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), at.cast(), bytes.len());
            assert_eq!(libc::mprotect(at, len, libc::PROT_READ | libc::PROT_EXEC), 0);
            Code(at, len)
        }
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `map`.
        unsafe { libc::munmap(self.0, self.1) };
    }
}

type Entry = unsafe extern "C" fn(*const *mut u8, *const i64, i64, i64, *mut u8) -> i32;

thread_local! {
    /// Contexts are costly; one a test thread is enough.
    static SESSION: Session = Session::new();
}

/// Compiles and runs a kernel; every tile in a call of its own.
pub fn run(
    kernel: &Kernel,
    env: &dyn Fn(&Symbol) -> Option<i64>,
    inputs: &[Tensor],
) -> Result<Vec<Tensor>, i32> {
    run_on(&Target::host().expect("a known host"), OptLevel::Fast, kernel, env, inputs)
}

/// As `run`, compiled for a target that this machine can run, with the optimisation that the test is about.
pub fn run_on(
    target: &Target,
    opt: OptLevel,
    kernel: &Kernel,
    env: &dyn Fn(&Symbol) -> Option<i64>,
    inputs: &[Tensor],
) -> Result<Vec<Tensor>, i32> {
    let lowered = lower(kernel, "k", target);
    let text = crate::mlir::module_text("", std::slice::from_ref(&lowered.function), target.index_bits);
    let artifacts = SESSION
        .with(|session| {
            compile_in(session, &text, target, &Options { emit: &[Emit::Image], opt, verify: true })
        })
        .unwrap_or_else(|e| panic!("{e}\n{text}"));
    let image = artifacts.image.expect("asked for");
    let code = Code::map(&image.bytes);
    let eval = |d: &Dim| d.eval(env).expect("all symbols are bound");
    let mut outputs: Vec<(DType, Vec<usize>, Vec<u8>)> = kernel
        .buffers_of(BufferKind::Output)
        .map(|(_, b)| {
            let shape: Vec<usize> = b.ty.shape.iter().map(|d| eval(d) as usize).collect();
            let bytes = shape.iter().product::<usize>() * b.ty.dtype.size();
            (b.ty.dtype, shape, vec![0xab; bytes + 64])
        })
        .collect();
    let copies: Vec<Vec<u8>> = inputs.iter().map(|t| [t.bytes(), &[0; 64]].concat()).collect();
    let dims: Vec<i64> = lowered.dims.iter().map(eval).collect();
    let mut scratch = vec![0u8; eval(&lowered.scratch) as usize + 64];
    let align = scratch.as_ptr().align_offset(64);
    let tiles = eval(&lowered.tiles);
    // SAFETY: the image's entry has this signature; buffers have the sizes that the kernel states.
    let entry: Entry = unsafe { std::mem::transmute(code.0.cast::<u8>().add(image.entries["k"] as usize)) };
    let calls: Vec<(i64, i64)> =
        if lowered.serial { vec![(0, tiles)] } else { (0..tiles).map(|t| (t, t + 1)).collect() };
    for (begin, end) in calls {
        // What a tile is said not to touch holds nonsense, and stays as it is.
        let touched = |operand: usize, bytes: &[u8]| -> Range<usize> {
            let span = lowered.spans.get(operand).and_then(|span| span.as_ref());
            let Some(Span { tiles, step, len }) = span else { return 0..bytes.len() };
            let at = |tile: i64| tile / eval(tiles) * eval(step);
            let end = (at(end - 1) + eval(len)) as usize;
            (at(begin) as usize).min(bytes.len())..end.min(bytes.len())
        };
        let mut seen: Vec<Vec<u8>> = Vec::new();
        for (operand, bytes) in copies.iter().enumerate() {
            let mut poisoned = vec![0xff; bytes.len()];
            let part = touched(operand, bytes);
            poisoned[part.clone()].copy_from_slice(&bytes[part]);
            seen.push(poisoned);
        }
        let before: Vec<Vec<u8>> = outputs.iter().map(|output| output.2.clone()).collect();
        let ins = seen.iter_mut().map(|bytes| bytes.as_mut_ptr());
        let pointers: Vec<*mut u8> = ins.chain(outputs.iter_mut().map(|o| o.2.as_mut_ptr())).collect();
        // SAFETY: as above.
        let fault =
            unsafe { entry(pointers.as_ptr(), dims.as_ptr(), begin, end, scratch.as_mut_ptr().add(align)) };
        if fault != 0 {
            return Err(fault);
        }
        for (at, (before, (.., after))) in before.iter().zip(&outputs).enumerate() {
            let part = touched(copies.len() + at, after);
            assert_eq!(before[..part.start], after[..part.start], "tile {begin} wrote before its span");
            assert_eq!(before[part.end..], after[part.end..], "tile {begin} wrote behind its span");
        }
    }
    Ok(outputs
        .into_iter()
        .map(|(dtype, shape, mut bytes)| {
            assert!(bytes[bytes.len() - 64..].iter().all(|b| *b == 0xab), "wrote past the end");
            bytes.truncate(bytes.len() - 64);
            Tensor::from_bytes(dtype, shape, bytes.into()).expect("sized")
        })
        .collect())
}

/// How far results may be from the interpreter's.
#[derive(Clone, Copy)]
pub enum Tolerance {
    /// Relative to the larger magnitude.
    Relative(f64),
    /// Units in the last place; of types narrower than f32: one at most.
    Ulps(f64),
}

impl Tolerance {
    pub fn allows(self, dtype: DType, want: f64, got: f64) -> bool {
        if want == got || (want.is_nan() && got.is_nan()) {
            return true;
        }
        let limit = match self {
            Tolerance::Relative(r) => r * want.abs().max(got.abs()).max(1e-30),
            Tolerance::Ulps(n) if dtype == DType::F64 => n * f64::EPSILON * want.abs() + 1e-323,
            Tolerance::Ulps(n) if dtype == DType::F32 => n * f64::from(f32::EPSILON) * want.abs() + 3e-45,
            // The neighbours of a number of a few bits: nothing of the type lies between.
            Tolerance::Ulps(n) if n > 0.0 && dtype.is_float() => {
                let between = dtype.round_float((want + got) / 2.0);
                return between == want || between == got;
            }
            Tolerance::Ulps(_) => 0.0,
        };
        (want - got).abs() <= limit
    }
}

/// The kernel of one operator.
pub fn kernel_of(op: impl Into<Op>, types: &[Type]) -> Kernel {
    let mut g = Graph::new("g");
    let ins: Vec<_> =
        types.iter().enumerate().map(|(i, t)| g.add_input(format!("x{i}"), t.clone())).collect();
    g.add(op, &ins, &Loc::default()).expect("types fit");
    let (_, node) = g.nodes().next().expect("one node");
    tcc_passes::kernels::describe(&g, node).expect("a kernel")
}

/// Runs both ways and compares: integers exactly, floats within `tolerance` relative to the larger magnitude.
pub fn agree(kernel: &Kernel, env: &dyn Fn(&Symbol) -> Option<i64>, inputs: &[Tensor], tolerance: f64) {
    agree_within(OptLevel::Fast, kernel, env, inputs, Tolerance::Relative(tolerance));
}

/// Runs both ways and compares; integers have to be equal.
pub fn agree_within(
    opt: OptLevel,
    kernel: &Kernel,
    env: &dyn Fn(&Symbol) -> Option<i64>,
    inputs: &[Tensor],
    tolerance: Tolerance,
) {
    let cx = EvalCx::new(env, &[], &|_, _| unreachable!("kernels have no regions"));
    let want = interpret(kernel, &cx, inputs).expect("interprets");
    let host = Target::host().expect("a known host");
    let got = run_on(&host, opt, kernel, env, inputs).expect("runs");
    compare(kernel, &want, &got, &|dtype, _, want, got| tolerance.allows(dtype, want, got));
    crate::gpu::tests::agree(kernel, env, inputs, &want, tolerance);
}

/// Integers have to be equal; whether two floats at a place agree is what `near` says.
pub fn compare(
    kernel: &Kernel,
    want: &[Tensor],
    got: &[Tensor],
    near: &dyn Fn(DType, usize, f64, f64) -> bool,
) {
    for (output, (w, g)) in want.iter().zip(got).enumerate() {
        assert_eq!(w.shape(), g.shape());
        let dtype = w.dtype();
        if !dtype.is_float() {
            assert_eq!(
                w.ints(),
                g.ints(),
                "{}, output {output}, of {:?}",
                kernel.name,
                kernel.stages[0].stores.get(output)
            );
            continue;
        }
        for (i, (a, b)) in w.floats().iter().zip(g.floats()).enumerate() {
            let what = kernel.stages.last().and_then(|s| s.stores.get(output)).map(|s| kernel.expr(s.value));
            assert!(
                near(dtype, i, *a, b),
                "{} output {output} ({what:?}) at {i}: {b:e} instead of {a:e}",
                kernel.name
            );
        }
    }
}

fn no_symbols(_: &Symbol) -> Option<i64> {
    None
}

/// A map of one operand.
fn map1(
    x: TensorType,
    out: DType,
    f: impl FnOnce(&mut Builder, tcc_ir::kernel::ExprId) -> tcc_ir::kernel::ExprId,
) -> Kernel {
    let mut b = Builder::new("map");
    let input = b.input(&x);
    let output = b.output(&TensorType { dtype: out, shape: x.shape.clone() });
    let axes = b.axes(&x.shape);
    let index = b.all(&axes);
    let v = b.load(input, index.clone());
    let y = f(&mut b, v);
    b.map_stage(axes, output, index, y);
    b.finish()
}

fn ramp(dtype: DType, shape: &[usize], scale: f64) -> Tensor {
    let n: usize = shape.iter().product();
    let values = (0..n).map(|i| ((i * 7 + 3) % 23) as f64 * scale - 11.0 * scale);
    if dtype.is_float() {
        Tensor::from_floats(dtype, shape.to_vec(), values)
    } else {
        Tensor::from_ints(dtype, shape.to_vec(), values.map(|v| v as i128))
    }
}

#[test]
fn maps_of_every_float_type_round_as_the_interpreter_does() {
    for dtype in DType::all().filter(|d| d.is_float()) {
        let k = map1(TensorType::new(dtype, [3i64, 37]), dtype, |b, v| {
            let s = b.add(v, v);
            b.mul(s, v)
        });
        agree(&k, &no_symbols, &[ramp(dtype, &[3, 37], 0.37)], 0.0);
    }
}

#[test]
fn casts_between_all_types_agree() {
    let specials = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        1.5,
        2.5,
        -2.5,
        127.5,
        128.0,
        255.0,
        300.0,
        -129.0,
        65504.0,
        65520.0,
        1e10,
        -1e10,
        1e-8,
        6.1e-5,
        3e-5,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    let types: Vec<DType> =
        DType::all().filter(|d| d.is_float() || d.is_int() || *d == DType::Bool).collect();
    for from in &types {
        let x = if from.is_float() {
            Tensor::from_floats(*from, vec![specials.len()], specials)
        } else {
            Tensor::from_ints(*from, vec![specials.len()], specials.map(|v| v as i128))
        };
        // One kernel casts to every type.
        let mut b = Builder::new(format!("cast_from_{from}"));
        let ty = TensorType::new(*from, [specials.len()]);
        let input = b.input(&ty);
        let axes = b.axes(&ty.shape);
        let index = b.all(&axes);
        let v = b.load(input, index.clone());
        let stores = types
            .iter()
            .map(|to| {
                let buffer = b.output(&TensorType { dtype: *to, shape: ty.shape.clone() });
                let value = b.cast(*to, v);
                tcc_ir::kernel::Store { buffer, index: index.clone(), value, update: None, guard: None }
            })
            .collect();
        b.stage(tcc_ir::kernel::Stage { axes, stores, ..Default::default() });
        agree(&b.finish(), &no_symbols, &[x], 0.0);
    }
}

#[test]
fn softmax_with_symbolic_sizes_agrees() {
    let (n, m): (Dim, Dim) = (Symbol::new("n").into(), Symbol::new("m").into());
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
        |_, a| a,
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
        |_, a| a,
    );
    let e = shifted(&mut b, c[2]);
    let total = b.load(sum, vec![]);
    let q = b.binary(BinaryKind::Div, e, total);
    b.map_stage(vec![cols[2]], y, vec![r, c[2]], q);
    let k = b.finish();
    for (n, m) in [(3usize, 37usize), (1, 1), (0, 5), (4, 0)] {
        let env = move |s: &Symbol| Some(if &*s.name == "n" { n as i64 } else { m as i64 });
        agree(&k, &env, &[ramp(f, &[n, m], 0.9)], 1e-6);
    }
}

#[test]
fn reductions_over_either_axis_agree() {
    for op in [
        AccOp::Sum,
        AccOp::Prod,
        AccOp::Max,
        AccOp::Min,
        AccOp::ArgMax { last: false },
        AccOp::ArgMin { last: true },
    ] {
        for dtype in [DType::F32, DType::F64, DType::F16, DType::I32, DType::U8, DType::I64] {
            for over in [0usize, 1] {
                let shape = [5usize, 70];
                let mut b = Builder::new(format!("reduce_{}_{dtype}_{over}", op.name()));
                let x = b.input(&TensorType::new(dtype, shape.map(|n| n as i64)));
                let out = if op.is_arg() { DType::I64 } else { dtype };
                let y = b.output(&TensorType::new(out, [shape[1 - over] as i64]));
                let axes = b.axes(&shape.map(Dim::from));
                let index = b.all(&axes);
                let v = b.load(x, index.clone());
                let acc = Acc { op, value: v, dtype };
                b.reduce_stage(
                    (vec![axes[1 - over]], vec![axes[over]]),
                    acc,
                    (y, vec![index[1 - over]]),
                    |_, a| a,
                );
                agree(
                    &b.finish(),
                    &no_symbols,
                    &[ramp(dtype, &shape, 1.3)],
                    1e-3 * f64::from(u8::from(dtype.is_float())),
                );
            }
        }
    }
}

/// `y[j] = x[i[j]]` of four elements, where every index is checked.
pub(crate) fn checked_gather() -> Kernel {
    let mut b = Builder::new("gather");
    let x = b.input(&TensorType::new(DType::F32, [4i64]));
    let i = b.input(&TensorType::new(DType::I64, [3i64]));
    let y = b.output(&TensorType::new(DType::F32, [3i64]));
    let axes = b.axes(&[3i64.into()]);
    let at = b.all(&axes);
    let index = b.load(i, at.clone());
    let ok = b.in_range(index, &4i64.into());
    let index = b.expr(tcc_ir::kernel::Scalar::Check { cond: ok, value: index });
    let v = b.load(x, vec![index]);
    b.map_stage(axes, y, at, v);
    b.finish()
}

#[test]
fn an_index_out_of_range_is_a_fault() {
    let k = checked_gather();
    let x = ramp(DType::F32, &[4], 1.0);
    agree(&k, &no_symbols, &[x.clone(), Tensor::from_i64s(&[3, 0, 2])], 0.0);
    assert_eq!(run(&k, &no_symbols, &[x, Tensor::from_i64s(&[3, 4, 2])]), Err(1));
}
