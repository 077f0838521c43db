//! `tcc inspect`: what is in a model or a package.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tcc::draw::PictureFile;
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
    compile: CompileArgs,
    #[command(flatten)]
    passes: PassArgs,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    match source::kind(&args.file)? {
        Kind::Package => {
            let manifest = package(&args.file, args.plan)?;
            args.draw.iter().try_for_each(|picture| picture.draw(&manifest))?;
        }
        Kind::Onnx | Kind::Text => {
            let graph = model(&args.file)?;
            if let Some(picture) = &args.draw {
                draw(picture, graph, args)?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Compiles the graph as far as its steps, and draws them.
fn draw(picture: &PictureFile, graph: Graph, args: &Args) -> Result<()> {
    let progress = Progress::start(format!("compiling {}", args.file.display()));
    let options = args.compile.options(args.passes.options()?)?;
    let compiled = compile::translate(graph, &options, &mut print_after)?;
    drop(progress);
    args.passes.show(&compiled.report);
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
    row("steps", &format!("{steps} in {} blocks, {} kernels", manifest.blocks.len(), manifest.kernels.len()));
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
