//! Packages executed: shapes, memory, threads, control flow, errors.

mod support;

#[path = "support/kernels.rs"]
mod kernels;

use support::*;
use tcc_runtime::package::*;
use tcc_runtime::{Context, Error, Object, Status, Tensor, builtin};

/// `y = 2 * (x + x)`, with an arena value between.
fn chain() -> Builder {
    let mut b = Builder::new();
    let (x, dims) = b.input("x", Form::Tensor, DType::F32, 1);
    let sum = b.arena("sum", DType::F32, &dims, 0, 1);
    let y = b.output("y", Form::Tensor, DType::F32, &dims);
    let (add, double) = (b.kernel("add", kernels::add), b.kernel("double", kernels::double));
    b.call(0, add, &[x, x], &[sum], &dims);
    b.call(0, double, &[sum], &[y], &dims);
    let four = b.number(4);
    if let Step::Kernel(step) = &mut b.manifest.blocks[0].steps[1] {
        step.scratch = four;
    }
    b
}

fn run(context: &mut Context, numbers: &[f32]) -> Vec<f32> {
    context.set_input(0, DType::F32, &[numbers.len() as i64], &bytes_f32(numbers)).unwrap();
    context.run().unwrap();
    assert_eq!(context.output(0).unwrap().shape, [numbers.len() as i64]);
    f32s(context.output(0).unwrap().bytes)
}

#[test]
fn one_package_serves_any_shape_and_memory_stops_growing() {
    let mut context = chain().context(2);
    for n in [3, 0, 1000, 1, 17] {
        let numbers: Vec<f32> = (0..n).map(|i| i as f32).collect();
        let expected: Vec<f32> = numbers.iter().map(|x| x * 4.0).collect();
        assert_eq!(run(&mut context, &numbers), expected);
    }
    let held = context.memory_bytes();
    for round in 0..1000 {
        run(&mut context, &vec![1.0; (round * 37) % 1000]);
    }
    assert_eq!(context.memory_bytes(), held);
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let numbers: Vec<f32> = (0..10_000).map(|i| (i as f32).sin()).collect();
    let alone = run(&mut chain().context(1), &numbers);
    for threads in [2, 3, 7] {
        assert_eq!(run(&mut chain().context(threads), &numbers), alone);
    }
}

#[test]
fn the_callers_memory_is_read_and_written_in_place() {
    let mut context = chain().context(1);
    let x = [1f32, 2.0];
    let mut y = [0f32; 3];
    // SAFETY: both arrays outlive the runs.
    unsafe {
        context.bind_input(0, DType::F32, &[2], x.as_ptr().cast(), 8).unwrap();
        context.bind_output(0, y.as_mut_ptr().cast(), 12).unwrap();
    }
    context.run().unwrap();
    assert_eq!(context.output(0).unwrap().bytes.as_ptr(), y.as_ptr().cast());
    assert_eq!(y, [4.0, 8.0, 0.0]);

    context.set_input(0, DType::F32, &[4], &bytes_f32(&[1.0; 4])).unwrap();
    let error = context.run().unwrap_err();
    assert_eq!(error.status(), Status::Size, "{error}");
    assert!(error.to_string().contains("\"y\""), "{error}");
    context.unbind_output(0).unwrap();
    context.run().unwrap();
}

#[test]
fn values_with_planned_places_share_the_arena_with_others() {
    let mut b = chain();
    let Some(value) = b.manifest.values.iter_mut().find(|value| value.name == "sum") else { unreachable!() };
    value.storage = Storage::Arena { fixed: Some(Region { offset: 64, bytes: 40 }), first: 0, last: 1 };
    b.manifest.arena_bytes = 128;
    let mut context = b.context(1);
    assert_eq!(run(&mut context, &[1.0; 10]), [4.0; 10]);
    assert_eq!(context.arena_bytes(), 128);
    context.set_input(0, DType::F32, &[11], &bytes_f32(&[1.0; 11])).unwrap();
    let error = context.run().unwrap_err().to_string();
    assert!(error.contains("\"sum\"") && error.contains("40 were planned"), "{error}");
}

