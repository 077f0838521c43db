//! Kernels on GPUs. What the tests of CPUs run goes through [`agree`] here as well: values on a Vulkan device (Mesa's
//! driver for CPUs is one), and Nvidia's assembler over the PTX where `TCC_PTXAS` names it.

use super::{lower, module_text};
use crate::lower::tests::{Tolerance, checked_gather, compare};
use crate::program::{self, tests::run_package};
use crate::{Emit, OptLevel, Options, Target, compile_module};
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use tcc_ir::kernel::{Acc, AccOp, BufferKind, Builder, Kernel};
use tcc_ir::ops::{BinaryKind, KernelOp, UnaryKind};
use tcc_ir::{DType, Dim, Graph, Loc, Symbol, Tensor, TensorType, Type, Value};

/// Holds a kernel on GPUs against what it must give.
pub fn agree(
    kernel: &Kernel,
    env: &dyn Fn(&Symbol) -> Option<i64>,
    inputs: &[Tensor],
    want: &[Tensor],
    tolerance: Tolerance,
) {
    assemble(kernel);
    match lower(kernel, "k", &Target::named("spirv").expect("a target")) {
        // Said in the target's error, and nothing to run.
        Err(reason) if reason.contains("128 bits") => return,
        lowered => assert!(lowered.is_ok(), "{}: {lowered:?}", kernel.name),
    }
    let Some(got) = run(kernel, env, inputs) else { return };
    let got = got.unwrap_or_else(|error| panic!("{}: {error}", kernel.name));
    compare(kernel, want, &got, &|dtype, at, want, got| {
        tolerance.allows(dtype, want, got) || subnormal(dtype, at, want, got, inputs)
    });
}

/// Whether a device that has no subnormal numbers may give this.
fn subnormal(dtype: DType, at: usize, want: f64, got: f64, inputs: &[Tensor]) -> bool {
    let least = if dtype == DType::F64 { f64::MIN_POSITIVE } else { f64::from(f32::MIN_POSITIVE) };
    let tiny = |v: f64| v != 0.0 && v.abs() < least;
    let comes_from_one = |t: &Tensor| t.dtype().is_float() && t.floats().get(at).is_some_and(|v| tiny(*v));
    (tiny(want) && got == 0.0) || inputs.iter().any(comes_from_one)
}

/// The outputs of a kernel on a Vulkan device; None, and a word about it, where there is none.
fn run(
    kernel: &Kernel,
    env: &dyn Fn(&Symbol) -> Option<i64>,
    inputs: &[Tensor],
) -> Option<Result<Vec<Tensor>, String>> {
    let graph = graph_of(kernel, env);
    let target = Target::named("spirv").expect("a target");
    let program = program::compile(&graph, &target, &Options::new(&[Emit::Spirv]), 1)
        .unwrap_or_else(|error| panic!("{}: {error}", kernel.name));
    let inputs: Vec<Value> = inputs.iter().cloned().map(Value::from).collect();
    match run_package(&program::tests::bytes(program), &inputs) {
        Err(error) if error.contains("its kernels are for GPUs with Vulkan") => {
            static TOLD: OnceLock<()> = OnceLock::new();
            TOLD.get_or_init(|| eprintln!("SKIPPED on GPUs: {error}"));
            None
        }
        result => Some(result),
    }
}

/// A graph of one kernel. Sizes that an input tells stay symbolic, others become numbers.
fn graph_of(kernel: &Kernel, env: &dyn Fn(&Symbol) -> Option<i64>) -> Graph {
    let told: Vec<Symbol> = kernel
        .buffers_of(BufferKind::Input)
        .flat_map(|(_, b)| b.ty.shape.iter().filter_map(|d| d.as_symbol().cloned()))
        .collect();
    let mut kernel = kernel.clone();
    kernel.map_dims(&mut |d| d.substitute(&|s| if told.contains(s) { None } else { env(s).map(Dim::from) }));
    let mut graph = Graph::new("g");
    let types: Vec<TensorType> = kernel.buffers_of(BufferKind::Input).map(|(_, b)| b.ty.clone()).collect();
    let ids: Vec<_> = types
        .into_iter()
        .enumerate()
        .map(|(i, t)| graph.add_input(format!("x{i}"), Type::Tensor(t)))
        .collect();
    let outputs = graph.add(KernelOp { kernel }, &ids, &Loc::default()).expect("a kernel fits its own types");
    graph.set_outputs(outputs.into_iter().enumerate().map(|(i, v)| (v, format!("y{i}"))).collect());
    graph
}

