//! From a graph to a package: passes, code generation, file.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use tcc_codegen::program::{self, CompileError, Program};
use tcc_codegen::standalone::{self, Standalone};
use tcc_codegen::{Emit, OptLevel, Target};
use tcc_ir::{Graph, Op};
use tcc_passes::{FusionLevel, Pass, Phase, Report, default_pipeline};
use tcc_runtime::Package;
use tcc_runtime::package::{Contents, WriteError, read_package_file, write_package_file};

use crate::{Code, Diagnostic, Diagnostics, Result, report};

/// How to compile.
#[derive(Clone, Debug)]
pub struct Options {
    /// A name that [`Target::named`] takes.
    pub target: String,
    /// 0: only what is needed; 1: simplified, a kernel an operator; 2 and 3: kernels are fused.
    pub level: u8,
    pub passes: tcc_passes::Options,
    /// Threads that generate code; 0: as many as there are CPUs.
    pub threads: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options { target: "host".to_string(), level: 3, passes: tcc_passes::Options::default(), threads: 0 }
    }
}

/// A compiled model, in memory.
pub struct Compiled {
    /// The graph that code was generated from, in the fused phase.
    pub graph: Graph,
    pub target: Target,
    pub program: Program,
    pub report: Report,
    pub counts: Counts,
}

/// Nodes at the stages of a compilation, regions included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// As imported.
    pub nodes: usize,
    /// What became kernels.
    pub kernels: usize,
    /// What calls the runtime's own routines, or is control flow.
    pub others: usize,
}

/// Compiles a graph for a package. `observe` sees the graph after each pass that the options name in `print_after`.
///
/// # Errors
/// All that the target can't do, and whatever a pass or the code generator says against the model.
pub fn compile(graph: Graph, options: &Options, observe: &mut dyn FnMut(&Pass, &Graph)) -> Result<Compiled> {
    let mut compiled = translate(graph, options, observe)?;
    compiled.generate(options)?;
    Ok(compiled)
}

/// Compiles a graph as far as all kinds of output go: without a package's machine code.
pub fn translate(
    mut graph: Graph,
    options: &Options,
    observe: &mut dyn FnMut(&Pass, &Graph),
) -> Result<Compiled> {
    let target = Target::named(&options.target).map_err(|error| report::codegen(&error))?;
    let nodes = count(&graph, &|_| true);
    let report = optimise(&mut graph, options, &target, observe)?;
    let kernels = count(&graph, &|op| matches!(op, Op::KernelOp(_)));
    let constants = count(&graph, &|op| matches!(op, Op::Constant(_)));
    let counts = Counts { nodes, kernels, others: count(&graph, &|_| true) - kernels - constants };
    let mut program = program::translate(&graph, &target).map_err(refused)?;
    if options.level > 1 && options.passes.fusion >= FusionLevel::Megakernel && !target.is_gpu() {
        program.form_task_graphs();
    }
    Ok(Compiled { graph, target, program, report, counts })
}

fn refused(error: CompileError) -> Diagnostics {
    match error {
        CompileError::Unsupported(found) => found,
        CompileError::Codegen(error) => report::codegen(&error).into(),
    }
}

/// Runs the passes that the options ask for.
fn optimise(
    graph: &mut Graph,
    options: &Options,
    target: &Target,
    observe: &mut dyn FnMut(&Pass, &Graph),
) -> Result<Report> {
    let mut passes = options.passes.clone();
    passes.machine = passes.assumed.of(machine(target));
    if options.level == 0 && passes.opt_bisect_limit.is_none() {
        passes.opt_bisect_limit = Some(0);
    }
    if options.level != 1 || passes.passes.is_some() {
        return Ok(tcc_passes::run(graph, &default_pipeline(), &passes, observe)?);
    }
    let mut report = tcc_passes::run(graph, &default_pipeline().until(Phase::Canonical), &passes, observe)?;
    passes.passes = Some(vec!["kernels".to_string()]);
    report.applications.extend(tcc_passes::run(graph, &default_pipeline(), &passes, observe)?.applications);
    Ok(report)
}

/// The machine that fusion estimates costs for.
fn machine(target: &Target) -> tcc_passes::Machine {
    let known = tcc_codegen::machine::Machine::of(target);
    tcc_passes::Machine {
        cores: known.cores,
        vector_bytes: known.vector_bits / 8,
        flops_per_cycle: known.flops_per_cycle,
        pairs_per_cycle: known.pairs_per_cycle,
        caches: [known.l1, known.l2, known.l3],
        bandwidth: known.bandwidth,
        // What a thread of any device has for itself.
        scratch: target.is_gpu().then_some(4 << 10),
        row_block: tcc_codegen::row_block(target),
        panel: tcc_codegen::panel(target),
        // Clocks change while a machine runs; what is compiled must not.
        ..tcc_passes::Machine::default()
    }
}

