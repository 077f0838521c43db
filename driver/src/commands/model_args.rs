//! The options of commands that compile a model, or take a package that was compiled from one.

use std::path::Path;
use std::sync::Arc;

use tcc::fill::Sizes;
use tcc::inputs::{self, Sources};
use tcc::port::Port;
use tcc::{Diagnostics, Result, compile};
use tcc_ir::Value;
use tcc_passes::DimBinding;
use tcc_runtime::Pool;

/// Sizes that the user fixes or bounds.
#[derive(clap::Args, Clone)]
pub struct DimArgs {
    /// Fix a symbolic size, or bound it
    #[arg(long, value_name = "NAME=V|LO..HI")]
    dim: Vec<String>,
}

impl DimArgs {
    /// What was asked for, or all that is wrong with it.
    pub fn dims(&self) -> Result<Vec<DimBinding>> {
        let (dims, problems): (Vec<_>, Vec<_>) =
            self.dim.iter().map(|text| DimBinding::parse(text)).partition(std::result::Result::is_ok);
        let problems: Vec<_> = problems.into_iter().filter_map(std::result::Result::err).collect();
        if problems.is_empty() {
            Ok(dims.into_iter().flatten().collect())
        } else {
            Err(Diagnostics(problems))
        }
    }
}

#[derive(clap::Args, Clone)]
pub struct CompileArgs {
    /// Compile for this target; `tcc targets` lists them
    #[arg(long, value_name = "T", default_value = "host")]
    pub target: String,
    #[command(flatten)]
    pub sizes: DimArgs,
    /// How much to optimise: 0 nothing, 1 without fusion, 2 and 3 everything
    #[arg(long, value_name = "L", default_value_t = 3, value_parser = clap::value_parser!(u8).range(0..=3))]
    pub opt_level: u8,
}

impl CompileArgs {
    /// Options of a compilation, with `passes` for the pipeline.
    pub fn options(&self, passes: tcc_passes::Options) -> Result<compile::Options> {
        let passes = tcc_passes::Options { dims: self.sizes.dims()?, ..passes };
        let default = compile::Options::default();
        Ok(compile::Options { target: self.target.clone(), level: self.opt_level, passes, ..default })
    }

    /// The same options for a command line.
    pub fn arguments(&self) -> Vec<String> {
        let dims = self.sizes.dim.iter().flat_map(|dim| ["--dim".to_string(), dim.clone()]);
        let rest = [format!("--target={}", self.target), format!("--opt-level={}", self.opt_level)];
        rest.into_iter().chain(dims).collect()
    }
}

/// Where input values come from.
#[derive(clap::Args)]
pub struct InputArgs {
    /// Read an input from a file
    #[arg(long = "input", value_name = "NAME=FILE.npy|.pb")]
    files: Vec<String>,
    /// Read inputs from a file of arrays, by name
    #[arg(long, value_name = "FILE.npz")]
    inputs: Option<std::path::PathBuf>,
    /// Make up the inputs that no file is given for
    #[arg(long, value_name = "zeros|ones|random:SEED")]
    fill: Option<tcc::fill::Fill>,
}

impl InputArgs {
    /// The values of all inputs. Sizes of made-up ones come from `dims`; what else has to be assumed is said.
    pub fn gather(&self, ports: &[Port], dims: &[DimBinding]) -> Result<Vec<Value>> {
        let known = dims.iter().map(|dim| (dim.name.clone(), dim.hi)).collect();
        let mut sizes = Sizes { known, assumed: Vec::new() };
        let sources = Sources { files: self.files.clone(), npz: self.inputs.clone(), fill: self.fill };
        let values = inputs::gather(ports, &sources, &mut sizes)?;
        if !sizes.assumed.is_empty() {
            eprintln!(
                "note: filled inputs have size 1 for {}; --dim NAME=V sets another",
                sizes.assumed.join(", ")
            );
        }
        Ok(values)
    }
}

/// A pool of this many threads, or as many as the process may use.
pub fn pool(threads: Option<usize>) -> Arc<Pool> {
    Arc::new(Pool::new(threads.unwrap_or(0)))
}

/// A name for files made from the one at `path`.
pub fn stem(path: &Path) -> String {
    path.file_stem().map_or("model".to_string(), |stem| stem.to_string_lossy().into_owned())
}
