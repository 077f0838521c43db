//! Runs of kernels as task graphs: the same results as step by step, whatever the threads do.

mod support;

#[path = "support/kernels.rs"]
mod kernels;

use std::slice::{from_raw_parts, from_raw_parts_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use support::*;
use tcc_runtime::package::*;
use tcc_runtime::{Context, Error, Pool};

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
}

/// `bufs[1][i] = bufs[0][n - 1 - i] + 1`, late every now and then.
unsafe extern "C" fn reverse(
    bufs: *const *mut u8,
    dims: *const i64,
    begin: i64,
    end: i64,
    _: *mut u8,
) -> i32 {
    // SAFETY: both are of dims[0] floats.
    unsafe {
        let n = *dims as usize;
        let x = from_raw_parts((*bufs).cast::<f32>(), n);
        let out = from_raw_parts_mut((*bufs.add(1)).cast::<f32>(), n);
        for i in begin as usize..end as usize {
            out[i] = x[n - 1 - i] + 1.0;
            if out[i].to_bits() % 61 == 0 {
                std::thread::yield_now();
            }
        }
    }
    0
}

/// A model of `n` kernels over vectors of one length, each reading one or two values before it, in memory that is
/// used again. Some are small enough for one thread.
fn random_model(n: usize, random: &mut Random) -> Builder {
    let mut b = Builder::new();
    let (x, dims) = b.input("x", Form::Tensor, DType::F32, 1);
    let (add, reverse) = (b.kernel("add", kernels::add), b.kernel("reverse", reverse));
    let reads: Vec<(bool, usize, usize)> = (0..n)
        .map(|i| {
            let mut operand = || i - (random.below(4) as usize).min(i);
            let operands = (operand(), operand());
            (random.below(3) > 0, operands.0, operands.1)
        })
        .collect();
    let last_use = |value: usize| {
        let users = reads.iter().rposition(|(two, a, c)| *a == value || (*two && *c == value));
        users.unwrap_or(value.saturating_sub(1)) as u32
    };
    let mut values = vec![x];
    for i in 1..n {
        values.push(b.arena("", DType::F32, &dims, i as u32 - 1, last_use(i)));
    }
    values.push(b.output("y", Form::Tensor, DType::F32, &dims));
    let [one, four, small, large] = [1, 4, 100, 1 << 20].map(|number| b.number(number));
    let element = Some(Span { tiles: one, step: four, len: four });
    for (i, (two, a, c)) in reads.iter().enumerate() {
        let out = values[i + 1];
        match two {
            true => b.call(0, add, &[values[*a], values[*c]], &[out], &dims),
            false => b.call(0, reverse, &[values[*a]], &[out], &dims),
        }
        let Some(Step::Kernel(step)) = b.manifest.blocks[0].steps.last_mut() else {
            unreachable!("just pushed")
        };
        let work = if random.below(4) == 0 { small } else { large };
        step.work = Some(Work { flops: work, bytes: work });
        step.spans = match two {
            true => vec![element; 3],
            false => vec![None, element],
        };
    }
    b
}

/// All steps of the first block as one task graph.
fn as_tasks(b: &mut Builder) {
    let block = &mut b.manifest.blocks[0];
    block.task_graphs = vec![TaskGraph { first: 0, steps: block.steps.len() as u32 }];
}

fn run(context: &mut Context, numbers: &[f32]) -> Vec<f32> {
    context.set_input(0, DType::F32, &[numbers.len() as i64], &bytes_f32(numbers)).unwrap();
    context.run().unwrap();
    f32s(context.output(0).unwrap().bytes)
}

#[test]
fn tasks_give_what_steps_give() {
    let mut random = Random(5);
    for round in 0..40 {
        let n = 1 + random.below(30) as usize;
        let mut model = random_model(n, &mut random);
        let mut steps = model.context(1);
        as_tasks(&mut model);
        let mut graphs: Vec<Context> = [1, 2, 3, 7].map(|threads| model.context(threads)).into();
        for length in [1, 0, 5, 300 + round, 2] {
            let numbers: Vec<f32> = (0..length).map(|i| (i * 7 % 13) as f32).collect();
            let expected = run(&mut steps, &numbers);
            for graph in &mut graphs {
                for _ in 0..3 {
                    assert_eq!(run(graph, &numbers), expected, "round {round}, {length} numbers");
                }
            }
        }
    }
}

#[test]
fn contexts_share_a_pool_and_callers_change_memory() {
    let mut random = Random(9);
    let mut model = random_model(20, &mut random);
    let numbers: Vec<f32> = (0..500).map(|i| i as f32).collect();
    let expected = run(&mut model.context(1), &numbers);
    as_tasks(&mut model);
    let (package, pool) = (Arc::new(model.package().unwrap()), Arc::new(Pool::oversubscribed(3)));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut context = Context::new(package.clone(), pool.clone());
                for _ in 0..50 {
                    let (x, mut y) = (numbers.clone(), vec![0f32; 500]);
                    // SAFETY: both vectors outlive the run, and the context forgets the output before they go.
                    unsafe {
                        context.bind_input(0, DType::F32, &[500], x.as_ptr().cast(), 2000).unwrap();
                        context.bind_output(0, y.as_mut_ptr().cast(), 2000).unwrap();
                    }
                    context.run().unwrap();
                    context.unbind_output(0).unwrap();
                    assert_eq!(y, expected);
                }
            });
        }
    });
}