fn codegen_options<'a>(options: &Options, emit: &'a [Emit]) -> tcc_codegen::Options<'a> {
    let opt = match options.level {
        0 => OptLevel::None,
        1 => OptLevel::Fast,
        _ => OptLevel::Full,
    };
    tcc_codegen::Options { opt, ..tcc_codegen::Options::new(emit) }
}

fn threads(options: &Options) -> usize {
    match options.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    }
}

/// Nodes of a graph and its regions for whose operator `which` holds.
fn count(graph: &Graph, which: &dyn Fn(&Op) -> bool) -> usize {
    graph
        .nodes()
        .map(|(_, node)| {
            let mut n = usize::from(which(&node.op));
            node.op.visit_graphs(&mut |region| n += count(region, which));
            n
        })
        .sum()
}

impl Compiled {
    /// Generates the machine code of a package.
    pub fn generate(&mut self, options: &Options) -> Result<()> {
        let made = self.program.generate(&self.target, &codegen_options(options, &[]), threads(options));
        Ok(made.map_err(|error| report::codegen(&error))?)
    }

    /// The model as an object of its own with a C header; all its names begin with `name`.
    pub fn standalone(&self, options: &Options, name: &str) -> Result<Standalone> {
        let options = codegen_options(options, &[]);
        standalone::compile(&self.program, name, &self.target, &options).map_err(refused)
    }

    /// Writes the package. `path` never holds half a package.
    pub fn write(&mut self, path: &Path) -> Result<()> {
        let Program { manifest, code, weights, .. } = &mut self.program;
        let mut weights = |out: &mut dyn Write| weights.write(out);
        write_package_file(path, manifest, &[code], &mut weights).map_err(|error| match error {
            WriteError::Io(error) => report::unwritable(path, error).into(),
            WriteError::Invalid(_) => Diagnostic::error(Code::CodegenFailed, error.to_string()).into(),
        })
    }

    /// The package, opened as from a file.
    pub fn package(&mut self) -> Result<Package> {
        let file = TemporaryFile::new();
        self.write(file.path())?;
        // The file may go as soon as it is open: it stays mapped.
        open(file.path())
    }

    /// The modules of all kernels in another form: LLVM IR, assembly or objects, one a module.
    pub fn artifacts(&self, options: &Options, emit: Emit) -> Result<Vec<tcc_codegen::Artifacts>> {
        let emit = [emit];
        let options_of = codegen_options(options, &emit);
        let all =
            tcc_codegen::compile_all(&self.program.modules, &self.target, &options_of, threads(options));
        all.into_iter().map(|made| made.map_err(|error| report::codegen(&error).into())).collect()
    }
}

/// Refuses a target whose code this machine can't run, before anything is compiled for it.
pub fn check_runs_here(target: &str) -> Result<()> {
    let target = Target::named(target).map_err(|error| report::codegen(&error))?;
    let (arch, here) = (target.arch.rust_name(), std::env::consts::ARCH);
    if target.is_gpu() || arch == here {
        return Ok(());
    }
    let message = format!("target `{}`: its code is for {arch}, and this machine is {here}", target.name);
    Err(Diagnostic::error(Code::TargetUnsupported, message)
        .help("leave out --target to run it here; `tcc compile` makes a package for another machine")
        .into())
}

/// Opens a package, to run it.
pub fn open(path: &Path) -> Result<Package> {
    Package::open(path).map_err(|error| bad_package(&error, path))
}

/// Opens a package and reads all of it: damaged weights are an error too.
pub fn open_whole(path: &Path) -> Result<Package> {
    let package = open(path)?;
    verify(&package, path)?;
    Ok(package)
}

/// Reads all weights of a package that was opened: damaged ones are an error.
pub fn verify(package: &Package, path: &Path) -> Result<()> {
    Ok(package.verify_weights().map_err(|error| bad_package(&error, path))?)
}

/// Reads what a package says about itself, also of one for another machine.
pub fn read(path: &Path) -> Result<Contents> {
    read_package_file(path).map_err(|error| bad_package(&error, path))
}

fn bad_package(error: &tcc_runtime::Error, path: &Path) -> Diagnostics {
    report::in_file(report::runtime(error).into(), path)
}

/// A name in the system's folder for temporary files; what is there is removed in the end.
pub struct TemporaryFile(PathBuf);

impl TemporaryFile {
    pub fn new() -> TemporaryFile {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tcc-{}-{number}.tcc", std::process::id());
        TemporaryFile(std::env::temp_dir().join(name))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Default for TemporaryFile {
    fn default() -> Self {
        TemporaryFile::new()
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // It may never have been made.
        let _ = std::fs::remove_file(&self.0);
    }
}
