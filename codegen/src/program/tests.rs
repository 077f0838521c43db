//! Whole programs: graphs compiled to packages and run, against the reference evaluator.

use super::{Program, compile};
use crate::{Emit, Options, Target};
use std::io::Cursor;
use std::sync::Arc;
use tcc_ir::eval::evaluate;
use tcc_ir::ops::{Binary, BinaryKind, If, Loop, NonZero, Reduce, ReduceKind};
use tcc_ir::{DType, Dim, Graph, Loc, Symbol, Tensor, Type, Value};
use tcc_passes::testing::{random_case, same};
use tcc_passes::{Options as PassOptions, default_pipeline};
use tcc_runtime::package::write_package;
use tcc_runtime::{Context, Package, Pool};

/// The package's bytes for a graph.
fn package(graph: &Graph, passes: &PassOptions, target: &str) -> Vec<u8> {
    let mut graph = graph.clone();
    tcc_passes::run(&mut graph, &default_pipeline(), passes, &mut |_, _| {})
        .unwrap_or_else(|e| panic!("{e}"));
    let program = compile(&graph, &Target::named(target).unwrap(), &Options::new(&[Emit::Image]), 1)
        .unwrap_or_else(|e| panic!("{e}"));
    bytes(program)
}

/// The bytes of a program's package.
pub fn bytes(program: Program) -> Vec<u8> {
    let mut manifest = program.manifest;
    let mut file = Cursor::new(Vec::new());
    write_package(&mut manifest, &[&program.code], |w| program.weights.write(w), &mut file)
        .unwrap_or_else(|e| panic!("{e}"));
    file.into_inner()
}

/// Runs a package on plain tensors.
pub fn run_package(bytes: &[u8], inputs: &[Value]) -> Result<Vec<Tensor>, String> {
    let package = Arc::new(Package::from_bytes(bytes).map_err(|e| e.to_string())?);
    let mut context = Context::new(package.clone(), Arc::new(Pool::new(1)));
    for (i, v) in inputs.iter().enumerate() {
        let t = v.tensor();
        let shape: Vec<i64> = t.shape().iter().map(|n| *n as i64).collect();
        let dtype = super::values::runtime_dtype(t.dtype());
        context.set_input(i, dtype, &shape, t.bytes()).map_err(|e| e.to_string())?;
    }
    context.run().map_err(|e| e.to_string())?;
    (0..package.manifest().outputs.len())
        .map(|i| {
            let view = context.output(i).map_err(|e| e.to_string())?;
            let shape = view.shape.iter().map(|n| *n as usize).collect();
            let dtype = DType::from_name(view.dtype.name()).expect("same names");
            Ok(Tensor::from_bytes(dtype, shape, view.bytes.to_vec().into()).expect("sized"))
        })
        .collect()
}

fn check(graph: &Graph, inputs: &[Value]) {
    // A failure of the evaluator may be in a node that nothing needs, which the passes remove.
    let Ok(want) = evaluate(graph, inputs) else { return };
    for limit in [None, Some(0)] {
        let passes = PassOptions { opt_bisect_limit: limit, ..PassOptions::default() };
        let got = run_package(&package(graph, &passes, "host"), inputs);
        let got = got.unwrap_or_else(|e| panic!("{}\n{e}", text(graph)));
        for (w, g) in want.iter().zip(&got) {
            assert!(close(w.tensor(), g), "{}\nwant {w:?}\ngot {g:?}", text(graph));
        }
    }
}

#[test]
fn random_graphs_compute_what_the_evaluator_does() {
    for seed in 0..60 {
        let case = random_case(seed, 8);
        check(&case.graph, &case.inputs);
    }
}

/// Equal bit for bit, or floats within what the library's functions may differ by.
fn close(want: &Tensor, got: &Tensor) -> bool {
    let tolerance = if want.dtype() == DType::F16 { 2e-3 } else { 1e-5 };
    let near = |(a, b): (&f64, &f64)| {
        a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= tolerance * a.abs().max(1.0)
    };
    same(&Value::Tensor(want.clone()), &Value::Tensor(got.clone()))
        || (want.dtype().is_float()
            && (want.dtype(), want.shape()) == (got.dtype(), got.shape())
            && want.floats().iter().zip(&got.floats()).all(near))
}

