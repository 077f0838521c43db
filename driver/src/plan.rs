//! A package's plan as text: where every value lives, and the steps in order.

use std::fmt::Write;

use tcc_codegen::program::{expr_text as expr, sign};
use tcc_runtime::package::{LoopStep, Manifest, Step, Storage, SymbolId, ValueId};

/// The whole plan: dims, values with their places, and blocks of steps.
pub fn print(manifest: &Manifest) -> String {
    let mut out = String::new();
    // Writing to a string can't fail.
    let _ = write_plan(&mut out, manifest);
    out
}

fn write_plan(out: &mut String, manifest: &Manifest) -> std::fmt::Result {
    writeln!(out, "plan of {}: {} bytes of arena planned", manifest.model, manifest.arena_bytes)?;
    writeln!(out, "\nvalues:")?;
    for (index, value) in manifest.values.iter().enumerate() {
        let dims: Vec<String> = value.dims.iter().map(|&at| expr(manifest, at)).collect();
        let place = storage(manifest, value.storage);
        let form = format!("{:?}", value.form).to_lowercase();
        writeln!(out, "  v{index:<5} {form} {}[{}] {place}  {}", value.dtype, dims.join(", "), value.name)?;
    }
    for (index, block) in manifest.blocks.iter().enumerate() {
        writeln!(out, "\nblock {index}:")?;
        for (at, each) in block.steps.iter().enumerate() {
            if let Some(graph) = block.task_graphs.iter().find(|graph| graph.first as usize == at) {
                writeln!(out, "  task graph of {} steps:", graph.steps)?;
            }
            writeln!(out, "  {}", step(manifest, each))?;
        }
    }
    Ok(())
}

fn storage(manifest: &Manifest, storage: Storage) -> String {
    match storage {
        Storage::Input(index) => format!("input {index}"),
        Storage::Output(index) => format!("output {index}"),
        Storage::Weight { offset } => format!("weight at {offset}"),
        Storage::Arena { fixed, first, last } => match fixed {
            Some(region) => {
                format!("arena {}..{} alive {first}..={last}", region.offset, region.offset + region.bytes)
            }
            None => format!("arena alive {first}..={last}"),
        },
        Storage::Late { slot } => format!("late {slot}"),
        Storage::Object { slot } => format!("object {slot}"),
        Storage::Strings(index) => format!("strings {index}"),
        Storage::Alias { of, byte_offset } => {
            format!("view of v{} at {}", of.0, expr(manifest, byte_offset))
        }
    }
}

fn step(manifest: &Manifest, step: &Step) -> String {
    match step {
        Step::Kernel(call) => format!(
            "{} = {}({}) tiles {} scratch {}",
            values(&call.outputs),
            manifest.kernels[call.kernel.index()].name,
            values(&call.inputs),
            expr(manifest, call.tiles),
            expr(manifest, call.scratch),
        ),
        Step::ReadDim { symbol, value, index } => {
            format!("{} = v{}[{index}]", name(manifest, *symbol), value.0)
        }
        Step::SetDim { symbol, expr: at } => format!("{} = {}", name(manifest, *symbol), expr(manifest, *at)),
        Step::Check(id) => {
            let check = &manifest.checks[id.index()];
            let sign = sign(check.cmp);
            format!("check {} {sign} {}: {}", expr(manifest, check.a), expr(manifest, check.b), check.message)
        }
        Step::Copy { from, to, .. } => format!("v{} = copy v{}", to.0, from.0),
        Step::Builtin(call) => {
            let optional = |list: &[Option<ValueId>]| {
                let text = list.iter().map(|id| id.map_or("_".to_string(), |id| format!("v{}", id.0)));
                text.collect::<Vec<_>>().join(", ")
            };
            format!("{} = {}({})", optional(&call.outputs), call.op, optional(&call.inputs))
        }
        Step::If { cond, then_block, else_block } => {
            format!("if v{} block {} else block {}", cond.0, then_block.0, else_block.0)
        }
        Step::Loop(LoopStep { trip, body, carried, scans, .. }) => format!(
            "loop block {} at most {} times, {} carried, {} stacked",
            body.0,
            trip.map_or("any number of".to_string(), |id| format!("v{}", id.0)),
            carried.len(),
            scans.len(),
        ),
    }
}

fn values(ids: &[ValueId]) -> String {
    ids.iter().map(|id| format!("v{}", id.0)).collect::<Vec<_>>().join(", ")
}

fn name(manifest: &Manifest, symbol: SymbolId) -> &str {
    &manifest.symbols[symbol.index()].name
}