/// Nvidia's assembler takes the kernel's PTX.
fn assemble(kernel: &Kernel) {
    let Some(ptxas) = std::env::var_os("TCC_PTXAS") else {
        static TOLD: OnceLock<()> = OnceLock::new();
        TOLD.get_or_init(|| {
            eprintln!("SKIPPED: PTX isn't assembled, as TCC_PTXAS doesn't name Nvidia's ptxas")
        });
        return;
    };
    let target = Target::named("ptx").expect("a target");
    let ptx = ptx(kernel, &target);
    let folder = tempfile(&kernel.name);
    std::fs::write(&folder, &ptx).expect("writable");
    for arch in ["sm_80", "sm_90"] {
        let out = Command::new(&ptxas)
            .arg(format!("-arch={arch}"))
            .args(["-O0", "-o", "/dev/null"])
            .arg(&folder)
            .output()
            .expect("ptxas runs");
        assert!(out.status.success(), "{}\n{ptx}", String::from_utf8_lossy(&out.stderr));
    }
    let _ = std::fs::remove_file(&folder);
}

fn tempfile(name: &str) -> std::path::PathBuf {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let thread = format!("{:?}", std::thread::current().id());
    let thread: String = thread.chars().filter(char::is_ascii_digit).collect();
    Path::new(&std::env::temp_dir()).join(format!("tcc-{}-{thread}-{plain}.ptx", std::process::id()))
}

fn ptx(kernel: &Kernel, target: &Target) -> String {
    let lowered = lower(kernel, "k", target).expect("the target does it");
    let text = module_text(&lowered, target);
    let session = crate::mlir::Session::new();
    let options = Options { emit: &[Emit::Assembly], opt: OptLevel::Fast, verify: true };
    let artifacts = crate::compile_in(&session, &text, target, &options)
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    artifacts.assembly.expect("asked for")
}

/// `y[i] = f(x[i])` over a symbolic size.
fn map(f: impl FnOnce(&mut Builder, tcc_ir::kernel::ExprId) -> tcc_ir::kernel::ExprId) -> Kernel {
    let mut b = Builder::new("map");
    let ty = TensorType::new(DType::F32, [Dim::from(Symbol::new("n"))]);
    let (x, y) = (b.input(&ty), b.output(&ty));
    let axes = b.axes(&ty.shape);
    let at = b.all(&axes);
    let v = b.load(x, at.clone());
    let v = f(&mut b, v);
    b.map_stage(axes, y, at, v);
    b.finish()
}

#[test]
fn a_map_is_a_ptx_kernel_over_global_memory() {
    let k = map(|b, v| {
        let w = b.mul(v, v);
        b.add(w, v)
    });
    for (name, version) in [("ptx", ".target sm_80"), ("ptx-sm90", ".target sm_90")] {
        let ptx = ptx(&k, &Target::named(name).unwrap());
        for expected in [version, ".visible .entry k", "ld.global", "st.global", "%ctaid.x", "%ctaid.y"] {
            assert!(ptx.contains(expected), "{expected} is not in\n{ptx}");
        }
        assert!(!ptx.contains(".extern"), "{ptx}");
    }
}

#[test]
fn a_row_is_joined_in_shared_memory_behind_barriers() {
    let mut b = Builder::new("sum");
    let x = b.input(&TensorType::new(DType::F32, [Dim::from(Symbol::new("n")), Dim::from(Symbol::new("m"))]));
    let y = b.output(&TensorType::new(DType::F32, [Dim::from(Symbol::new("n"))]));
    let axes = b.axes(&[Symbol::new("n").into(), Symbol::new("m").into()]);
    let at = b.all(&axes);
    let value = b.load(x, at.clone());
    let acc = Acc { op: AccOp::Sum, value, dtype: DType::F32 };
    b.reduce_stage((vec![axes[0]], vec![axes[1]]), acc, (y, vec![at[0]]), |_, acc| acc);
    let k = b.finish();
    let ptx = ptx(&k, &Target::named("ptx").unwrap());
    assert!(ptx.contains("ld.shared") && ptx.contains("bar.sync"), "{ptx}");
    let lowered = lower(&k, "k", &Target::named("spirv").unwrap()).unwrap();
    assert_eq!(lowered.tiles, Dim::from(Symbol::new("n")));
    assert_eq!(lowered.group.unwrap().shared.len(), 1);
}

