//! The subcommands, a file each. A command gives an exit code or the diagnostics that `main` prints.

mod check;
mod explain;
mod ops;
mod opt;
mod passes;
mod targets;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tcc::Result;

/// Compiles trained models ahead of time, and runs what it compiled.
#[derive(Parser)]
#[command(name = "tcc", version, propagate_version = true, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  tcc opt model.onnx --passes=fold,dce
  tcc check --suite cases --reference
  tcc explain TCC1001

Exit codes: 0 all went well, 1 something is wrong with the model or the request, 2 wrong usage.";

#[derive(Subcommand)]
enum Command {
    Check(check::Args),
    Opt(opt::Args),
    Ops(ops::Args),
    Explain(explain::Args),
    Targets(targets::Args),
}

/// Parses the command line, runs the command and prints what is wrong.
pub fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Check(args) => check::run(args),
        Command::Opt(args) => opt::run(args),
        Command::Ops(args) => ops::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Targets(args) => targets::run(&args),
    };
    finish(result)
}

fn finish(result: Result<ExitCode>) -> ExitCode {
    result.unwrap_or_else(|found| {
        eprintln!("{found}");
        let codes: std::collections::BTreeSet<&str> = found.0.iter().map(|d| d.code.id()).collect();
        let codes: Vec<&str> = codes.into_iter().collect();
        if !codes.is_empty() {
            eprintln!("\nMore on a code: tcc explain {}", codes.join(", "));
        }
        ExitCode::FAILURE
    })
}
