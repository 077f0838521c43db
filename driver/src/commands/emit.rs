//! `--emit`: the stages of a compilation as files, or as text on the screen.

use std::path::{Path, PathBuf};

use tcc::compile::{Compiled, Options};
use tcc::{Result, plan, write};
use tcc_codegen::Emit;
use tcc_ir::Graph;

/// A stage that can be shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Stage {
    /// The graph as imported
    Graph,
    /// The graph of fused kernels, with their text
    Fused,
    /// The modules that kernels are lowered to
    Mlir,
    /// LLVM IR after optimisation
    LlvmIr,
    /// Assembly
    Asm,
    /// Object files
    Obj,
    /// Values with their places, and steps
    Plan,
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
}

/// The graph as it was imported: the one stage that is gone after the compilation.
pub fn imported(graph: &Graph, stages: &[Stage]) -> Vec<Emitted> {
    let wanted = stages.contains(&Stage::Graph);
    wanted.then(|| Emitted::text("graph.txt", tcc_ir::text::print(graph))).into_iter().collect()
}

/// All other stages.
pub fn compiled(compiled: &Compiled, options: &Options, stages: &[Stage]) -> Result<Vec<Emitted>> {
    let mut all = Vec::new();
    for stage in stages {
        all.extend(one(compiled, options, *stage)?);
    }
    Ok(all)
}

fn one(compiled: &Compiled, options: &Options, stage: Stage) -> Result<Vec<Emitted>> {
    let modules =
        |emit: Emit, suffix: &str, take: fn(tcc_codegen::Artifacts) -> Option<Emitted>| -> Result<_> {
            let made = compiled.artifacts(options, emit)?.into_iter().filter_map(take).enumerate();
            Ok(made.map(|(at, file)| Emitted { suffix: format!("{at}.{suffix}"), ..file }).collect())
        };
    Ok(match stage {
        Stage::Graph => Vec::new(),
        Stage::Fused => vec![Emitted::text("fused.txt", tcc_ir::text::print(&compiled.graph))],
        Stage::Plan => vec![Emitted::text("plan.txt", plan::print(&compiled.program.manifest))],
        Stage::Mlir => {
            let modules = compiled.program.modules.iter().enumerate();
            modules.map(|(at, text)| Emitted::text(&format!("{at}.mlir"), text.clone())).collect()
        }
        Stage::LlvmIr => modules(Emit::LlvmIr, "ll", |made| made.llvm_ir.map(|t| Emitted::text("", t)))?,
        Stage::Asm => modules(Emit::Assembly, "s", |made| made.assembly.map(|t| Emitted::text("", t)))?,
        Stage::Obj => modules(Emit::Object, "o", |made| {
            made.object.map(|bytes| Emitted { suffix: String::new(), bytes, is_text: false })
        })?,
    })
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