#[test]
fn spirv_says_which_features_it_needs() {
    let session = crate::mlir::Session::new();
    let target = Target::named("spirv").unwrap();
    let features = |dtype: DType| {
        let mut b = Builder::new("copy");
        let ty = TensorType::new(dtype, [5i64]);
        let (x, y) = (b.input(&ty), b.output(&ty));
        let axes = b.axes(&ty.shape);
        let at = b.all(&axes);
        let v = b.load(x, at.clone());
        let v = b.binary(BinaryKind::Add, v, v);
        b.map_stage(axes, y, at, v);
        let lowered = lower(&b.finish(), "k", &target).unwrap();
        let spirv = super::serialise(&session, &module_text(&lowered, &target)).unwrap();
        assert_eq!(spirv[..4], [0x03, 0x02, 0x23, 0x07]);
        let mut names = super::device_features(&spirv);
        names.sort_unstable();
        names
    };
    assert_eq!(features(DType::F32), ["shaderInt64"]);
    assert_eq!(features(DType::F64), ["shaderFloat64", "shaderInt64"]);
    assert_eq!(features(DType::I8), ["shaderInt64", "shaderInt8", "storageBuffer8BitAccess"]);
    assert_eq!(features(DType::F16), ["shaderInt16", "shaderInt64", "storageBuffer16BitAccess"]);
}

#[test]
fn a_kernel_that_is_too_large_is_refused_with_the_reason() {
    let rows = |m: Dim| {
        let mut b = Builder::new("rows");
        let ty = TensorType::new(DType::F32, [Dim::from(8), m.clone()]);
        let (x, y) = (b.input(&ty), b.output(&ty));
        let temp = b.temp(TensorType::new(DType::F32, [m.clone()]));
        let (row, first, second) = (b.axis(8i64), b.axis(m.clone()), b.axis(m));
        b.kernel_mut().outer = vec![row];
        let (r, i, j) = (b.at(row), b.at(first), b.at(second));
        let v = b.load(x, vec![r, i]);
        let v = b.unary(UnaryKind::Neg, v);
        b.map_stage(vec![first], temp, vec![i], v);
        let v = b.load(temp, vec![j]);
        b.map_stage(vec![second], y, vec![r, j], v);
        lower(&b.finish(), "k", &Target::named("spirv").unwrap())
    };
    assert!(rows(4096i64.into()).is_ok());
    let large = rows(5000i64.into()).unwrap_err();
    assert!(large.contains("20000 bytes") && large.contains("16384"), "{large}");
    let unbounded = rows(Symbol::new("m").into()).unwrap_err();
    assert!(unbounded.contains("--dim"), "{unbounded}");
}

#[test]
fn a_target_without_the_form_says_which_it_has() {
    let lowered = lower(&map(|_, v| v), "k", &Target::named("spirv").unwrap()).unwrap();
    let target = Target::named("spirv").unwrap();
    let error = compile_module(&module_text(&lowered, &target), &target, &[Emit::Assembly]).unwrap_err();
    assert!(error.to_string().contains("ask for SPIR-V"), "{error}");
}

#[test]
fn an_index_out_of_range_is_a_fault() {
    let k = checked_gather();
    let x = Tensor::from_floats(DType::F32, vec![4], [1.0, 2.0, 3.0, 4.0]);
    let Some(got) = run(&k, &|_| None, &[x.clone(), Tensor::from_i64s(&[3, 0, 2])]) else { return };
    assert_eq!(got.unwrap()[0].floats(), [4.0, 1.0, 3.0]);
    let fault = run(&k, &|_| None, &[x, Tensor::from_i64s(&[3, 4, 2])]).expect("there is a device");
    assert!(fault.is_err());
}

#[test]
fn more_groups_than_fit_in_x_come_in_rows() {
    // A row a group: 65,537 of them.
    let (n, m) = (65_537usize, 70usize);
    let mut b = Builder::new("rows");
    let x = b.input(&TensorType::new(DType::I32, [Dim::from(Symbol::new("n")), Dim::from(m)]));
    let y = b.output(&TensorType::new(DType::I32, [Dim::from(Symbol::new("n"))]));
    let axes = b.axes(&[Symbol::new("n").into(), m.into()]);
    let at = b.all(&axes);
    let value = b.load(x, at.clone());
    let acc = Acc { op: AccOp::Max, value, dtype: DType::I32 };
    b.reduce_stage((vec![axes[0]], vec![axes[1]]), acc, (y, vec![at[0]]), |_, acc| acc);
    let values: Vec<i128> = (0..n * m).map(|i| (i % 9_973) as i128).collect();
    let want: Vec<i128> = values.chunks(m).map(|row| *row.iter().max().expect("a row")).collect();
    let x = Tensor::from_ints(DType::I32, vec![n, m], values);
    let Some(got) = run(&b.finish(), &|_| None, &[x]) else { return };
    assert_eq!(got.unwrap()[0].ints(), want);
}
