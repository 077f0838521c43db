//! Runs a package over and over while its shapes change, and prints the memory that it holds: it must not grow.
//!
//!     changing_shapes MODEL.tcc RUNS [NAME=SIZE,SIZE,..]...
//!
//! Each NAME is a dim of the model, which takes its SIZEs in turn; dims that aren't named are 1. Inputs are zeros, or ones
//! where they are integers.

use std::sync::Arc;

use tcc_runtime::package::{DType, Expr, Form, Manifest, SymbolId};
use tcc_runtime::{Context, Package, Pool};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, runs, dims @ ..] = &arguments[..] else {
        return Err("usage: changing_shapes MODEL.tcc RUNS [NAME=SIZE,SIZE,..]...".into());
    };
    let runs: usize = runs.parse()?;
    let dims: Vec<(&str, Vec<i64>)> = dims.iter().map(|dim| parse(dim)).collect::<Result<_, _>>()?;
    let package = Arc::new(Package::open(path)?);
    let mut context = Context::new(Arc::clone(&package), Arc::new(Pool::new(1)));
    let mut first = None;
    for run in 0..runs {
        let size = |id: SymbolId| {
            let name = &package.manifest().symbols[id.index()].name;
            let sizes = dims.iter().find(|(dim, _)| dim == name).map(|(_, sizes)| sizes);
            sizes.map_or(1, |sizes| sizes[run % sizes.len()])
        };
        set_inputs(&mut context, package.manifest(), &size)?;
        context.run()?;
        // Every size has been seen twice by then.
        if run + 1 == 100.min(runs) || run + 1 == runs {
            let held = (context.memory_bytes(), resident_bytes()?);
            println!("after {:5} runs: {} bytes held, {} resident", run + 1, held.0, held.1);
            let (bytes, _) = *first.get_or_insert(held);
            if held.0 > bytes {
                return Err(format!("it grew by {} bytes", held.0 - bytes).into());
            }
        }
    }
    Ok(())
}

fn parse(dim: &str) -> Result<(&str, Vec<i64>), Failure> {
    let (name, sizes) = dim.split_once('=').ok_or_else(|| format!("`{dim}` isn't NAME=SIZE,SIZE,.."))?;
    let sizes: Vec<i64> = sizes.split(',').map(str::parse).collect::<Result<_, _>>()?;
    Ok((name, sizes))
}

fn set_inputs(
    context: &mut Context,
    manifest: &Manifest,
    size: &dyn Fn(SymbolId) -> i64,
) -> Result<(), Failure> {
    for (index, io) in manifest.inputs.iter().enumerate() {
        let value = &manifest.values[io.value.index()];
        if value.form != Form::Tensor || value.dtype == DType::String {
            return Err(format!("input {} isn't a tensor of numbers", io.name).into());
        }
        let extent = |at: &tcc_runtime::package::ExprId| match manifest.exprs[at.index()] {
            Expr::Const(extent) => Ok(extent),
            Expr::Symbol(symbol) => Ok(size(symbol)),
            _ => Err(format!("input {} has a dim that is computed from others", io.name)),
        };
        let shape: Vec<i64> = value.dims.iter().map(extent).collect::<Result<_, _>>()?;
        let count: i64 = shape.iter().product();
        let one: &[u8] = match value.dtype {
            DType::I64 | DType::U64 => &[1, 0, 0, 0, 0, 0, 0, 0],
            DType::I32 | DType::U32 => &[1, 0, 0, 0],
            _ => &[0; 16][..value.dtype.size()],
        };
        context.set_input(index, value.dtype, &shape, &one.repeat(usize::try_from(count)?))?;
    }
    Ok(())
}

/// Memory of the process that is in use.
fn resident_bytes() -> Result<u64, Failure> {
    let pages = std::fs::read_to_string("/proc/self/statm")?;
    let pages: u64 = pages.split(' ').nth(1).unwrap_or_default().parse()?;
    Ok(pages * 4096)
}