#[test]
fn wrong_arguments_are_refused_and_named() {
    let mut b = chain();
    let (dims, four) = (b.manifest.values[0].dims.clone(), b.number(4));
    b.manifest.checks.push(Check {
        cmp: Cmp::Le,
        a: dims[0],
        b: four,
        message: "Add \"sum\": at most 4 rows".into(),
        at_bind: true,
    });
    let mut context = b.context(1);
    assert_eq!(context.run().unwrap_err(), Error::Unbound { what: "input \"x\"".into() });
    assert_eq!(context.output(0).unwrap_err().status(), Status::Unbound);
    let status = |result: tcc_runtime::Result<()>| result.unwrap_err().status();
    assert_eq!(status(context.set_input(1, DType::F32, &[1], &[0; 4])), Status::Argument);
    assert_eq!(status(context.set_input(0, DType::F64, &[1], &[0; 8])), Status::Type);
    assert_eq!(status(context.set_input(0, DType::F32, &[1, 1], &[0; 4])), Status::Shape);
    assert_eq!(status(context.set_input(0, DType::F32, &[2], &[0; 4])), Status::Shape);
    assert_eq!(status(context.set_input(0, DType::F32, &[-1], &[0; 4])), Status::Shape);
    context.set_input(0, DType::F32, &[5], &[0; 20]).unwrap();
    let error = context.run().unwrap_err();
    assert_eq!(error.status(), Status::Check);
    assert!(error.to_string().contains("at most 4 rows (5 and 4)"), "{error}");
    assert_eq!(run(&mut context, &[1.0]), [4.0], "a refused shape leaves the context usable");
}

#[test]
fn a_kernels_fault_names_its_node() {
    for threads in [1, 3] {
        let mut b = chain();
        let fail = b.kernel("fail", kernels::fail_at_five);
        let dims = b.manifest.values[0].dims.clone();
        b.call(0, fail, &[], &[], &dims);
        let mut context = b.context(threads);
        assert_eq!(run(&mut context, &[1.0; 5]), [4.0; 5]);
        context.set_input(0, DType::F32, &[6], &[0; 24]).unwrap();
        let error = context.run().unwrap_err();
        let expected = Error::Kernel { kernel: "fail".into(), source: "node fail".into(), code: 1 };
        assert_eq!(error, expected);
        assert!(context.output(0).is_err(), "results of a failed run aren't handed out");
    }
}

/// Positions of non-zero elements, found mid-run, go through a kernel sized by their number.
#[test]
fn sizes_found_during_the_run_size_what_follows() {
    let mut b = Builder::new();
    let (x, _) = b.input("x", Form::Tensor, DType::F32, 1);
    let (symbol, count) = b.late("count");
    let one = b.number(1);
    let positions = b.late_value("positions", DType::I64, &[one, count]);
    let y = b.output("y", Form::Tensor, DType::I64, &[one, count]);
    b.builtin(0, &builtin::NonZero {}, &[x], &[positions], &[symbol]);
    b.push(0, Step::Copy { from: positions, to: y, sets: vec![] });
    let mut context = b.context(1);
    for (numbers, expected) in
        [(vec![0.0, 5.0, -0.0, f32::NAN], vec![1, 3]), (vec![0.0; 9], vec![]), (vec![1.0; 3], vec![0, 1, 2])]
    {
        context.set_input(0, DType::F32, &[numbers.len() as i64], &bytes_f32(&numbers)).unwrap();
        context.run().unwrap();
        let view = context.output(0).unwrap();
        assert_eq!(view.shape, [1, expected.len() as i64]);
        assert_eq!(i64s(view.bytes), expected);
    }
}

