//! Graph to graph: the pass manager, the passes, and the memory plan.
//!
//! A pass is a value with a name ([`Pass`]); [`registry::ALL`] is the only list of them, and
//! [`pipeline::default_pipeline`] says in which order they run. Nothing here knows a model format or LLVM.
//!
//! Invariant: a pass never changes what a graph computes, bit for bit, unless it says so in its name's rules.

mod attempt;
mod bind_dims;
mod canonicalise;
mod cse;
mod dce;
mod fold;
mod fuse;
mod inline_if;
pub mod kernels;
pub mod pass;
pub mod pipeline;
pub mod plan;
pub mod registry;
mod resolve_dims;
mod specialise_regions;

#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;

pub use bind_dims::DimBinding;
pub use fold::FoldLimits;
pub use pass::{Changed, Context, Options, Pass, Regions};
pub use pipeline::{Application, Phase, Pipeline, Report, default_pipeline, run};
