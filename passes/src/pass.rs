//! What a pass is, and what a run of the pipeline may be told.

use crate::egraph::{Assumed, FusionLevel, Machine, Numerics, Stats};
use crate::{DimBinding, FoldLimits};
use std::cell::RefCell;
use tcc_ir::graph::KnownSymbols;
use tcc_ir::{Diagnostic, Graph};

/// A transformation of one graph. Regions are visited by the pipeline: a pass looks at one level.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// Name on the command line, and stem of the file that defines it (with `_` for `-`).
    pub name: &'static str,
    pub summary: &'static str,
    /// A pass that later stages can't do without: `--opt-bisect-limit` never skips it.
    pub required: bool,
    pub regions: Regions,
    pub run: fn(&mut Graph, &Context) -> Result<Changed, Diagnostic>,
}

/// Whether and when a pass runs on the bodies of `if` and `loop`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Regions {
    /// It runs on the outermost graph only.
    None,
    InnerFirst,
    OuterFirst,
}

/// Whether a pass changed anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Changed {
    No,
    Yes,
}

impl Changed {
    pub fn when(condition: bool) -> Changed {
        if condition { Changed::Yes } else { Changed::No }
    }
}

impl std::ops::BitOr for Changed {
    type Output = Changed;
    fn bitor(self, other: Changed) -> Changed {
        Changed::when(self == Changed::Yes || other == Changed::Yes)
    }
}

/// What a pass may ask for besides its graph.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    pub options: &'a Options,
    /// Where fusion says what it did.
    pub stats: &'a RefCell<Stats>,
    /// Sizes of the graph that are known before a run starts.
    pub known_at_bind: &'a KnownSymbols,
}

/// How the pipeline runs. `Options::default()` is what `tcc compile` does without options.
#[derive(Clone, Debug)]
pub struct Options {
    /// Names of the passes to run, in this order, instead of the default pipeline.
    pub passes: Option<Vec<String>>,
    /// Passes after which the graph is shown to the observer; `all` stands for every pass.
    pub print_after: Vec<String>,
    /// Verify the graph after every application of a pass and not only between phases.
    pub verify_each: bool,
    /// Skip all optional applications from this number on (`--opt-bisect-limit`).
    pub opt_bisect_limit: Option<usize>,
    /// Measure each application.
    pub time_passes: bool,
    /// What `--dim` asks for.
    pub dims: Vec<DimBinding>,
    pub fold: FoldLimits,
    pub fusion: FusionLevel,
    pub numerics: Numerics,
    /// What costs are estimated for.
    pub machine: Machine,
    /// What `--machine` says of it.
    pub assumed: Assumed,
    /// Keep a picture of each e-graph.
    pub draw_egraph: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            passes: None,
            print_after: Vec::new(),
            verify_each: cfg!(debug_assertions),
            opt_bisect_limit: None,
            time_passes: false,
            dims: Vec::new(),
            fold: FoldLimits::default(),
            fusion: FusionLevel::default(),
            numerics: Numerics::default(),
            machine: Machine::default(),
            assumed: Assumed::default(),
            draw_egraph: false,
        }
    }
}
