//! Equality saturation: a part of the graph becomes an e-graph, rules add equal terms and fused kernels, and the
//! cheapest way to compute what is needed becomes the graph again.
//!
//! [`partition`] cuts the graph into regions, [`region`] converts one and back, [`saturate`] runs [`rules`],
//! [`seeds`] and [`fusion`] make kernels, [`siblings`] and [`results`] join them side by side, [`extract`] chooses by
//! [`cost`]. Nothing depends on time or on addresses: the same graph and machine give the same result.

mod analysis;
mod bits;
mod cost;
mod extract;
mod fusion;
mod language;
mod machine;
mod order;
mod partition;
mod products;
mod region;
mod results;
mod rules;
mod saturate;
mod seeds;
mod shares;
mod siblings;
mod stats;
#[cfg(test)]
mod tests;

pub use machine::{Assumed, Machine};
pub use rules::Numerics;
pub use saturate::Stop;
pub use stats::{RegionStats, Stats, Totals};

use crate::kernels::{describe, is_view};
use crate::pass::{Changed, Context, Pass, Regions};
use analysis::EGraph;
use cost::Cost;
use extract::Solution;
use fusion::{Fusion, Ways};
use language::Id;
use order::Order;
use region::Region;
use saturate::{Budget, saturate};
use siblings::{Split, Whole};
use tcc_ir::{Diagnostic, Graph, NodeId, Op};

pub const PASS: Pass = Pass {
    name: "egraph",
    summary: "Rewrite and fuse by equality saturation, choosing by cost.",
    required: false,
    regions: Regions::InnerFirst,
    run,
};

/// How far kernels are fused. Each one includes those before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum FusionLevel {
    /// A kernel an operator.
    None,
    /// Producers and consumers.
    Vertical,
    /// Also matrix products and what follows row by row, products that share an operand, and several results of what
    /// runs over the same data.
    Horizontal,
    /// Also kernels that run one after another as tasks of one parallel region, each waiting for what it reads only.
    #[default]
    Megakernel,
}

impl FusionLevel {
    pub const ALL: [(FusionLevel, &'static str); 4] = [
        (FusionLevel::None, "none"),
        (FusionLevel::Vertical, "vertical"),
        (FusionLevel::Horizontal, "horizontal"),
        (FusionLevel::Megakernel, "megakernel"),
    ];

    pub fn name(self) -> &'static str {
        FusionLevel::ALL[self as usize].1
    }
}

fn run(graph: &mut Graph, cx: &Context) -> Result<Changed, Diagnostic> {
    let mut changed = Changed::when(partition::place_late(graph));
    for nodes in partition::regions(graph) {
        let mut edited = graph.clone();
        let Some((stats, written)) = optimise(&mut edited, &nodes, cx) else { continue };
        cx.stats.borrow_mut().regions.push(stats);
        let written = written.and_then(|change| match edited.verify_alone() {
            Err(broken) if change == Changed::Yes => Err(format!("{broken:?}")),
            _ => Ok(change),
        });
        match written {
            Ok(Changed::Yes) => {
                *graph = edited;
                changed = Changed::Yes;
            }
            Ok(Changed::No) => {}
            // Our mistake: the input stands.
            Err(what) => {
                let place = nodes.first().map_or(String::new(), |id| graph.node(*id).loc.to_string());
                debug_assert!(
                    false,
                    "fusion broke the region of @{} that begins at {place}: {what}",
                    graph.name
                );
            }
        }
    }
    Ok(changed)
}

/// What was done to a region, and whether it fits into the graph.
type Outcome = (RegionStats, Result<Changed, String>);

/// Rewrites one region. None when there is no way to compute it.
fn optimise(graph: &mut Graph, nodes: &[NodeId], cx: &Context) -> Option<Outcome> {
    let options = cx.options;
    let mut region = Region::new(graph, nodes, &options.machine);
    let before = totals_of(graph, nodes, &options.machine);
    let (egraph, mut outcome) =
        saturate(std::mem::take(&mut region.egraph), options.numerics, Budget::default());
    region.egraph = egraph;
    let mut best = Fused::new(&region, cx, &[])?;
    if options.fusion >= FusionLevel::Horizontal {
        let wholes = merge_siblings(&mut region, cx, &mut best);
        outcome.fired.extend((!wholes.is_empty()).then_some((siblings::NAME, wholes.len())));
        let joined = join_results(&mut region, graph, cx, (&mut best, &wholes));
        outcome.fired.extend((joined > 0).then_some((results::NAME, joined)));
    }
    best.add_to(&mut region.egraph);
    let Fused { order, ways, solution, .. } = best;
    let after = totals(&ways, &solution);
    let stats = RegionStats {
        graph: graph.name.clone(),
        operators: nodes.len(),
        classes: region.egraph.number_of_classes(),
        terms: region.egraph.total_number_of_nodes(),
        rounds: outcome.rounds,
        stop: outcome.stop,
        fired: outcome.fired,
        dropped: ways.dropped,
        cut_short: solution.cut_short(),
        before,
        after,
        picture: options.draw_egraph.then(|| region.egraph.dot().to_string()),
    };
    let choice = solution.terms(&ways, &order, &region.egraph);
    Some((stats, region.write(graph, &choice)))
}

