//! `tcc compile`: a model file in, a package out.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use tcc::compile::Compiled;
use tcc::{Code, Diagnostic, Result, arena, compile, source};

use super::emit::{self, Stage};
use super::model_args::{CompileArgs, stem};
use super::passes::{PassArgs, print_after};
use super::progress::Progress;

/// Compile a model to a package
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tcc compile model.onnx -o model.tcc
  tcc compile model.onnx -o model.tcc --target x86-64-v3 --dim batch=1..32 --stats
  tcc compile model.onnx --emit fused,asm --out-dir stages
  tcc compile model.onnx --emit obj,header --target thumbv7em --out-dir firmware")]
pub struct Args {
    /// The model: ONNX, or the text form of a graph
    model: PathBuf,
    /// The package to write [default: the model's name with .tcc, here; none with --emit]
    #[arg(short, long, value_name = "OUT.tcc")]
    output: Option<PathBuf>,
    #[command(flatten)]
    compile: CompileArgs,
    #[command(flatten)]
    passes: PassArgs,
    /// Write stages of the compilation
    #[arg(long, value_name = "STAGE,..", value_delimiter = ',', value_enum)]
    emit: Vec<Stage>,
    /// Where to write stages; without one, text goes to the screen
    #[arg(long, value_name = "D", requires = "emit")]
    out_dir: Option<PathBuf>,
    /// Print what the compilation made
    #[arg(long)]
    stats: bool,
    /// Generate code on this many threads [default: as many as there are CPUs]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

pub fn run(args: Args) -> Result<ExitCode> {
    let start = Instant::now();
    let stem = stem(&args.model);
    let progress = Progress::start(format!("compiling {}", args.model.display()));
    let mut options = args.compile.options(args.passes.options()?)?;
    options.threads = args.threads.unwrap_or(0);
    options.passes.draw_egraph = args.emit.contains(&Stage::Egraph);
    let graph = source::load(&args.model)?.graph;
    let mut files = emit::imported(&graph, &args.emit);
    let mut compiled = compile::translate(graph, &options, &mut print_after)?;
    let output = match (args.output, args.emit.is_empty()) {
        (None, true) => Some(PathBuf::from(format!("{stem}.tcc"))),
        (output, _) => output,
    };
    if output.is_some() {
        compiled.generate(&options)?;
    }
    files.extend(emit::compiled(&compiled, &options, &args.emit, &stem)?);
    drop(progress);
    emit::deliver(&files, &stem, args.out_dir.as_deref())?;

    if let Some(path) = &output {
        // A relative path may lead to the same file as another one.
        if path.canonicalize().is_ok_and(|to| args.model.canonicalize().is_ok_and(|from| from == to)) {
            let message = format!("{}: the package would take the place of the model", path.display());
            return Err(Diagnostic::error(Code::OutputUnwritable, message)
                .help("give it another name or folder with -o OUT.tcc")
                .into());
        }
        compiled.write(path)?;
    }
    args.passes.show(&compiled.report);
    if args.stats {
        stats(&compiled, start);
    }
    Ok(ExitCode::SUCCESS)
}

fn stats(compiled: &Compiled, start: Instant) {
    let Compiled { program, counts, target, .. } = compiled;
    let steps: usize = program.manifest.blocks.iter().map(|block| block.steps.len()).sum();
    // A thread waits for all others at the end of each.
    let blocks = || program.manifest.blocks.iter();
    let graphs: usize = blocks().map(|block| block.task_graphs.len()).sum();
    let joined: usize = blocks().flat_map(|block| &block.task_graphs).map(|graph| graph.steps as usize).sum();
    let launched = blocks()
        .flat_map(|block| &block.steps)
        .filter(|step| matches!(step, tcc_runtime::package::Step::Kernel(_)));
    let regions = launched.count() - joined + graphs;
    let bound = arena::lower_bound(&program.manifest, &[]);
    let rows = [
        ("target", format!("{} ({})", target.name, target.cpu)),
        ("nodes imported", counts.nodes.to_string()),
        ("kernels after fusion", counts.kernels.to_string()),
        ("kernels compiled", program.manifest.kernels.len().to_string()),
        ("other operators", counts.others.to_string()),
        ("steps of a run", steps.to_string()),
        ("task graphs", graphs.to_string()),
        ("parallel regions", regions.to_string()),
        ("code bytes", program.code.len().to_string()),
        ("weights bytes", program.weights.n_bytes().to_string()),
        ("planned arena bytes", program.manifest.arena_bytes.to_string()),
        ("arena lower bound", bound.map_or("depends on inputs".to_string(), |bytes| bytes.to_string())),
        ("compile ms", format!("{:.1}", start.elapsed().as_secs_f64() * 1e3)),
    ];
    for (what, value) in rows {
        println!("{what:<22} {value}");
    }
    print!("{}", compiled.report.fusion);
}
