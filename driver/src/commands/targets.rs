//! `tcc targets`: what can be compiled for.

use std::process::ExitCode;

use tcc::{Result, report};
use tcc_codegen::Target;

/// List the targets
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  tcc targets          a target each line: name, LLVM's CPU, vector width, triple"
)]
pub struct Args {}

pub fn run(_: &Args) -> Result<ExitCode> {
    for name in Target::names() {
        let target = Target::named(name).map_err(|error| report::codegen(&error))?;
        let vectors = match target.vector_bits {
            0 => "no vectors".to_string(),
            bits => format!("{bits}-bit vectors"),
        };
        println!("{name:<12} {:<16} {vectors:<16} {}", target.cpu, target.triple);
    }
    Ok(ExitCode::SUCCESS)
}
