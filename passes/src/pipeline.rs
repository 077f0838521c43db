//! The order of passes, and the loop that runs them.
//!
//! Between phases the graph is verified, always; after each pass when `verify_each` says so. A broken graph is an
//! error that names the pass.

use crate::egraph::Stats;
use crate::pass::{Changed, Context, Options, Pass, Regions};
use crate::{
    bind_dims, canonicalise, cse, dce, egraph, fold, inline_if, inline_loop, kernels, registry, resolve_dims,
    specialise_regions,
};
use std::cell::RefCell;
use std::time::{Duration, Instant};
use tcc_ir::diag::{Code, Diagnostic};
use tcc_ir::graph::{KnownSymbols, Violation};
use tcc_ir::{Graph, Op};

/// The order in which a model is compiled.
pub fn default_pipeline() -> Pipeline {
    Pipeline::new()
        // Sizes that the user fixed are constants, those that the user bounded are bounded.
        .phase(Phase::Imported, &[bind_dims::PASS])
        // What can be known is known: no node has only constant operands (but for the size limit), no size is read
        // at run time that is known before, no branch is open that is decided, no loop is one of a single iteration; operators are in their simplest form;
        // no node computes what another one does, none is without use; and all that holds in regions, which know
        // what is known of what they capture.
        .repeat(
            Phase::Canonical,
            &[
                fold::PASS,
                resolve_dims::PASS,
                inline_if::PASS,
                inline_loop::PASS,
                canonicalise::PASS,
                cse::PASS,
                dce::PASS,
                specialise_regions::PASS,
            ],
        )
        // Operators are rewritten and fused as costs say; what that leaves to constants is folded; every operator
        // with a loop nest is a kernel.
        .phase(Phase::Fused, &[egraph::PASS, fold::WIDEN, dce::PASS, kernels::PASS])
}

/// A state of the graph with rules of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Phase {
    /// As the frontend made it.
    Imported,
    /// Constants folded, duplicates and dead nodes gone, operators in their simplest form.
    Canonical,
    /// Operators have become kernels.
    Fused,
}

impl Phase {
    pub const ALL: [(Phase, &'static str); 3] =
        [(Phase::Imported, "imported"), (Phase::Canonical, "canonical"), (Phase::Fused, "fused")];

    pub fn name(self) -> &'static str {
        Phase::ALL[self as usize].1
    }

    /// Checks everything that a graph in this phase must obey.
    ///
    /// # Errors
    /// All that is broken.
    pub fn verify(self, graph: &Graph) -> Result<(), Vec<Violation>> {
        graph.verify()?;
        let mut found = Vec::new();
        if self < Phase::Fused {
            kernels_in(graph, &mut found);
        }
        if found.is_empty() { Ok(()) } else { Err(found) }
    }
}

/// Kernels appear in the fused phase only.
fn kernels_in(graph: &Graph, found: &mut Vec<Violation>) {
    for (id, node) in graph.nodes() {
        if matches!(node.op, Op::KernelOp(_)) {
            let place = format!("{}: node {}", graph.name, id.0);
            found.push(Violation { place, what: "a kernel before the fused phase".into() });
        }
        node.op.visit_graphs(&mut |region| kernels_in(region, found));
    }
}

/// Rounds after which a group of passes that still changes the graph is left. Each round needs a change that makes
/// room for another one, so this is far beyond what graphs need.
const MAX_ROUNDS: usize = 16;

/// Passes in order, in groups.
#[derive(Clone, Default)]
pub struct Pipeline {
    groups: Vec<Group>,
}

#[derive(Clone)]
struct Group {
    passes: Vec<Pass>,
    /// Repeat until nothing changes.
    repeat: bool,
    /// The state of the graph after the group.
    reaches: Option<Phase>,
}

impl Pipeline {
    pub fn new() -> Self {
        Pipeline::default()
    }

    /// The passes, each once; the graph is in `reaches` afterwards.
    #[must_use]
    pub fn phase(self, reaches: Phase, passes: &[Pass]) -> Self {
        self.group(Some(reaches), passes, false)
    }

    /// The passes, over and over until none changes anything; the graph is in `reaches` afterwards.
    #[must_use]
    pub fn repeat(self, reaches: Phase, passes: &[Pass]) -> Self {
        self.group(Some(reaches), passes, true)
    }

    fn group(mut self, reaches: Option<Phase>, passes: &[Pass], repeat: bool) -> Self {
        self.groups.push(Group { passes: passes.to_vec(), repeat, reaches });
        self
    }

    /// The pipeline without what comes after `phase` is reached.
    #[must_use]
    pub fn until(mut self, phase: Phase) -> Self {
        self.groups.retain(|group| group.reaches.is_none_or(|reached| reached <= phase));
        self
    }

    /// The passes of these names, in this order.
    ///
    /// # Errors
    /// A name that isn't one of a pass.
    pub fn named(names: &[String]) -> Result<Self, Diagnostic> {
        let passes: Vec<Pass> = names.iter().map(|name| registry::find(name)).collect::<Result<_, _>>()?;
        Ok(Pipeline::new().group(None, &passes, false))
    }
}

/// One pass on one graph or region.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Application {
    pub pass: &'static str,
    /// Name of the graph or region.
    pub graph: String,
    /// Number for `--opt-bisect-limit`, counted over the whole run.
    pub number: usize,
    pub skipped: bool,
    pub changed: bool,
    /// Zero unless times are asked for.
    pub time: Duration,
}

