//! `tcc opt`: runs passes on a graph and prints it.

use std::path::PathBuf;
use std::process::ExitCode;

use tcc::{Result, source};
use tcc_passes::{Phase, default_pipeline, registry};

use super::model_args::DimArgs;
use super::passes::PassArgs;

/// Run passes on a model and print the graph
#[derive(clap::Args)]
#[command(after_help = examples())]
pub struct Args {
    /// The model: ONNX, or the text form
    file: PathBuf,
    /// Stop when the graph has reached this phase
    #[arg(long, value_name = "PHASE", value_parser = ["imported", "canonical", "fused"], default_value = "fused")]
    until: String,
    #[command(flatten)]
    sizes: DimArgs,
    #[command(flatten)]
    passes: PassArgs,
}

fn examples() -> String {
    let passes: Vec<String> =
        registry::ALL.iter().map(|pass| format!("  {:<14} {}", pass.name, pass.summary)).collect();
    format!(
        "Examples:\n  tcc opt model.onnx --until=canonical --dim batch=1..8\n  tcc opt graph.tcc --passes=fold,dce --verify-each\n\nPasses:\n{}",
        passes.join("\n")
    )
}

pub fn run(args: Args) -> Result<ExitCode> {
    let mut graph = source::load(&args.file)?.graph;
    let phase = Phase::ALL.iter().find(|(_, name)| *name == args.until).map_or(Phase::Fused, |row| row.0);
    let pipeline = default_pipeline().until(phase);
    let options = tcc_passes::Options { dims: args.sizes.dims()?, ..args.passes.options()? };
    let report = tcc_passes::run(&mut graph, &pipeline, &options, &mut super::passes::print_after)?;
    println!("{}", tcc_ir::text::print(&graph));
    args.passes.show(&report);
    Ok(ExitCode::SUCCESS)
}
