//! `tcc inspect`: what is in a model or a package.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args as _, Command, FromArgMatches};
use tcc::draw::PictureFile;
use tcc::draw::text::plural;
use tcc::port::{self, Port};
use tcc::source::{self, Kind};
use tcc::{Result, compile, plan};
use tcc_ir::{Graph, Op};
use tcc_runtime::package::{Contents, Manifest};

use super::model_args::CompileArgs;
use super::passes::{PassArgs, print_after};
use super::progress::Progress;

/// Show what is in a model or a package
#[derive(clap::Args)]
#[command(after_help = "Examples:
  tcc inspect model.onnx
  tcc inspect model.tcc --plan
  tcc inspect model.onnx --draw model.svg --dim batch=1")]
pub struct Args {
    #[arg(value_name = "MODEL|PKG")]
    file: PathBuf,
    /// Print a package's values with their places, and its steps
    #[arg(long)]
    plan: bool,
    /// Draw the steps of a package, or of the one that a model would become: kernels after fusion, in frames of task graphs
    #[arg(long, value_name = "FILE.svg|FILE.dot")]
    draw: Option<PictureFile>,
    #[command(flatten)]
    compilation: Compilation,
}

/// The options of a compilation, and which of them were given.
struct Compilation {
    compile: CompileArgs,
    passes: PassArgs,
    given: Vec<String>,
}

impl clap::Args for Compilation {
    fn augment_args(command: Command) -> Command {
        PassArgs::augment_args(CompileArgs::augment_args(command))
    }

    fn augment_args_for_update(command: Command) -> Command {
        PassArgs::augment_args_for_update(CompileArgs::augment_args_for_update(command))
    }
}

