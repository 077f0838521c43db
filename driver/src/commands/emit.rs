//! `--emit`: the stages of a compilation as files, or as text on the screen.

use std::path::{Path, PathBuf};

use tcc::compile::{Compiled, Options};
use tcc::{Diagnostics, Result, link, plan, report, write};
use tcc_codegen::standalone::Standalone;
use tcc_codegen::target::Arch;
use tcc_codegen::{Emit, Target};
use tcc_ir::{Graph, Op};

/// A stage that can be shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Stage {
    /// The graph as imported
    Graph,
    /// The e-graphs of equality saturation, for Graphviz
    Egraph,
    /// The graph of fused kernels, with their text
    Fused,
    /// The kernels alone, in the text form of kernels
    Kernels,
    /// The modules that kernels are lowered to
    Mlir,
    /// LLVM IR after optimisation
    LlvmIr,
    /// Assembly
    Asm,
    /// An object of its own: one C function over the caller's memory, without a runtime
    Obj,
    /// The C header of `obj` and `shared`
    Header,
    /// A shared library of `obj`; for wasm32 a module
    Shared,
    /// PTX, of Nvidia's GPUs
    Ptx,
    /// SPIR-V binaries, of Vulkan's devices
    Spirv,
    /// Values with their places, and steps
    Plan,
}

impl Stage {
    /// What is made of the model as an object of its own.
    const STANDALONE: [Stage; 3] = [Stage::Obj, Stage::Header, Stage::Shared];
}

/// One file of a stage.
pub struct Emitted {
    /// What is appended to the model's name.
    suffix: String,
    bytes: Vec<u8>,
    is_text: bool,
}

impl Emitted {
    fn text(suffix: &str, text: String) -> Emitted {
        Emitted { suffix: suffix.to_string(), bytes: text.into_bytes(), is_text: true }
    }

    fn binary(suffix: &str, bytes: Vec<u8>) -> Emitted {
        Emitted { suffix: suffix.to_string(), bytes, is_text: false }
    }
}

/// The graph as it was imported: the one stage that is gone after the compilation.
pub fn imported(graph: &Graph, stages: &[Stage]) -> Vec<Emitted> {
    let wanted = stages.contains(&Stage::Graph);
    wanted.then(|| Emitted::text("graph.txt", tcc_ir::text::print(graph))).into_iter().collect()
}

/// All other stages. C names begin with `stem`.
pub fn compiled(
    compiled: &Compiled,
    options: &Options,
    stages: &[Stage],
    stem: &str,
) -> Result<Vec<Emitted>> {
    let mut all = Vec::new();
    let standalone = match stages.iter().any(|stage| Stage::STANDALONE.contains(stage)) {
        true => Some(compiled.standalone(options, stem)?),
        false => None,
    };
    for stage in stages {
        match &standalone {
            Some(made) if Stage::STANDALONE.contains(stage) => {
                all.push(standalone_stage(made, &compiled.target, *stage)?);
            }
            _ => all.extend(one(compiled, options, *stage)?),
        }
    }
    Ok(all)
}

fn standalone_stage(made: &Standalone, target: &Target, stage: Stage) -> Result<Emitted> {
    Ok(match stage {
        Stage::Header => Emitted::text("h", made.header.clone()),
        Stage::Shared => {
            let library = link::shared(made, target)?;
            Emitted::binary(library.suffix, library.bytes)
        }
        _ => Emitted::binary("o", made.object.clone()),
    })
}

fn one(compiled: &Compiled, options: &Options, stage: Stage) -> Result<Vec<Emitted>> {
    let modules =
        |emit: Emit, suffix: &str, take: fn(tcc_codegen::Artifacts) -> Option<Emitted>| -> Result<_> {
            let made = compiled.artifacts(options, emit)?.into_iter().filter_map(take).enumerate();
            Ok(made.map(|(at, file)| Emitted { suffix: format!("{at}.{suffix}"), ..file }).collect())
        };
    Ok(match stage {
        // The graph is taken before the compilation, the others are made together.
        Stage::Graph | Stage::Obj | Stage::Header | Stage::Shared => Vec::new(),
        Stage::Egraph => {
            let pictures =
                compiled.report.fusion.regions.iter().filter_map(|r| r.picture.clone()).enumerate();
            pictures.map(|(at, text)| Emitted::text(&format!("{at}.egraph.dot"), text)).collect()
        }
        Stage::Kernels => vec![Emitted::text("kernels.txt", kernels(&compiled.graph))],
        Stage::Fused => vec![Emitted::text("fused.txt", tcc_ir::text::print(&compiled.graph))],
        Stage::Plan => vec![Emitted::text("plan.txt", plan::print(&compiled.program.manifest))],
        Stage::Mlir => {
            let modules = compiled.program.modules.iter().enumerate();
            modules.map(|(at, text)| Emitted::text(&format!("{at}.mlir"), text.clone())).collect()
        }
        Stage::LlvmIr => modules(Emit::LlvmIr, "ll", |made| made.llvm_ir.map(|t| Emitted::text("", t)))?,
        Stage::Asm => modules(Emit::Assembly, "s", |made| made.assembly.map(|t| Emitted::text("", t)))?,
        Stage::Ptx if compiled.target.arch != Arch::Nvptx => return Err(other_target(compiled, "PTX")),
        Stage::Ptx => modules(Emit::Assembly, "ptx", |made| made.assembly.map(|t| Emitted::text("", t)))?,
        Stage::Spirv => {
            modules(Emit::Spirv, "spv", |made| made.spirv.map(|bytes| Emitted::binary("", bytes)))?
        }
    })
}

/// The kernels of a graph and its regions, each below the nodes that it computes.
fn kernels(graph: &Graph) -> String {
    let mut text = String::new();
    for (_, node) in graph.nodes() {
        if let Op::KernelOp(op) = &node.op {
            text += &format!("// {}\n{}\n", node.loc, tcc_ir::text::print_kernel(&op.kernel));
        }
        node.op.visit_graphs(&mut |region| text += &kernels(region));
    }
    text
}

fn other_target(compiled: &Compiled, form: &'static str) -> Diagnostics {
    let target = compiled.target.name.clone();
    report::codegen(&tcc_codegen::Error::NoSuchForm { target, form, advice: "compile for `ptx`" }).into()
}

/// Writes the files into a folder, or text to the screen where none is given.
pub fn deliver(files: &[Emitted], stem: &str, folder: Option<&Path>) -> Result<()> {
    let folder: Option<PathBuf> = match folder {
        Some(folder) => Some(folder.to_path_buf()),
        None => files.iter().any(|file| !file.is_text).then(|| PathBuf::from(".")),
    };
    for file in files {
        match &folder {
            Some(folder) => write::whole(&folder.join(format!("{stem}.{}", file.suffix)), |path| {
                std::fs::write(path, &file.bytes)
            })?,
            None => println!("{}", String::from_utf8_lossy(&file.bytes).trim_end()),
        }
    }
    Ok(())
}