#[test]
fn the_first_task_at_fault_is_reported() {
    let mut b = Builder::new();
    let (x, dims) = b.input("x", Form::Tensor, DType::F32, 1);
    let large = b.number(1 << 20);
    let (add, fail) = (b.kernel("add", kernels::add), b.kernel("first", kernels::fail_at_five));
    let second = b.kernel("second", kernels::fail_at_five);
    let sum = b.arena("sum", DType::F32, &dims, 0, 4);
    let outs: Vec<ValueId> =
        (0..2).map(|i| b.output(&format!("y{i}"), Form::Tensor, DType::F32, &dims)).collect();
    b.call(0, add, &[x, x], &[sum], &dims);
    b.call(0, fail, &[sum], &[outs[0]], &dims);
    b.call(0, second, &[x], &[outs[1]], &dims);
    for step in &mut b.manifest.blocks[0].steps {
        let Step::Kernel(step) = step else { unreachable!("all are kernels") };
        step.work = Some(Work { flops: large, bytes: large });
    }
    as_tasks(&mut b);
    for threads in [1, 2, 4] {
        let mut context = b.context(threads);
        for _ in 0..50 {
            context.set_input(0, DType::F32, &[4], &bytes_f32(&[1.0; 4])).unwrap();
            context.run().unwrap();
            context.set_input(0, DType::F32, &[9], &bytes_f32(&[1.0; 9])).unwrap();
            let error = context.run().unwrap_err();
            assert!(matches!(&error, Error::Kernel { kernel, code: 1, .. } if kernel == "first"), "{error}");
        }
    }
}

#[test]
fn a_task_gets_no_less_scratch_than_a_step() {
    let mut b = Builder::new();
    let (x, dims) = b.input("x", Form::Tensor, DType::F32, 1);
    let double = b.kernel("double", kernels::double);
    let middle = b.arena("middle", DType::F32, &dims, 0, 1);
    let y = b.output("y", Form::Tensor, DType::F32, &dims);
    b.call(0, double, &[x], &[middle], &dims);
    b.call(0, double, &[middle], &[y], &dims);
    let minus_three = b.number(-3);
    let rest = b.expr(Expr::Add(dims[0], minus_three));
    let scratch = b.expr(Expr::FloorDiv(dims[0], rest));
    for step in &mut b.manifest.blocks[0].steps {
        let Step::Kernel(step) = step else { unreachable!("all are kernels") };
        step.scratch = scratch;
    }
    as_tasks(&mut b);
    let mut context = b.context(2);
    assert_eq!(run(&mut context, &[1.0; 4]), [4.0; 4]);
    context.set_input(0, DType::F32, &[3], &bytes_f32(&[1.0; 3])).unwrap();
    let error = context.run().unwrap_err();
    assert!(matches!(&error, Error::Size { place, .. } if place.contains("double")), "{error}");
    // What is known only during the run is no part of a task graph.
    let (_, late) = b.late("late");
    let Some(Step::Kernel(step)) = b.manifest.blocks[0].steps.last_mut() else { unreachable!("a kernel") };
    step.scratch = late;
    assert!(b.package().is_err());
}

static TILES: AtomicI64 = AtomicI64::new(0);

unsafe extern "C" fn counted(_: *const *mut u8, _: *const i64, begin: i64, end: i64, _: *mut u8) -> i32 {
    TILES.fetch_add(end - begin, Ordering::Relaxed);
    0
}

#[test]
fn every_tile_runs_once_when_threads_have_nothing_to_do() {
    let mut b = Builder::new();
    let (x, dims) = b.input("x", Form::Tensor, DType::F32, 1);
    let (counted, little) = (b.kernel("counted", counted), b.number(100));
    for name in ["y", "z"] {
        let out = b.output(name, Form::Tensor, DType::F32, &dims);
        b.call(0, counted, &[x], &[out], &dims);
        let Some(Step::Kernel(step)) = b.manifest.blocks[0].steps.last_mut() else {
            unreachable!("just pushed")
        };
        step.work = Some(Work { flops: little, bytes: little });
    }
    as_tasks(&mut b);
    // Each step is small enough for one thread, and there are more threads than steps.
    for threads in [1, 2, 3, 8] {
        let mut context = b.context(threads);
        for length in [0, 1, 2, 5] {
            TILES.store(0, Ordering::Relaxed);
            run(&mut context, &vec![1.0; length]);
            assert_eq!(TILES.load(Ordering::Relaxed), 2 * length as i64, "{threads} threads");
        }
    }
}