/// Both branches write a result of a size of their own.
#[test]
fn a_branch_gives_the_result_its_size() {
    let mut b = Builder::new();
    let (cond, _) = b.input("cond", Form::Tensor, DType::Bool, 0);
    let (symbol, n) = b.late("n");
    let short = b.weight("short", DType::I64, &[1], &bytes_i64(&[7]));
    let long = b.weight("long", DType::I64, &[2], &bytes_i64(&[8, 9]));
    let y = b.output("y", Form::Tensor, DType::I64, &[n]);
    let (then_block, else_block) = (b.block(), b.block());
    b.push(0, Step::If { cond, then_block, else_block });
    b.push(then_block.0, Step::Copy { from: short, to: y, sets: vec![symbol] });
    b.push(else_block.0, Step::Copy { from: long, to: y, sets: vec![symbol] });
    let mut context = b.context(1);
    for (flag, expected) in [(1, vec![7]), (0, vec![8, 9]), (1, vec![7])] {
        context.set_input(0, DType::Bool, &[], &[flag]).unwrap();
        context.run().unwrap();
        assert_eq!(i64s(context.output(0).unwrap().bytes), expected);
    }
}

/// State that grows by one element an iteration, as a key-value cache does, and a stacked result.
fn growing_loop() -> Builder {
    let mut b = Builder::new();
    let (trip, _) = b.input("trip", Form::Tensor, DType::I64, 0);
    let (start, start_dims) = b.input("start", Form::Tensor, DType::F32, 1);
    let (size, n) = b.late("n");
    let (count, rows) = b.late("rows");
    let one = b.number(1);
    let limit = b.number(3);
    let longer = b.expr(Expr::Add(n, one));
    let param = b.late_value("state", DType::F32, &[n]);
    let next = b.late_value("longer", DType::F32, &[longer]);
    let iter = b.late_value("iter", DType::I64, &[]);
    let cond_out = b.late_value("go_on", DType::Bool, &[]);
    let state = b.output("result", Form::Tensor, DType::F32, &[n]);
    let stacked = b.output("iters", Form::Tensor, DType::I64, &[rows]);
    let (append, less) = (b.kernel("append", kernels::append_nine), b.kernel("less", kernels::less));
    let body = b.block();
    let carried = vec![Carried { init: start, param, next, sets: vec![size] }];
    let scans = vec![ScanOut { elem: iter, stacked, count: Some(count) }];
    b.push(
        0,
        Step::Loop(LoopStep {
            trip: Some(trip),
            cond_in: None,
            iter: Some(iter),
            cond_out: Some(cond_out),
            carried,
            scans,
            body,
            zero_if_empty: vec![],
        }),
    );
    b.push(0, Step::Copy { from: param, to: state, sets: vec![] });
    b.call(body.0, append, &[param], &[next], &[longer]);
    b.call(body.0, less, &[iter], &[cond_out], &[one, limit]);
    // One call, not one a tile.
    for kernel in &mut b.manifest.kernels {
        kernel.serial = true;
    }
    let _ = start_dims;
    b
}

#[test]
fn a_loop_carries_state_that_grows_and_stacks_results() {
    let mut context = growing_loop().context(2);
    // The body's condition ends the loop after iteration 3.
    for (trip, expected) in [(0i64, 0), (2, 2), (100, 4)] {
        context.set_input(0, DType::I64, &[], &trip.to_ne_bytes()).unwrap();
        context.set_input(1, DType::F32, &[2], &bytes_f32(&[1.0, 2.0])).unwrap();
        context.run().unwrap();
        let state = [vec![1.0, 2.0], vec![9.0; expected]].concat();
        assert_eq!(f32s(context.output(0).unwrap().bytes), state);
        assert_eq!(context.output(1).unwrap().shape, [expected as i64]);
        assert_eq!(i64s(context.output(1).unwrap().bytes), (0..expected as i64).collect::<Vec<_>>());
    }
}

