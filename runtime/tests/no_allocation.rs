//! A run after binding allocates nothing, on any thread.

mod support;

#[path = "support/kernels.rs"]
mod kernels;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use support::*;
use tcc_runtime::builtin;
use tcc_runtime::package::*;

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(start, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Kernels with scratch, an arena value, a branch, a task graph in a loop over static shapes, and a built-in of a known size.
fn model() -> Builder {
    let mut b = Builder::new();
    let (x, dims) = b.input("x", Form::Tensor, DType::F32, 1);
    let (trip, _) = b.input("trip", Form::Tensor, DType::I64, 0);
    let k = b.weight("k", DType::I64, &[1], &bytes_i64(&[2]));
    let yes = b.weight("yes", DType::Bool, &[], &[1]);
    let two = b.numbers(&[2]);
    let state = b.arena("state", DType::F32, &dims, 0, 10);
    let [twice, next] = ["twice", "next"].map(|name| b.arena(name, DType::F32, &dims, 0, 10));
    let best = b.output("best", Form::Tensor, DType::F32, &two);
    let at = b.output("at", Form::Tensor, DType::I64, &two);
    let (double, add) = (b.kernel("double", kernels::double), b.kernel("add", kernels::add));
    let (body, then_block, else_block) = (b.block(), b.block(), b.block());
    b.push(
        0,
        Step::Loop(LoopStep {
            trip: Some(trip),
            cond_in: None,
            iter: None,
            cond_out: None,
            carried: vec![Carried { init: x, param: state, next, sets: vec![] }],
            scans: vec![],
            body,
            zero_if_empty: vec![],
        }),
    );
    b.push(0, Step::If { cond: yes, then_block, else_block });
    b.builtin(0, &builtin::TopK { axis: 0, largest: true }, &[state, k], &[best, at], &[]);
    b.call(body.0, double, &[state], &[twice], &dims);
    b.call(body.0, double, &[twice], &[next], &dims);
    b.manifest.blocks[1].task_graphs.push(TaskGraph { first: 0, steps: 2 });
    b.call(then_block.0, add, &[state, x], &[state], &dims);
    let (four, large) = (b.number(4), b.number(1 << 20));
    for step in &mut b.manifest.blocks[1].steps {
        if let Step::Kernel(step) = step {
            step.scratch = four;
            step.work = Some(Work { flops: large, bytes: large });
        }
    }
    b
}

/// Without libtest, whose own thread allocates while a test runs.
fn main() {
    for threads in [1, 2] {
        let mut context = model().context(threads);
        let numbers: Vec<f32> = (0..5000).map(|i| ((i * 7919) % 5000) as f32).collect();
        let bytes = bytes_f32(&numbers);
        context.set_input(0, DType::F32, &[5000], &bytes).unwrap();
        context.set_input(1, DType::I64, &[], &3i64.to_ne_bytes()).unwrap();
        context.prepare().unwrap();
        // The pool's threads start in the background: after a run they are all there.
        context.run().unwrap();
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        for _ in 0..20 {
            context.set_input(0, DType::F32, &[5000], &bytes).unwrap();
            context.run().unwrap();
        }
        assert_eq!(ALLOCATIONS.load(Ordering::Relaxed) - before, 0, "with {threads} threads");
        // 4 * 4 * 4 * x + x of the two highest.
        assert_eq!(f32s(context.output(0).unwrap().bytes), [65.0 * 4999.0, 65.0 * 4998.0]);
    }
    println!("test a_run_after_binding_allocates_nothing ... ok");
}
