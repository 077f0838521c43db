//! `tcc check`: conformance suites.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use tcc::check::memory;
use tcc::check::one::{self, Engine};
use tcc::check::suite::{self, Suite};
use tcc::check::{Outcome, Verdict};
use tcc::compare::Tolerance;
use tcc::draw::text::plural;
use tcc::{Code, Diagnostic, Result, compile};

use super::passes::RewriteArgs;

/// Run models with known answers, and compare
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tcc check --suite cases                 everything below, failures shown
  tcc check --suite cases --json          a JSON object a case: name, result, detail
  tcc check --suite cases/node --match conv --opt-level 0
  tcc check --suite cases --fusion vertical
  tcc check --suite cases --target spirv  on a GPU, or a Vulkan driver for CPUs

A case is a folder with model.onnx and test_data_set_N/{input,output}_I.pb. A case.json in it may state \"expect\"
(values or error), \"rtol\", \"atol\" and what else is right (\"alt\": error, values or nocrash). A cases.jsonl beside
the suite may state rtol and atol by kind and name; the default is ONNX's, 1e-3 and 1e-7.

A case that takes more than --memory counts as a crash. The exit code is 1 if a case is wrong, crashes or takes too long.")]
pub struct Args {
    /// Check every folder below that has a model.onnx
    #[arg(long, value_name = "DIR", required_unless_present = "one")]
    suite: Option<PathBuf>,
    /// Print a JSON object for each case
    #[arg(long)]
    json: bool,
    /// Run this many cases at a time [default: as many as there are CPUs]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Give a case at most this many seconds
    #[arg(long, value_name = "S", default_value_t = 60.0)]
    timeout: f64,
    /// Give a case at most this many gigabytes of memory
    #[arg(long, value_name = "GB", default_value_t = 8.0)]
    memory: f64,
    /// Only cases whose name contains this
    #[arg(long = "match", value_name = "TEXT", default_value = "")]
    matching: String,
    /// Check the reference evaluator instead of compiled code
    #[arg(long)]
    reference: bool,
    /// Compile for this target; `tcc targets` lists them
    #[arg(long, value_name = "T", default_value = "host", conflicts_with = "reference")]
    target: String,
    /// How much to optimise: 0 nothing, 1 without fusion, 2 and 3 everything
    #[arg(long, value_name = "L", default_value_t = 3, value_parser = clap::value_parser!(u8).range(0..=3))]
    opt_level: u8,
    #[command(flatten)]
    rewriting: RewriteArgs,
    /// Check one case in this process, and print its JSON object
    #[arg(long, value_name = "DIR", hide = true, conflicts_with = "suite")]
    one: Option<PathBuf>,
    #[arg(long, hide = true, default_value_t = Tolerance::default().rtol)]
    rtol: f64,
    #[arg(long, hide = true, default_value_t = Tolerance::default().atol)]
    atol: f64,
}

pub fn run(args: Args) -> Result<ExitCode> {
    if let Some(folder) = &args.one {
        let passes = args.rewriting.apply(tcc_passes::Options::default());
        let options = compile::Options { target: args.target, level: args.opt_level, passes, threads: 1 };
        let engine = if args.reference { Engine::Reference } else { Engine::Compiled(options) };
        let tolerance = Tolerance { rtol: args.rtol, atol: args.atol, ..Tolerance::default() };
        memory::limit(gigabytes(args.memory)?)?;
        let outcome = one::check(folder, &engine, tolerance);
        println!("{}", outcome.to_json(&folder.display().to_string()));
        return Ok(ExitCode::SUCCESS);
    }
    let Some(folder) = args.suite.clone() else { return Ok(ExitCode::from(2)) };
    let timeout = Duration::try_from_secs_f64(args.timeout).map_err(|error| {
        Diagnostic::error(Code::InputMismatch, format!("--timeout {}: {error}", args.timeout))
    })?;
    gigabytes(args.memory)?;
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let mut arguments = vec![format!("--opt-level={}", args.opt_level), format!("--memory={}", args.memory)];
    arguments.extend(args.rewriting.arguments());
    // The two exclude each other.
    arguments.push(match args.reference {
        true => "--reference".to_string(),
        false => format!("--target={}", args.target),
    });
    let suite =
        Suite { folder, matching: args.matching, jobs: args.jobs.unwrap_or(cpus), timeout, arguments };
    let mut counts = Verdict::ALL.map(|verdict| (verdict, 0));
    suite::run(&suite, &mut |name, outcome| {
        if let Some((_, count)) = counts.iter_mut().find(|(verdict, _)| *verdict == outcome.verdict) {
            *count += 1;
        }
        show(name, outcome, args.json);
    })?;
    let total: usize = counts.iter().map(|(_, count)| count).sum();
    let counted: Vec<String> = counts.iter().map(|(verdict, count)| format!("{count} {verdict}")).collect();
    eprintln!("{}: {}", plural(total, "case"), counted.join(", "));
    let grave = counts.iter().any(|(verdict, count)| verdict.is_grave() && *count > 0);
    Ok(if grave { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// A size in bytes from one in gigabytes.
fn gigabytes(size: f64) -> Result<u64> {
    let bytes = size * f64::from(1 << 30);
    if bytes >= 1.0 && bytes < u64::MAX as f64 {
        return Ok(bytes as u64);
    }
    Err(Diagnostic::error(Code::InputMismatch, format!("--memory {size}: not a size in gigabytes")).into())
}

/// People read the failures only; programs read everything.
fn show(name: &str, outcome: &Outcome, json: bool) {
    match (json, outcome.verdict) {
        (true, _) => println!("{}", outcome.to_json(name)),
        (false, Verdict::Pass) => {}
        (false, verdict) => println!("{verdict:<11} {name}: {}", outcome.detail),
    }
}
