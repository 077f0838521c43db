//! Graph to graph: the pass manager, the passes, and the memory plan.
//!
//! A pass is a value with a name ([`Pass`]); [`registry::ALL`] is the only list of them, and
//! [`pipeline::default_pipeline`] says in which order they run. Nothing here knows a model format or LLVM.
//!
//! Invariant: a pass never changes what a graph computes, bit for bit; only `egraph` may round differently, as far as
//! its options allow.

mod attempt;
mod bind_dims;
mod canonicalise;
mod cse;
mod dce;
pub mod egraph;
mod fold;
mod inline_if;
mod inline_loop;
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
pub use egraph::{Assumed, FusionLevel, Machine, Numerics, Stats};
pub use fold::FoldLimits;
pub use pass::{Changed, Context, Options, Pass, Regions};
pub use pipeline::{Application, Phase, Pipeline, Report, default_pipeline, run};