impl FromArgMatches for Compilation {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Self, clap::Error> {
        let options = Self::augment_args(Command::new("options"));
        let is_given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
        let given = options.get_arguments().filter(|option| is_given(option.get_id().as_str()));
        Ok(Compilation {
            compile: CompileArgs::from_arg_matches(matches)?,
            passes: PassArgs::from_arg_matches(matches)?,
            given: given.filter_map(|option| Some(format!("--{}", option.get_long()?))).collect(),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> std::result::Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Compilation {
    /// What is wrong where nothing is compiled: options that would have no effect.
    fn refused(&self, why: &str) -> Option<String> {
        (!self.given.is_empty()).then(|| format!("{} can't be used {why}", self.given.join(", ")))
    }
}

pub fn run(args: &Args) -> Result<ExitCode> {
    if args.draw.is_none()
        && let Some(problem) = args.compilation.refused("without --draw, as nothing is compiled")
    {
        return Ok(wrong_usage(&problem));
    }
    match source::kind(&args.file)? {
        Kind::Package => {
            if let Some(problem) = args.compilation.refused("with a package, as it is compiled already") {
                return Ok(wrong_usage(&problem));
            }
            let manifest = package(&args.file, args.plan)?;
            args.draw.iter().try_for_each(|picture| picture.draw(&manifest))?;
        }
        Kind::Onnx | Kind::Text => {
            if args.plan {
                let problem =
                    "--plan can't be used with a model, as only a package has a plan; compile it first";
                return Ok(wrong_usage(problem));
            }
            let graph = model(&args.file)?;
            if let Some(picture) = &args.draw {
                draw(picture, graph, args)?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Says what is wrong as clap does.
fn wrong_usage(problem: &str) -> ExitCode {
    eprintln!("error: {problem}\n\nFor more information, try '--help'.");
    ExitCode::from(2)
}

/// Compiles the graph as far as its steps, and draws them.
fn draw(picture: &PictureFile, graph: Graph, args: &Args) -> Result<()> {
    let progress = Progress::start(format!("compiling {}", args.file.display()));
    let asked = &args.compilation;
    let options = asked.compile.options(asked.passes.options()?)?;
    let compiled = compile::translate(graph, &options, &mut print_after)?;
    drop(progress);
    asked.passes.show(&compiled.report);
    picture.draw(&compiled.program.manifest)
}

fn model(path: &Path) -> Result<Graph> {
    let source::Model { graph, onnx } = source::load(path)?;
    println!("model {}", graph.name);
    if let Some(onnx) = &onnx {
        let opsets: Vec<String> = onnx.opsets.iter().map(|(domain, v)| format!("{domain} {v}")).collect();
        row("format", &format!("ONNX, IR version {}, opsets {}", onnx.ir_version, opsets.join(", ")));
        row("producer", &onnx.producer);
        onnx.metadata.iter().for_each(|(key, value)| row(key, value));
    }
    ports("inputs", &port::graph_inputs(&graph));
    ports("outputs", &port::graph_outputs(&graph));
    if let Some(onnx) = &onnx {
        let total: usize = onnx.operators.iter().map(|(_, count)| count).sum();
        println!("operators: {total}");
        onnx.operators.iter().for_each(|(name, count)| println!("  {count:>6} {name}"));
    }
    let mut size = Size::default();
    size.add(&graph);
    println!("graph IR: {} nodes, {} constants of {} bytes", size.nodes, size.constants, size.bytes);
    Ok(graph)
}

#[derive(Default)]
struct Size {
    nodes: usize,
    constants: usize,
    bytes: usize,
}

impl Size {
    fn add(&mut self, graph: &Graph) {
        for (_, node) in graph.nodes() {
            match &node.op {
                Op::Constant(constant) => {
                    self.constants += 1;
                    self.bytes += constant.value.bytes().len();
                }
                _ => self.nodes += 1,
            }
            node.op.visit_graphs(&mut |region| self.add(region));
        }
    }
}

fn package(path: &Path, with_plan: bool) -> Result<Manifest> {
    let Contents { header, manifest } = compile::read(path)?;
    println!("package {}", manifest.model);
    row("producer", &manifest.producer);
    for code in &manifest.sections {
        let needs = if code.cpu_features.is_empty() {
            "nothing special".into()
        } else {
            code.cpu_features.join(", ")
        };
        row("code", &format!("{} ({}), {} bytes, needs {needs}", code.target, code.arch, code.len));
    }
    row("weights", &format!("{} bytes", header.weights.len));
    row("arena", &format!("{} bytes planned", manifest.arena_bytes));
    let steps: usize = manifest.blocks.iter().map(|block| block.steps.len()).sum();
    row(
        "steps",
        &format!(
            "{steps} in {}, {}",
            plural(manifest.blocks.len(), "block"),
            plural(manifest.kernels.len(), "kernel")
        ),
    );
    ports("inputs", &port::package_inputs(&manifest));
    ports("outputs", &port::package_outputs(&manifest));
    launches(&manifest);
    if with_plan {
        println!("\n{}", plan::print(&manifest));
    }
    Ok(manifest)
}

/// The kernels of a package for a GPU.
fn launches(manifest: &Manifest) {
    for code in manifest.sections.iter().filter(|code| code.format.is_gpu()) {
        println!("launches:");
        for (launch, kernel) in code.launches.iter().zip(&manifest.kernels) {
            println!(
                "  {}: {} threads a group, entry {}, {} bytes at {}",
                kernel.name, launch.threads, launch.entry, launch.len, launch.offset
            );
        }
    }
}

fn ports(what: &str, ports: &[Port]) {
    println!("{what}:");
    ports.iter().for_each(|port| println!("  {}: {}", port.name, port.ty));
}

fn row(key: &str, value: &str) {
    println!("  {key:<10} {value}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn options_without_effect_are_refused() {
        let parse = |options: &[&str]| {
            let words = ["inspect", "model.onnx"].iter().chain(options);
            Cli::try_parse_from(words).map(|cli| cli.args.compilation.refused("here"))
        };
        assert_eq!(parse(&[]).unwrap(), None);
        assert_eq!(parse(&["--plan", "--draw", "model.svg"]).unwrap(), None);
        // Also what is the same without the option.
        let given = ["--time-passes", "--dim=N=2", "--draw=model.svg", "--opt-level=3"];
        let problem = parse(&given).unwrap().unwrap();
        assert_eq!(problem, "--dim, --opt-level, --time-passes can't be used here");
    }
}