#[test]
fn stacked_results_of_a_known_size_stay_in_their_place() {
    let mut b = Builder::new();
    let (trip, _) = b.input("trip", Form::Tensor, DType::I64, 0);
    let two = b.number(2);
    let iter = b.late_value("iter", DType::I64, &[]);
    let stacked = b.output("iters", Form::Tensor, DType::I64, &[two]);
    let body = b.block();
    let scans = vec![ScanOut { elem: iter, stacked, count: None }];
    b.push(
        0,
        Step::Loop(LoopStep {
            trip: Some(trip),
            cond_in: None,
            iter: Some(iter),
            cond_out: None,
            carried: vec![],
            scans,
            body,
            zero_if_empty: vec![],
        }),
    );
    let mut context = b.context(1);
    let mut try_run = |trip: i64| {
        context.set_input(0, DType::I64, &[], &trip.to_ne_bytes()).unwrap();
        let ran = context.run().map(|()| i64s(context.output(0).unwrap().bytes));
        (ran, context.memory_bytes())
    };
    let (first, memory) = try_run(2);
    assert_eq!(first, Ok(vec![0, 1]));
    let (more, grown) = try_run(100_000);
    assert_eq!(more.unwrap_err().status(), Status::Size);
    assert_eq!(grown, memory);
    assert_eq!(try_run(2), (Ok(vec![0, 1]), memory));
}

#[test]
fn views_and_sizes_read_from_tensors() {
    let mut b = Builder::new();
    let (x, dims) = b.input("x", Form::Tensor, DType::I64, 1);
    let (start, at) = b.late("start");
    let eight = b.number(8);
    let (offset, two) = (b.expr(Expr::Mul(at, eight)), b.number(2));
    let view = b.value("view", DType::I64, &[two], Storage::Alias { of: x, byte_offset: offset });
    let y = b.output("y", Form::Tensor, DType::I64, &[two]);
    b.push(0, Step::ReadDim { symbol: start, value: x, index: 0 });
    b.push(0, Step::Copy { from: view, to: y, sets: vec![] });
    let _ = dims;
    let mut context = b.context(1);
    let mut try_run = |numbers: &[i64]| {
        context.set_input(0, DType::I64, &[numbers.len() as i64], &bytes_i64(numbers)).unwrap();
        context.run().map(|()| i64s(context.output(0).unwrap().bytes))
    };
    assert_eq!(try_run(&[1, 20, 30]), Ok(vec![20, 30]));
    for outside in [&[2, 20, 30][..], &[-1, 20, 30], &[i64::MAX, 20, 30], &[]] {
        assert_eq!(try_run(outside).unwrap_err().status(), Status::Size, "{outside:?}");
    }
}

#[test]
fn an_output_may_be_an_input_or_a_weight() {
    let mut b = Builder::new();
    let (x, _) = b.input("x", Form::Tensor, DType::F32, 1);
    let w = b.weight("w", DType::I64, &[1], &bytes_i64(&[5]));
    b.manifest.outputs = vec![Io { name: "x".into(), value: x }, Io { name: "w".into(), value: w }];
    let mut context = b.context(1);
    let mut copy = [0i64; 1];
    // SAFETY: the array outlives the run.
    unsafe { context.bind_output(1, copy.as_mut_ptr().cast(), 8).unwrap() };
    assert_eq!(run(&mut context, &[3.0]), [3.0]);
    assert_eq!(copy, [5]);
}

