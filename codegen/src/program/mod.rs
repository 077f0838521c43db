//! Graphs of kernels to programs of the runtime: blocks of steps, placed values, and the kernels' machine code.

mod builtins;
mod control;
mod expr_text;
mod exprs;
mod kernels;
mod prepack;
mod section;
mod tasks;
#[cfg(test)]
pub(crate) mod tests;
mod values;
mod walk;
mod weights;

use crate::Options;
use crate::error::Error;
use crate::gpu::Group;
use crate::mlir::Function;
use crate::target::Target;
pub use expr_text::{expr_text, sign};
use kernels::Kernels;
use tcc_ir::Graph;
use tcc_ir::diag::Diagnostics;
use tcc_runtime::package::Manifest;
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
    /// For a GPU: what the work-groups of each kernel are made of.
    pub groups: Vec<Group>,
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

/// Compiles a graph in the fused phase.
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
    let mut graph = graph.clone();
    prepack::prepack(&mut graph, target);
    let mut kernels = Kernels::new(target);
    let mut program = walk::walk(&graph, &mut kernels).map_err(CompileError::Unsupported)?;
    program.modules = kernels.modules();
    program.manifest.kernels = kernels.manifest();
    program.groups = kernels.list.iter().filter_map(|(lowered, _)| lowered.group.clone()).collect();
    program.functions = kernels.list.into_iter().map(|(lowered, _)| lowered.function).collect();
    Ok(program)
}

impl Program {
    /// Generates the machine code of a package.
    pub fn generate(&mut self, target: &Target, options: &Options<'_>, threads: usize) -> Result<(), Error> {
        if !target.has_packages() {
            return Err(Error::NoPackages { target: target.name.clone() });
        }
        let (section, code) = section::compile(self, target, options, threads)?;
        self.manifest.sections = vec![section];
        self.code = code;
        Ok(())
    }
}