/// Text of a graph, for messages.
fn text(graph: &Graph) -> String {
    tcc_ir::text::print(graph)
}

fn add() -> Binary {
    Binary { kind: BinaryKind::Add }
}

fn floats(shape: &[usize]) -> Value {
    let n: usize = shape.iter().product();
    Tensor::from_floats(DType::F32, shape.to_vec(), (0..n).map(|i| i as f64 * 0.5 - 1.0)).into()
}

#[test]
fn branches_and_loops_run() {
    let none = Loc::default();
    let mut g = Graph::new("g");
    let n: Dim = Symbol::new("n").into();
    let x = g.add_input("x", Type::tensor(DType::F32, [n.clone()]));
    let trip = g.add_input("trip", Type::tensor(DType::I64, Vec::<Dim>::new()));
    let cond = g.add_input("cond", Type::tensor(DType::Bool, Vec::<Dim>::new()));
    let outer = |s: &Symbol| &*s.name == "n";
    let branch = |prefix: &str, kind: BinaryKind| {
        let mut b = Graph::region(prefix, prefix);
        let y = b.add_region_input("y", Type::tensor(DType::F32, [n.clone()]), &outer);
        let z = b.add1(Binary { kind }, &[y, y], &Loc::default()).unwrap();
        b.set_outputs(vec![(z, "z".into())]);
        b
    };
    let op = If { then_branch: branch("t", BinaryKind::Add), else_branch: branch("e", BinaryKind::Mul) };
    let y = g.add1(op, &[cond, x], &none).unwrap();
    let mut body = Graph::region("body", "b");
    let _iteration = body.add_input("i", Type::tensor(DType::I64, Vec::<Dim>::new()));
    let go_on = body.add_input("c", Type::tensor(DType::Bool, Vec::<Dim>::new()));
    let state = body.add_region_input("s", Type::tensor(DType::F32, [n.clone()]), &outer);
    let step = body.add_region_input("x", Type::tensor(DType::F32, [n.clone()]), &outer);
    let next = body.add1(add(), &[state, step], &none).unwrap();
    body.set_outputs(vec![(go_on, "c".into()), (next, "n".into()), (state, "scan".into())]);
    let op = Loop { body, n_carried: 1, has_trip: true, has_cond: true };
    let out = g.add(op, &[trip, cond, y, x], &none).unwrap();
    let total =
        g.add1(Reduce { kind: ReduceKind::Sum, axes: vec![0], keepdims: false }, &[out[1]], &none).unwrap();
    g.set_outputs(vec![(out[0], "a".into()), (out[1], "b".into()), (total, "t".into())]);
    for (n, trip, cond) in [(3, 4, 1), (5, 0, 1), (2, 3, 0), (0, 2, 1)] {
        let inputs = [
            floats(&[n]),
            Tensor::scalar_int(DType::I64, trip).into(),
            Tensor::scalar_int(DType::Bool, cond).into(),
        ];
        check(&g, &inputs);
    }
}

#[test]
fn sizes_that_data_decides_flow_on() {
    let none = Loc::default();
    let mut g = Graph::new("g");
    let x = g.add_input("x", Type::tensor(DType::F32, [Dim::from(Symbol::new("n"))]));
    let places = g.add1(NonZero {}, &[x], &none).unwrap();
    let twice = g.add1(add(), &[places, places], &none).unwrap();
    let total =
        g.add1(Reduce { kind: ReduceKind::Sum, axes: vec![1], keepdims: false }, &[twice], &none).unwrap();
    g.set_outputs(vec![(twice, "y".into()), (total, "t".into())]);
    for n in [0, 1, 4, 9] {
        check(&g, &[floats(&[n])]);
    }
}
