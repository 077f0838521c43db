//! Packages on a Vulkan device; Mesa's driver for CPUs is enough. Without any driver these tests say so and do nothing.

mod support;

#[path = "support/spirv.rs"]
mod spirv;

use std::sync::Arc;

use spirv::*;
use support::*;
use tcc_runtime::package::*;
use tcc_runtime::{Context, Error, Package, Pool, Status, builtin};

/// `y = (x + w) * x` over f32[N], with an arena value between; `w` is 100 numbers.
fn chain() -> GpuBuilder {
    let mut g = GpuBuilder::new();
    let (x, dims) = g.b.input("x", Form::Tensor, DType::F32, 1);
    let w: Vec<f32> = (0..100).map(|i| i as f32).collect();
    let w = g.b.weight("w", DType::F32, &[100], &bytes_f32(&w));
    let sum = g.b.arena("sum", DType::F32, &dims, 0, 1);
    let y = g.b.output("y", Form::Tensor, DType::F32, &dims);
    let (add, multiply) = (g.kernel("add", ADD), g.kernel("multiply", MULTIPLY));
    g.call(add, [x, w], sum, dims[0]);
    g.call(multiply, [sum, x], y, dims[0]);
    g
}

/// The package, unless this machine has no driver.
fn package(g: &GpuBuilder) -> Option<Arc<Package>> {
    match g.package() {
        Ok(package) => {
            assert!(package.device_name().is_some());
            Some(Arc::new(package))
        }
        Err(error @ Error::NoDevice { .. }) if !has_driver() => {
            eprintln!("SKIPPED, no Vulkan driver is installed: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Whether a driver is installed, as the loader finds it.
fn has_driver() -> bool {
    ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d"]
        .iter()
        .any(|folder| std::fs::read_dir(folder).is_ok_and(|mut drivers| drivers.next().is_some()))
}

fn context(package: &Arc<Package>) -> Context {
    Context::new(package.clone(), Arc::new(Pool::new(1)))
}

fn run(context: &mut Context, x: &[f32]) -> Vec<f32> {
    context.set_input(0, DType::F32, &[x.len() as i64], &bytes_f32(x)).unwrap();
    context.run().unwrap();
    f32s(context.output(0).unwrap().bytes)
}

fn numbers(n: usize) -> Vec<f32> {
    (0..n).map(|i| i as f32 / 4.0 - 3.0).collect()
}

fn chain_of(x: &[f32]) -> Vec<f32> {
    x.iter().enumerate().map(|(i, x)| (x + i as f32) * x).collect()
}

#[test]
fn one_package_serves_any_shape_and_memory_stops_growing() {
    let Some(package) = package(&chain()) else { return };
    let mut context = context(&package);
    for n in [3, 0, 100, 1, 65] {
        assert_eq!(run(&mut context, &numbers(n)), chain_of(&numbers(n)));
    }
    let held = context.memory_bytes();
    for round in 0..300 {
        let x = numbers((round * 37) % 100);
        assert_eq!(run(&mut context, &x), chain_of(&x));
    }
    assert_eq!(context.memory_bytes(), held);
}

#[test]
fn contexts_of_one_package_run_side_by_side() {
    let Some(package) = package(&chain()) else { return };
    std::thread::scope(|scope| {
        for n in [10, 50, 100] {
            let mut context = context(&package);
            scope.spawn(move || {
                for _ in 0..50 {
                    assert_eq!(run(&mut context, &numbers(n)), chain_of(&numbers(n)));
                }
            });
        }
    });
}

#[test]
fn the_callers_memory_is_read_at_each_run_and_written_at_its_end() {
    let Some(package) = package(&chain()) else { return };
    let mut context = context(&package);
    let mut x = vec![1f32, 2.0];
    let mut y = [0f32; 3];
    // SAFETY: both arrays outlive the runs, and change only between them.
    unsafe {
        context.bind_input(0, DType::F32, &[2], x.as_ptr().cast(), 8).unwrap();
        context.bind_output(0, y.as_mut_ptr().cast(), 12).unwrap();
    }
    context.run().unwrap();
    assert_eq!(context.output(0).unwrap().bytes.as_ptr(), y.as_ptr().cast());
    assert_eq!(y, [1.0, 6.0, 0.0]);
    x[0] = 3.0;
    context.run().unwrap();
    assert_eq!(y, [9.0, 6.0, 0.0]);

    context.set_input(0, DType::F32, &[4], &bytes_f32(&[1.0; 4])).unwrap();
    let error = context.run().unwrap_err();
    assert_eq!(error.status(), Status::Size, "{error}");
    context.unbind_output(0).unwrap();
    context.run().unwrap();
    assert_eq!(f32s(context.output(0).unwrap().bytes), chain_of(&[1.0; 4]));
}

#[test]
fn more_groups_than_one_dimension_holds() {
    let mut g = GpuBuilder::new();
    let (x, dims) = g.b.input("x", Form::Tensor, DType::F32, 1);
    let y = g.b.output("y", Form::Tensor, DType::F32, &dims);
    let add = g.kernel("add", ADD);
    g.call(add, [x, x], y, dims[0]);
    let Some(package) = package(&g) else { return };
    let n = 65535 * THREADS as usize + 100;
    let x: Vec<f32> = (0..n).map(|i| (i % 1000) as f32).collect();
    let expected: Vec<f32> = x.iter().map(|x| x + x).collect();
    assert!(run(&mut context(&package), &x) == expected);
}

/// `y = x[1..n-1] + x[2..n]`, as parts of memory that starts at 4 and 8 bytes.
#[test]
fn parts_at_any_place_are_inputs_and_outputs() {
    let mut g = GpuBuilder::new();
    let (x, dims) = g.b.input("x", Form::Tensor, DType::F32, 1);
    let y = g.b.output("y", Form::Tensor, DType::F32, &dims);
    let minus_two = g.b.number(-2);
    let n = g.b.expr(Expr::Add(dims[0], minus_two));
    let (four, eight) = (g.b.number(4), g.b.number(8));
    let a = g.b.value("a", DType::F32, &[n], Storage::Alias { of: x, byte_offset: four });
    let b = g.b.value("b", DType::F32, &[n], Storage::Alias { of: x, byte_offset: eight });
    let out = g.b.value("out", DType::F32, &[n], Storage::Alias { of: y, byte_offset: four });
    let (add, multiply) = (g.kernel("add", ADD), g.kernel("multiply", MULTIPLY));
    // All of y is the square first; its middle is replaced.
    g.call(multiply, [x, x], y, dims[0]);
    g.call(add, [a, b], out, n);
    let Some(package) = package(&g) else { return };
    let x = numbers(50);
    let mut expected: Vec<f32> = x.iter().map(|x| x * x).collect();
    for i in 0..48 {
        expected[i + 1] = x[i + 1] + x[i + 2];
    }
    assert_eq!(run(&mut context(&package), &x), expected);
}

/// Sizes that the host finds: `y = p + p` where `p` is the elements of `x + x` that a mask keeps.
#[test]
fn steps_of_the_host_see_what_kernels_wrote() {
    let mut g = GpuBuilder::new();
    let (x, dims) = g.b.input("x", Form::Tensor, DType::F32, 1);
    let (mask, _) = g.b.input("mask", Form::Tensor, DType::Bool, 1);
    let twice = g.b.arena("twice", DType::F32, &dims, 0, 1);
    let (symbol, kept) = g.b.late("kept");
    let some = g.b.late_value("some", DType::F32, &[kept]);
    let y = g.b.output("y", Form::Tensor, DType::F32, &[kept]);
    let add = g.kernel("add", ADD);
    g.call(add, [x, x], twice, dims[0]);
    g.b.builtin(0, &builtin::Compress { axis: None }, &[twice, mask], &[some], &[symbol]);
    g.call(add, [some, some], y, kept);
    let Some(package) = package(&g) else { return };
    let mut context = context(&package);
    for n in [4, 50, 2000, 10] {
        let keep: Vec<u8> = (0..n).map(|i| u8::from(i % 3 == 1)).collect();
        context.set_input(1, DType::Bool, &[n], &keep).unwrap();
        let x = numbers(n as usize);
        let expected: Vec<f32> = x.iter().skip(1).step_by(3).map(|x| x * 4.0).collect();
        assert_eq!(run(&mut context, &x), expected);
    }
    let none = vec![0u8; 10];
    context.set_input(1, DType::Bool, &[10], &none).unwrap();
    assert_eq!(run(&mut context, &numbers(10)), []);
}

#[test]
fn a_fault_is_reported_with_its_kernel_and_only_once() {
    let mut g = GpuBuilder::new();
    let (x, dims) = g.b.input("x", Form::Tensor, DType::F32, 1);
    let y = g.b.output("y", Form::Tensor, DType::F32, &dims);
    let eight = g.b.weight("eight", DType::F32, &[8], &bytes_f32(&[8.0; 8]));
    let difference = g.kernel("difference", DIFFERENCE);
    g.call(difference, [x, eight], y, dims[0]);
    let Some(package) = package(&g) else { return };
    let mut context = context(&package);
    assert_eq!(run(&mut context, &[1.0, 2.0]), [-7.0, -6.0]);
    context.set_input(0, DType::F32, &[2], &bytes_f32(&[1.0, 8.0])).unwrap();
    let error = context.run().unwrap_err();
    assert_eq!(
        error,
        Error::Kernel { kernel: "difference".into(), source: "node difference".into(), code: 1 }
    );
    assert_eq!(context.output(0).unwrap_err().status(), Status::Unbound);
    assert_eq!(run(&mut context, &[9.0]), [1.0]);
}

/// What was launched before a step fails must not run, or report its faults, in the next run.
#[test]
fn a_failed_run_leaves_no_launches_behind() {
    let mut g = GpuBuilder::new();
    let (x, dims) = g.b.input("x", Form::Tensor, DType::F32, 1);
    let y = g.b.output("y", Form::Tensor, DType::F32, &dims);
    let difference = g.kernel("difference", DIFFERENCE);
    // A number has no difference from itself: any element is a fault.
    g.call(difference, [x, x], y, dims[0]);
    let one = g.b.number(1);
    let message = "at most one".to_string();
    g.b.manifest.checks.push(Check { cmp: Cmp::Le, a: dims[0], b: one, message, at_bind: false });
    g.b.push(0, Step::Check(CheckId(0)));
    let Some(package) = package(&g) else { return };
    let mut context = context(&package);
    for _ in 0..3 {
        context.set_input(0, DType::F32, &[2], &bytes_f32(&[1.0; 2])).unwrap();
        assert_eq!(context.run().unwrap_err().status(), Status::Check);
    }
    assert_eq!(run(&mut context, &[]), []);
}

#[test]
fn more_launches_than_one_command_buffer_takes() {
    let mut g = GpuBuilder::new();
    let (x, dims) = g.b.input("x", Form::Tensor, DType::F32, 1);
    let one = g.b.weight("one", DType::F32, &[1], &bytes_f32(&[1.0]));
    let values =
        [g.b.arena("even", DType::F32, &dims, 0, 1200), g.b.arena("odd", DType::F32, &dims, 0, 1200)];
    let y = g.b.output("y", Form::Tensor, DType::F32, &dims);
    let add = g.kernel("add", ADD);
    g.call(add, [x, one], values[0], dims[0]);
    for i in 0..1100 {
        g.call(add, [values[i % 2], one], values[(i + 1) % 2], dims[0]);
    }
    g.call(add, [values[0], one], y, dims[0]);
    let Some(package) = package(&g) else { return };
    assert_eq!(run(&mut context(&package), &[0.5]), [1102.5]);
}

#[test]
fn the_profile_times_each_kernel() {
    let Some(package) = package(&chain()) else { return };
    let mut context = context(&package);
    context.enable_profile(true);
    run(&mut context, &numbers(100));
    let rows = context.profile();
    assert_eq!(rows.iter().map(|row| &row.name[..]).collect::<Vec<_>>(), ["add", "multiply"]);
    assert!(rows.iter().all(|row| row.calls == 1 && !row.time.is_zero()), "{rows:?}");
}

#[test]
fn what_a_device_lacks_is_named() {
    let mut g = chain();
    if package(&g).is_none() {
        return;
    }
    g.b.manifest.sections[0].cpu_features.push("warpDrive".into());
    let error = g.package().unwrap_err();
    assert_eq!(error.status(), Status::Target);
    assert!(error.to_string().contains("lacks warpDrive"), "{error}");
}

/// Drivers crash on such modules.
#[test]
fn modules_that_are_not_what_the_launch_says_are_refused() {
    if package(&chain()).is_none() {
        return;
    }
    let cases: [(fn(&mut Launch), &str); 3] = [
        (|launch| (launch.offset, launch.len) = (launch.offset + 4, launch.len - 4), "isn't SPIR-V"),
        (|launch| launch.entry = "other".into(), "hasn't its entry point"),
        (|launch| launch.threads = 32, "states another size of work-groups"),
    ];
    for (change, cause) in cases {
        let mut g = chain();
        change(&mut g.b.manifest.sections[0].launches[1]);
        let error = g.package().unwrap_err();
        assert_eq!(error.status(), Status::Invalid);
        assert!(error.to_string().contains(&format!("kernel multiply: its module {cause}")), "{error}");
    }
}

#[test]
fn ptx_packages_say_what_to_do() {
    let mut g = chain();
    g.b.manifest.sections[0].format = CodeFormat::Ptx;
    let error = g.package().unwrap_err();
    assert_eq!(error.status(), Status::Target);
    assert!(error.to_string().contains("--target spirv"), "{error}");
}
