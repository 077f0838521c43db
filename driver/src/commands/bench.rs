//! `tcc bench`: how fast a model runs, and what it needs.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tcc::source::{self, Kind};
use tcc::{Code, Diagnostic, Result, arena, compile, execute, port, report};
use tcc_ir::{Tensor, Value};
use tcc_runtime::Context;

use super::model_args::{CompileArgs, InputArgs, pool};

/// Measure a model or a package
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tcc bench model.onnx --fill random:1 --threads 1
  tcc bench model.tcc --input x=x.npy --seconds 5 --json

Runs are timed one after the other, after some that aren't. A model is compiled in a process of its own, so that
peak_rss_bytes is what running it takes.")]
pub struct Args {
    /// The model, which is compiled first, or a package
    #[arg(value_name = "MODEL|PKG")]
    model: PathBuf,
    #[command(flatten)]
    inputs: InputArgs,
    #[command(flatten)]
    compile: CompileArgs,
    /// Run on this many threads [default: as many as the process may use]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Time runs for this long
    #[arg(long, value_name = "S", default_value_t = 2.0)]
    seconds: f64,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> Result<ExitCode> {
    let dims = args.compile.sizes.dims()?;
    let seconds = Duration::try_from_secs_f64(args.seconds).map_err(|error| {
        Diagnostic::error(Code::InputMismatch, format!("--seconds {}: {error}", args.seconds))
    })?;
    let made = compile::TemporaryFile::new();
    let (path, compile_ms) = match source::kind(&args.model)? {
        Kind::Package => (args.model.as_path(), None),
        Kind::Onnx | Kind::Text => match compile_apart(&args, made.path())? {
            Some(ms) => (made.path(), Some(ms)),
            // The other process has said why.
            None => return Ok(ExitCode::FAILURE),
        },
    };

    let start = Instant::now();
    let package = Arc::new(compile::open(path)?);
    let load_ms = milliseconds(start.elapsed());
    // Reading all weights isn't part of loading.
    compile::verify(&package, path)?;
    let artifact_bytes = std::fs::metadata(path).map_err(|error| report::unreadable(path, error))?.len();

    let inputs = args.inputs.gather(&port::package_inputs(package.manifest()), &dims)?;
    let mut context = Context::new(Arc::clone(&package), pool(args.threads));
    execute::set_inputs(&mut context, &inputs)?;
    let times = measure(&mut context, seconds)?;
    let result = json!({
        "latency_ms_median": times[times.len() / 2],
        "latency_ms_min": times[0],
        "iterations": times.len(),
        "compile_ms": compile_ms,
        "load_ms": load_ms,
        "artifact_bytes": artifact_bytes,
        "arena_bytes": context.arena_bytes(),
        "arena_lower_bound_bytes": arena::lower_bound(package.manifest(), &shapes(&inputs)),
        "weights_bytes": package.weights_bytes(),
        "peak_rss_bytes": peak_rss_bytes(),
        "kernels": package.manifest().kernels.len(),
    });
    match (args.json, result.as_object()) {
        (false, Some(rows)) => {
            rows.iter().for_each(|(key, value)| match value.as_f64().filter(|_| value.is_f64()) {
                Some(ms) => println!("{key:<23} {ms:.3}"),
                None => println!("{key:<23} {value}"),
            })
        }
        _ => println!("{result}"),
    }
    Ok(ExitCode::SUCCESS)
}

/// The shape of each input; empty for what isn't a tensor.
fn shapes(inputs: &[Value]) -> Vec<Vec<i64>> {
    let shape =
        |value: &Value| value.as_tensor().map_or(&[][..], Tensor::shape).iter().map(|&n| n as i64).collect();
    inputs.iter().map(shape).collect()
}

/// Compiles in a process of its own; the time it took in ms, or `None` where it failed.
fn compile_apart(args: &Args, to: &Path) -> Result<Option<f64>> {
    compile::check_runs_here(&args.compile.target)?;
    let failed =
        |error: std::io::Error| Diagnostic::error(Code::ResourceLimit, format!("no other process: {error}"));
    let start = Instant::now();
    let status = Command::new(std::env::current_exe().map_err(failed)?)
        .arg("compile")
        .args(args.compile.arguments())
        .arg("-o")
        .arg(to)
        .arg("--")
        .arg(&args.model)
        .stdout(Stdio::null())
        .status()
        .map_err(failed)?;
    Ok(status.success().then(|| milliseconds(start.elapsed())))
}

/// Runs that aren't timed: pages are touched, threads are awake, the clock is up.
const WARM_UP: usize = 3;
/// Timed runs at least, however long they take.
const FEWEST: usize = 3;

/// The times of runs in ms, ascending.
fn measure(context: &mut Context, seconds: Duration) -> Result<Vec<f64>> {
    for _ in 0..WARM_UP {
        execute::run(context)?;
    }
    let mut times = Vec::new();
    let start = Instant::now();
    while times.len() < FEWEST || start.elapsed() < seconds {
        let before = Instant::now();
        let ran = context.run();
        times.push(milliseconds(before.elapsed()));
        ran.map_err(|error| report::runtime(&error))?;
    }
    times.sort_by(f64::total_cmp);
    Ok(times)
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The most memory that this process ever had.
fn peak_rss_bytes() -> Option<i64> {
    // SAFETY: all-zero bytes are a valid rusage: it is a struct of integers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is valid for writing.
    let done = unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    (done == 0).then(|| usage.ru_maxrss * 1024)
}
