//! Graphs of kernels to programs of the runtime: blocks of steps, placed values, and the kernels' machine code.

mod builtins;
mod control;
mod expr_text;
mod exprs;
#[cfg(test)]
mod tests;
mod values;
mod walk;
mod weights;

use crate::error::Error;
use crate::lower::{Lowered, lower, lower_without_packing};
use crate::mlir::Function;
use crate::parallel::compile_image;
use crate::target::Target;
use crate::{Emit, Options};
pub use expr_text::{expr_text, sign};
use indexmap::IndexMap;
use tcc_ir::Graph;
use tcc_ir::diag::Diagnostics;
use tcc_runtime::package::{Code, CodeFormat, Kernel, Manifest};
pub use weights::Weights;

/// A compiled model, ready to be written as a package.
pub struct Program {
    pub manifest: Manifest,
    /// Machine code of the one section; none before [`Program::generate`].
    pub code: Vec<u8>,
    pub weights: Weights,
    /// MLIR text of the modules, in order.
    pub modules: Vec<String>,
    /// The kernels, in the order of the manifest's.
    pub functions: Vec<Function>,
    /// Least and largest values of the manifest's symbols; those that a step sets have none.
    pub bounds: Vec<(i64, Option<i64>)>,
}

/// Why a graph couldn't be compiled.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// The target or the runtime lacks something that the model needs: all of it.
    #[error("{0}")]
    Unsupported(Diagnostics),
    #[error(transparent)]
    Codegen(#[from] Error),
}

/// Kernels in one module: enough to share what a module costs, few enough to keep several threads busy.
const KERNELS_PER_MODULE: usize = 12;

/// Compiles a graph in the fused phase for a CPU target.
pub fn compile(
    graph: &Graph,
    target: &Target,
    options: &Options<'_>,
    threads: usize,
) -> Result<Program, CompileError> {
    let mut program = translate(graph, target)?;
    program.generate(target, options, threads)?;
    Ok(program)
}

/// A program without machine code.
pub fn translate(graph: &Graph, target: &Target) -> Result<Program, CompileError> {
    let mut kernels = Kernels { target, known: IndexMap::new(), list: Vec::new() };
    let mut program = walk::walk(graph, &mut kernels).map_err(CompileError::Unsupported)?;
    program.modules = kernels
        .list
        .chunks(KERNELS_PER_MODULE)
        .map(|chunk| {
            let functions: Vec<_> = chunk.iter().map(|(lowered, _)| lowered.function.clone()).collect();
            crate::mlir::module_text("", &functions, target.index_bits)
        })
        .collect();
    program.manifest.kernels = kernels
        .list
        .iter()
        .map(|(lowered, source)| Kernel {
            name: lowered.function.name.clone(),
            source: source.clone(),
            serial: lowered.serial,
        })
        .collect();
    program.functions = kernels.list.into_iter().map(|(lowered, _)| lowered.function).collect();
    Ok(program)
}

impl Program {
    /// Generates the machine code of a package.
    pub fn generate(&mut self, target: &Target, options: &Options<'_>, threads: usize) -> Result<(), Error> {
        if !target.has_packages() {
            return Err(Error::NoPackages { target: target.name.clone() });
        }
        let options = Options { emit: &[Emit::Image], ..*options };
        let image = compile_image(&self.modules, target, &options, threads)?;
        self.manifest.sections = vec![Code {
            target: target.name.clone(),
            arch: target.arch.rust_name().to_string(),
            format: CodeFormat::Flat,
            cpu_features: target.required_features().into_iter().map(str::to_string).collect(),
            offset: 0,
            len: 0,
            entries: self.functions.iter().map(|function| image.entries[&function.name]).collect(),
            launches: Vec::new(),
        }];
        self.code = image.bytes;
        Ok(())
    }
}

/// The kernels of a program, equal ones once.
pub struct Kernels<'a> {
    target: &'a Target,
    known: IndexMap<(String, Vec<crate::mlir::Buffer>, bool), usize>,
    list: Vec<(Lowered, String)>,
}

impl Kernels<'_> {
    /// Lowers a kernel; gives its number and how to call it. Kernels with the same text are one. The runtime takes
    /// scratch memory when shapes are bound: where `is_late` says that a size is known only later, the kernel is
    /// written without packing.
    pub fn add(
        &mut self,
        kernel: &tcc_ir::kernel::Kernel,
        source: &str,
        is_late: &dyn Fn(&tcc_ir::Dim) -> bool,
    ) -> (usize, Lowered) {
        let plain: String =
            kernel.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let name = format!("k{}_{plain}", self.list.len());
        let mut lowered = lower(kernel, &name, self.target);
        if is_late(&lowered.scratch) {
            lowered = lower_without_packing(kernel, &name, self.target);
        }
        let key = (lowered.function.body.clone(), lowered.function.buffers.clone(), lowered.serial);
        let id = *self.known.entry(key).or_insert_with(|| {
            self.list.push((lowered.clone(), source.to_string()));
            self.list.len() - 1
        });
        (id, lowered)
    }
}