#[test]
fn strings_and_sequences_pass_through_steps() {
    let mut b = Builder::new();
    let (text, dims) = b.input("text", Form::Tensor, DType::String, 1);
    b.manifest.strings.push(vec!["!".into()]);
    let one = b.number(1);
    let mark = b.value("mark", DType::String, &[one], Storage::Strings(0));
    let loud = b.object("loud", Form::Tensor, DType::String, &dims);
    let sequence = b.object("sequence", Form::Sequence, DType::String, &[]);
    let y = b.output("y", Form::Sequence, DType::String, &[]);
    b.builtin(0, &builtin::StringConcat {}, &[text, mark], &[loud], &[]);
    b.builtin(0, &builtin::SequenceConstruct {}, &[loud, text], &[sequence], &[]);
    b.push(0, Step::Copy { from: sequence, to: y, sets: vec![] });
    let mut context = b.context(1);
    let words = Tensor::strings(vec![2], vec!["a".into(), "b".into()]);
    context.set_input_object(0, Object::Tensor(words.clone())).unwrap();
    context.run().unwrap();
    let louder = Tensor::strings(vec![2], vec!["a!".into(), "b!".into()]);
    assert_eq!(context.output_object(0).unwrap(), &Object::Sequence(vec![louder, words]));
    assert_eq!(context.output(0).unwrap_err().status(), Status::Argument);
}

#[test]
fn the_profile_counts_calls() {
    let mut context = chain().context(1);
    context.enable_profile(true);
    run(&mut context, &[1.0]);
    run(&mut context, &[1.0]);
    let rows = context.profile();
    assert_eq!(
        rows.iter().map(|row| (&row.name[..], row.calls)).collect::<Vec<_>>(),
        [("add", 2), ("double", 2)]
    );
}

/// Hand-assembled code in a real file: copies four bytes from the first buffer to the second.
#[test]
#[cfg(target_arch = "x86_64")]
fn a_package_file_is_mapped_and_its_code_runs() {
    let code = [0x48, 0x8b, 0x07, 0x48, 0x8b, 0x4f, 0x08, 0x8b, 0x10, 0x89, 0x11, 0x31, 0xc0, 0xc3];
    let mut b = Builder::new();
    let w = b.weight("w", DType::F32, &[1], &bytes_f32(&[2.5]));
    let one = b.numbers(&[1]);
    let y = b.output("y", Form::Tensor, DType::F32, &one);
    let kernel = b.kernel("copy", kernels::double);
    b.call(0, kernel, &[w], &[y], &one);
    b.manifest.sections[0].format = CodeFormat::Flat;
    b.manifest.sections[0].entries = vec![4];
    let code = [&[0xcc; 4][..], &code].concat();

    let path = std::env::temp_dir().join(format!("tcc-runtime-test-{}.tcc", std::process::id()));
    write_package_file(&path, &mut b.manifest, &[&code], |out| out.write_all(&b.weights)).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let opened = tcc_runtime::Package::open(&path);
    std::fs::remove_file(&path).unwrap();
    let opened = opened.unwrap();
    opened.verify_weights().unwrap();
    for package in [opened, tcc_runtime::Package::from_bytes(&bytes).unwrap()] {
        let mut context = Context::new(package.into(), tcc_runtime::Pool::new(1).into());
        context.run().unwrap();
        assert_eq!(f32s(context.output(0).unwrap().bytes), [2.5]);
    }

    b.manifest.sections[0].cpu_features = vec!["warp-drive".into()];
    let mut out = std::io::Cursor::new(Vec::new());
    write_package(&mut b.manifest, &[&code], |out| out.write_all(&b.weights), &mut out).unwrap();
    let error = tcc_runtime::Package::from_bytes(out.get_ref()).unwrap_err();
    assert!(error.to_string().contains("lacks warp-drive"), "{error}");
}

#[test]
fn files_that_are_no_packages_are_named() {
    let error = tcc_runtime::Package::open("/nowhere/model.tcc").unwrap_err();
    assert_eq!(error.status(), Status::Io);
    assert!(error.to_string().starts_with("/nowhere/model.tcc"), "{error}");
    assert_eq!(tcc_runtime::Package::open("Cargo.toml").unwrap_err().status(), Status::NotAPackage);
    assert_eq!(tcc_runtime::Package::from_bytes(b"").unwrap_err().status(), Status::NotAPackage);
}
