//! What equality saturation did to a graph, for people to read.

use super::saturate::Stop;
use std::fmt;

/// Kernels and what they move and compute, by the cost model.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    pub kernels: u64,
    /// Bytes of operands and results, weights not counted.
    pub bytes: u64,
    pub flops: u64,
    /// Estimated time.
    pub nanoseconds: u64,
}

/// One region.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RegionStats {
    /// Name of the graph.
    pub graph: String,
    pub operators: usize,
    pub classes: usize,
    pub terms: usize,
    pub rounds: usize,
    pub stop: Stop,
    /// How often each rule made two classes one.
    pub fired: Vec<(&'static str, usize)>,
    /// Fused kernels that were considered and not kept.
    pub dropped: usize,
    /// Searches for the cheapest choice that ended before they were through.
    pub cut_short: usize,
    pub before: Totals,
    pub after: Totals,
    /// The e-graph in the language of Graphviz, when it was asked for.
    pub picture: Option<String>,
}

/// All regions of a model.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    pub regions: Vec<RegionStats>,
}

impl std::ops::AddAssign for Totals {
    fn add_assign(&mut self, other: Totals) {
        self.kernels += other.kernels;
        self.bytes += other.bytes;
        self.flops += other.flops;
        self.nanoseconds += other.nanoseconds;
    }
}

impl Stats {
    fn total(&self, of: impl Fn(&RegionStats) -> Totals) -> Totals {
        let mut all = Totals::default();
        self.regions.iter().for_each(|r| all += of(r));
        all
    }
}

impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operators: usize = self.regions.iter().map(|r| r.operators).sum();
        writeln!(f, "fusion of {operators} operators in {} regions", self.regions.len())?;
        writeln!(f, "{:>12} {:>14} {:>14}", "", "before", "after")?;
        let (before, after) = (self.total(|r| r.before), self.total(|r| r.after));
        for (name, a, b) in [
            ("kernels", before.kernels, after.kernels),
            ("bytes moved", before.bytes, after.bytes),
            ("flops", before.flops, after.flops),
            ("estimate, ns", before.nanoseconds, after.nanoseconds),
        ] {
            writeln!(f, "{name:>12} {a:>14} {b:>14}")?;
        }
        for r in &self.regions {
            writeln!(
                f,
                "region of @{}: {} operators, {} classes, {} terms, {} rounds, {}; {} kernels dropped, {} searches cut short",
                r.graph,
                r.operators,
                r.classes,
                r.terms,
                r.rounds,
                r.stop.name(),
                r.dropped,
                r.cut_short
            )?;
        }
        let mut fired: Vec<(&str, usize)> = Vec::new();
        for (name, n) in self.regions.iter().flat_map(|r| &r.fired) {
            match fired.iter_mut().find(|(known, _)| known == name) {
                Some((_, total)) => *total += n,
                None => fired.push((name, *n)),
            }
        }
        fired.iter().try_for_each(|(name, n)| writeln!(f, "rule {name}: {n}"))
    }
}