/// Makes one product of siblings where that is cheaper; gives what values became parts of.
fn merge_siblings(region: &mut Region, cx: &Context, best: &mut Fused) -> Vec<Whole> {
    let mut classes: Vec<Id> =
        best.solution.computed(&best.ways).into_iter().map(|i| best.order.class(i)).collect();
    let (apart, roots) = (region.egraph.clone(), region.root_classes());
    let mut found = (Vec::new(), apart.clone());
    // Once more without those that are better left alone: their share of the whole was computed for nothing.
    for _ in 0..2 {
        region.egraph = apart.clone();
        let wholes = siblings::merge(&mut region.egraph, &classes, &roots);
        if wholes.is_empty() {
            break;
        }
        let Some(merged) = Fused::new(region, cx, &wholes) else { break };
        let alone = siblings::alone(&merged.splits, &merged.solution.ways(&merged.ways));
        let alone: Vec<Id> = alone.into_iter().map(|i| merged.order.class(i)).collect();
        if merged.solution.seconds < best.solution.seconds {
            *best = merged;
            found = (wholes, region.egraph.clone());
        }
        if alone.is_empty() {
            break;
        }
        let egraph = &region.egraph;
        classes.retain(|class| !alone.contains(&egraph.find(*class)));
    }
    region.egraph = found.1;
    found.0
}

/// Makes kernels of several results where that is cheaper; gives how many.
fn join_results(
    region: &mut Region,
    graph: &Graph,
    cx: &Context,
    (best, wholes): (&mut Fused, &[Whole]),
) -> usize {
    let fusion = region.fusion(cx, (&best.order, &best.splits));
    let found = results::find(&fusion, (&best.ways, &best.solution), &region.behind(graph));
    let n = found.len();
    if n == 0 {
        return 0;
    }
    let apart = region.egraph.clone();
    results::add(&mut region.egraph, found);
    // What one result needs may be known only from another one: a size that stands in a tensor.
    let stands = |fused: &Fused| {
        let mut egraph = region.egraph.clone();
        fused.add_to(&mut egraph);
        let choice = fused.solution.terms(&fused.ways, &fused.order, &egraph);
        let mut trial = graph.clone();
        region.write(&mut trial, &choice).is_ok() && trial.verify_alone().is_ok()
    };
    match Fused::new(region, cx, wholes) {
        Some(joined) if joined.solution.seconds < best.solution.seconds && stands(&joined) => {
            *best = joined;
            n
        }
        _ => {
            region.egraph = apart;
            0
        }
    }
}

/// The kernels of a region, and those that were chosen.
struct Fused {
    order: Order,
    splits: Vec<Split>,
    ways: Ways,
    solution: Solution,
}

impl Fused {
    fn new(region: &Region, cx: &Context, wholes: &[Whole]) -> Option<Fused> {
        let roots = region.root_classes();
        let order = Order::new(&region.egraph, &roots);
        let splits = siblings::splits(wholes, &region.egraph, &order);
        let ways = region.fusion(cx, (&order, &splits)).ways();
        let places: Vec<usize> = roots.iter().map(|r| order.index(*r)).collect::<Option<_>>()?;
        let solution = extract::solve(&ways, &places, &splits)?;
        Some(Fused { order, splits, ways, solution })
    }

    /// Makes terms of the kernels.
    fn add_to(&self, egraph: &mut EGraph) {
        for (i, found) in self.ways.of.iter().enumerate() {
            for way in found {
                let id = egraph.add(way.term.clone());
                egraph.union(self.order.class(i), id);
            }
        }
        egraph.rebuild();
    }
}

impl Region {
    fn fusion<'a>(&'a self, cx: &Context<'a>, (order, splits): (&'a Order, &'a [Split])) -> Fusion<'a> {
        Fusion {
            egraph: &self.egraph,
            order,
            machine: &cx.options.machine,
            originals: self.originals(),
            roots: self.root_classes(),
            splits,
            level: cx.options.fusion,
            known_at_bind: cx.known_at_bind,
        }
    }
}

impl Totals {
    fn of(kernels: u64, cost: &Cost) -> Totals {
        Totals {
            kernels,
            bytes: cost.bytes as u64,
            flops: cost.flops as u64,
            nanoseconds: (cost.seconds * 1e9) as u64,
        }
    }
}

/// What the nodes take as a kernel each.
fn totals_of(graph: &Graph, nodes: &[NodeId], machine: &Machine) -> Totals {
    let mut all = Totals::default();
    for id in nodes {
        let node = graph.node(*id);
        let kernel = match &node.op {
            Op::KernelOp(op) => Some(op.kernel.clone()),
            _ if is_view(graph, node) => None,
            _ => describe(graph, node),
        };
        if let Some(kernel) = kernel {
            let weight = |i: usize| graph.constant_of(node.inputs[i]).is_some();
            all += Totals::of(1, &cost::of_kernel(&kernel, machine, &weight));
        }
    }
    all
}

/// What the chosen kernels take.
fn totals(ways: &Ways, solution: &Solution) -> Totals {
    let mut all = Totals::default();
    for (_, way) in solution.ways(ways) {
        all += Totals::of(u64::from(way.is_kernel()), &way.cost);
    }
    all
}
