//! `tcc run`: runs a model or a package once.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use tcc::port::{self, Port};
use tcc::source::{self, Kind};
use tcc::{Code, Diagnostic, Result, compile, execute};
use tcc_ir::Value;
use tcc_passes::DimBinding;
use tcc_runtime::{Context, Package};

use super::model_args::{CompileArgs, InputArgs, pool};
use super::outputs::OutputArgs;
use super::profile;
use super::progress::Progress;

/// Run a model or a package
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tcc run model.onnx --fill random:1
  tcc run model.tcc --input x=x.npy --output-dir results
  tcc run model.tcc --inputs all.npz --outputs results.npz --threads 1 --profile
  tcc run model.onnx --input x=x.npy --reference     the reference evaluator instead of compiled code")]
pub struct Args {
    /// The model, which is compiled first, or a package
    #[arg(value_name = "MODEL.onnx|PKG.tcc")]
    model: PathBuf,
    #[command(flatten)]
    inputs: InputArgs,
    #[command(flatten)]
    outputs: OutputArgs,
    #[command(flatten)]
    compile: CompileArgs,
    /// Run on this many threads [default: as many as the process may use]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Print the time of each kernel
    #[arg(long, conflicts_with = "reference")]
    profile: bool,
    /// Run a model with the reference evaluator
    #[arg(long)]
    reference: bool,
}

pub fn run(args: Args) -> Result<ExitCode> {
    let dims = args.compile.sizes.dims()?;
    let is_package = source::kind(&args.model)? == Kind::Package;
    let (ports, outputs) = match (args.reference, is_package) {
        (true, true) => {
            let message = format!("{}: a package has no graph to evaluate", args.model.display());
            return Err(Diagnostic::error(Code::InputMismatch, message)
                .help("give --reference the model that it was compiled from")
                .into());
        }
        (true, false) => evaluate(&args, &dims)?,
        (false, true) => execute(&args, &dims, compile::open_whole(&args.model)?)?,
        (false, false) => {
            compile::check_runs_here(&args.compile.target)?;
            let progress = Progress::start(format!("compiling {}", args.model.display()));
            let options = args.compile.options(tcc_passes::Options::default())?;
            let graph = source::load(&args.model)?.graph;
            let package = compile::compile(graph, &options, &mut |_, _| {})?.package()?;
            drop(progress);
            execute(&args, &dims, package)?
        }
    };
    args.outputs.deliver(&ports, &outputs)?;
    Ok(ExitCode::SUCCESS)
}

fn evaluate(args: &Args, dims: &[DimBinding]) -> Result<(Vec<Port>, Vec<Value>)> {
    let graph = source::load(&args.model)?.graph;
    let inputs = args.inputs.gather(&port::graph_inputs(&graph), dims)?;
    let _progress = Progress::start("evaluating");
    Ok((port::graph_outputs(&graph), execute::evaluate(&graph, &inputs)?))
}

fn execute(args: &Args, dims: &[DimBinding], package: Package) -> Result<(Vec<Port>, Vec<Value>)> {
    let package = Arc::new(package);
    let inputs = args.inputs.gather(&port::package_inputs(package.manifest()), dims)?;
    let pool = pool(args.threads);
    let mut context = Context::new(Arc::clone(&package), pool);
    execute::set_inputs(&mut context, &inputs)?;
    let progress = Progress::start("running");
    if args.profile {
        // The first run reads weights from the file and touches memory, which would hide where time goes.
        execute::run(&mut context)?;
        context.enable_profile(true);
    }
    execute::run(&mut context)?;
    drop(progress);
    if args.profile {
        profile::show(&context.profile());
    }
    Ok((port::package_outputs(package.manifest()), execute::outputs(&context)?))
}
