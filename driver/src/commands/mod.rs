//! The subcommands, a file each. A command gives an exit code or the diagnostics that `main` prints.

mod bench;
mod check;
mod compile;
mod explain;
mod inspect;
mod ops;
mod opt;
mod run;
mod targets;

// What several commands share.
mod emit;
mod model_args;
mod outputs;
mod passes;
mod profile;
mod progress;

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
  tcc compile model.onnx -o model.tcc
  tcc run model.tcc --input x=x.npy --output-dir results
  tcc bench model.tcc --fill random:1 --json
  tcc explain TCC1001

Exit codes: 0 all went well, 1 something is wrong with the model or the request, 2 wrong usage.";

#[derive(Subcommand)]
enum Command {
    Compile(compile::Args),
    Run(run::Args),
    Bench(bench::Args),
    Check(check::Args),
    Opt(opt::Args),
    Inspect(inspect::Args),
    Ops(ops::Args),
    Explain(explain::Args),
    Targets(targets::Args),
}

/// Parses the command line, runs the command and prints what is wrong.
pub fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Compile(args) => compile::run(args),
        Command::Run(args) => run::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Check(args) => check::run(args),
        Command::Opt(args) => opt::run(args),
        Command::Inspect(args) => inspect::run(&args),
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