/// What a run did, application by application.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    pub applications: Vec<Application>,
    pub fusion: Stats,
}

impl Report {
    /// Total time and number of applications for each pass, in order of first appearance.
    pub fn times(&self) -> Vec<(&'static str, Duration, usize)> {
        let mut totals: Vec<(&'static str, Duration, usize)> = Vec::new();
        for application in &self.applications {
            match totals.iter_mut().find(|(pass, ..)| *pass == application.pass) {
                Some((_, time, count)) => {
                    *time += application.time;
                    *count += 1;
                }
                None => totals.push((application.pass, application.time, 1)),
            }
        }
        totals
    }
}

/// Runs the pipeline that the options ask for: the passes they name, else `pipeline`. `observer` is called with each
/// pass that `print_after` names and the graph that it left.
///
/// # Errors
/// What a pass says against the model or the request, an unknown pass name, or a graph that a pass broke.
pub fn run(
    graph: &mut Graph,
    pipeline: &Pipeline,
    options: &Options,
    observer: &mut dyn FnMut(&Pass, &Graph),
) -> Result<Report, Diagnostic> {
    for name in options.print_after.iter().filter(|name| *name != "all") {
        registry::find(name)?;
    }
    let named = options.passes.as_deref().map(Pipeline::named).transpose()?;
    let mut run = Run { options, observer, report: Report::default(), stats: RefCell::default() };
    run.pipeline(graph, named.as_ref().unwrap_or(pipeline))?;
    Ok(Report { fusion: run.stats.into_inner(), ..run.report })
}

struct Run<'a> {
    options: &'a Options,
    observer: &'a mut dyn FnMut(&Pass, &Graph),
    report: Report,
    stats: RefCell<Stats>,
}

impl Run<'_> {
    fn pipeline(&mut self, graph: &mut Graph, pipeline: &Pipeline) -> Result<(), Diagnostic> {
        broken(graph.verify(), "as it came in")?;
        for group in &pipeline.groups {
            let rounds = if group.repeat { MAX_ROUNDS } else { 1 };
            for _ in 0..rounds {
                let mut changed = Changed::No;
                for pass in &group.passes {
                    changed = changed | self.everywhere(graph, pass, &KnownSymbols::default())?;
                    self.after(graph, pass)?;
                }
                if changed == Changed::No {
                    break;
                }
            }
            match group.reaches {
                Some(phase) => broken(phase.verify(graph), &format!("in phase `{}`", phase.name()))?,
                None => broken(graph.verify(), "after the passes asked for")?,
            }
        }
        Ok(())
    }

    /// Applies a pass to a graph and its regions. `outside` is known of the graph around it.
    fn everywhere(
        &mut self,
        graph: &mut Graph,
        pass: &Pass,
        outside: &KnownSymbols,
    ) -> Result<Changed, Diagnostic> {
        match pass.regions {
            Regions::None => self.apply(graph, pass, outside),
            Regions::InnerFirst => {
                Ok(self.in_regions(graph, pass, outside)? | self.apply(graph, pass, outside)?)
            }
            Regions::OuterFirst => {
                Ok(self.apply(graph, pass, outside)? | self.in_regions(graph, pass, outside)?)
            }
        }
    }

    fn in_regions(
        &mut self,
        graph: &mut Graph,
        pass: &Pass,
        outside: &KnownSymbols,
    ) -> Result<Changed, Diagnostic> {
        let known = graph.known_at_bind(outside);
        let mut outcome = Ok(Changed::No);
        graph.visit_regions_mut(&mut |region| {
            if let Ok(changed) = outcome {
                outcome = self.everywhere(region, pass, &known).map(|more| changed | more);
            }
        });
        outcome
    }

    fn apply(
        &mut self,
        graph: &mut Graph,
        pass: &Pass,
        outside: &KnownSymbols,
    ) -> Result<Changed, Diagnostic> {
        let number = self.report.applications.len();
        let skipped = !pass.required && self.options.opt_bisect_limit.is_some_and(|limit| number >= limit);
        let start = self.options.time_passes.then(Instant::now);
        let changed = if skipped {
            Changed::No
        } else {
            let known_at_bind = &graph.known_at_bind(outside);
            (pass.run)(graph, &Context { options: self.options, stats: &self.stats, known_at_bind })?
        };
        self.report.applications.push(Application {
            pass: pass.name,
            graph: graph.name.clone(),
            number,
            skipped,
            changed: changed == Changed::Yes,
            time: start.map_or(Duration::ZERO, |start| start.elapsed()),
        });
        Ok(changed)
    }

    fn after(&mut self, graph: &Graph, pass: &Pass) -> Result<(), Diagnostic> {
        if self.options.print_after.iter().any(|name| name == pass.name || name == "all") {
            (self.observer)(pass, graph);
        }
        if self.options.verify_each {
            broken(graph.verify(), &format!("after pass `{}`", pass.name))?;
        }
        Ok(())
    }
}

fn broken(verified: Result<(), Vec<Violation>>, when: &str) -> Result<(), Diagnostic> {
    verified.map_err(|violations| {
        let wrong = Diagnostic::error(Code::InvalidIr, format!("the graph is invalid {when}"));
        violations.iter().fold(wrong, |diagnostic, violation| diagnostic.note(violation.to_string()))
    })
}
