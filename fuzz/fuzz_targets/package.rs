//! Loads bytes as a package and binds shapes; runs it where it has no machine code and no loops. Each may fail, nothing may
//! crash.
#![no_main]

use std::sync::{Arc, LazyLock};

use libfuzzer_sys::{Corpus, fuzz_mutator, fuzz_target};
use tcc_runtime::package::{Expr, ExprId, Form, Manifest, Step, Value, read_package};
use tcc_runtime::{Context, DType, Package, Pool};

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    tcc_fuzz::mutate(data, size, max_size, seed, tcc_fuzz::package::mutate)
});

fuzz_target!(|data: &[u8]| -> Corpus {
    if read_package(data).is_err() {
        return Corpus::Keep;
    }
    let Ok(package) = Package::from_bytes(data) else { return Corpus::Keep };
    if !is_small(package.manifest()) {
        return Corpus::Keep;
    }
    static POOL: LazyLock<Arc<Pool>> = LazyLock::new(|| Arc::new(Pool::new(1)));
    let harmless = is_harmless(package.manifest());
    let mut context = Context::new(Arc::new(package), POOL.clone());
    for size in [2, 1, 0, 3] {
        set_inputs(&mut context, size);
        if context.prepare().is_ok() && harmless {
            let _ = context.run();
        }
    }
    Corpus::Keep
});

/// Whether binding and running take little memory and time: a package may rightly ask for more than the machine has. What
/// it asks for follows from its sizes alone, a product of dims, so all of them are bounded here; 4,096 elements leave room
/// for every routine's loops, and a routine that compares all pairs still takes milliseconds.
fn is_small(manifest: &Manifest) -> bool {
    let bounds = upper_bounds(&manifest.exprs);
    let count = |value: &Value| {
        value.dims.iter().map(|dim| bounds[dim.index()].max(1)).fold(1, u64::saturating_mul)
    };
    manifest.arena_bytes < 1 << 20
        && bounds.iter().all(|&bound| bound < 1 << 20)
        && manifest.values.iter().all(|value| count(value) <= 1 << 12)
}

/// For each expression a size that it doesn't exceed, as long as no symbol exceeds 16.
fn upper_bounds(exprs: &[Expr]) -> Vec<u64> {
    let mut bounds: Vec<u64> = Vec::with_capacity(exprs.len());
    for expr in exprs {
        let of = |id: &ExprId| bounds[id.index()];
        bounds.push(match expr {
            Expr::Const(size) => size.unsigned_abs(),
            Expr::Symbol(_) => 16,
            Expr::Add(a, b) => of(a).saturating_add(of(b)),
            Expr::Mul(a, b) => of(a).saturating_mul(of(b)),
            Expr::FloorDiv(a, _) | Expr::CeilDiv(a, _) => of(a),
            Expr::Mod(_, b) => of(b),
            Expr::Min(a, b) | Expr::Max(a, b) => of(a).max(of(b)),
            Expr::Select { then, otherwise, .. } => of(then).max(of(otherwise)),
        });
    }
    bounds
}

/// Whether a run ends, and calls nothing but the runtime's own routines.
fn is_harmless(manifest: &Manifest) -> bool {
    let steps = || manifest.blocks.iter().flat_map(|block| &block.steps);
    manifest.kernels.is_empty() && !steps().any(|step| matches!(step, Step::Kernel(_) | Step::Loop(_)))
}

/// Zeros of the declared shapes, with `size` for each dim that is open.
fn set_inputs(context: &mut Context, size: i64) {
    let manifest = context.package().manifest().clone();
    for (index, io) in manifest.inputs.iter().enumerate() {
        let value = &manifest.values[io.value.index()];
        let dim = |id: &ExprId| match manifest.exprs[id.index()] {
            Expr::Const(size) => size.max(0),
            _ => size,
        };
        let shape: Vec<i64> = value.dims.iter().map(dim).collect();
        let count: i64 = shape.iter().product();
        if value.form == Form::Tensor && value.dtype != DType::String && count < 1 << 20 {
            let bytes = vec![0; count as usize * value.dtype.size()];
            // Shapes that don't fit are refused when they are bound.
            let _ = context.set_input(index, value.dtype, &shape, &bytes);
        }
    }
}
