//! Runs a package on inputs of zeros and prints each output's shape: `cargo run -p tcc-runtime --example run_package -- MODEL.tcc`.

use std::sync::Arc;

use tcc_runtime::package::Expr;
use tcc_runtime::{Context, Package, Pool, Result};

fn main() {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: run_package MODEL.tcc");
        std::process::exit(2);
    };
    if let Err(error) = run(&path) {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
}

fn run(path: &str) -> Result<()> {
    let package = Arc::new(Package::open(path)?);
    let manifest = package.manifest();
    let mut context = Context::new(package.clone(), Arc::new(Pool::new(0)));
    for (index, input) in manifest.inputs.iter().enumerate() {
        let value = &manifest.values[input.value.index()];
        // Sizes that the model leaves open are 1.
        let size = |dim: &tcc_runtime::package::ExprId| match manifest.exprs[dim.index()] {
            Expr::Const(size) => size,
            _ => 1,
        };
        let shape: Vec<i64> = value.dims.iter().map(size).collect();
        let elements = shape.iter().product::<i64>() as usize;
        context.set_input(index, value.dtype, &shape, &vec![0; elements * value.dtype.size()])?;
    }
    context.run()?;
    for (index, output) in manifest.outputs.iter().enumerate() {
        let tensor = context.output(index)?;
        println!("{}: {} {:?}", output.name, tensor.dtype, tensor.shape);
    }
    Ok(())
}
