//! The options that every command with a pass pipeline has.

use tcc::Result;
use tcc_ir::Graph;
use tcc_passes::{Assumed, FusionLevel, Machine, Numerics, Options, Pass, Report};

#[derive(clap::Args)]
pub struct PassArgs {
    /// Run these passes, in this order, instead of the default ones
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    passes: Option<Vec<String>>,
    /// Print the graph to stderr after each of these passes (`all`: after every one)
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    print_after: Vec<String>,
    /// Verify the graph after every application of a pass
    #[arg(long)]
    verify_each: bool,
    /// Skip optional applications of passes from number N on, to find the one at fault
    #[arg(long, value_name = "N")]
    opt_bisect_limit: Option<usize>,
    /// Print the time of each pass to stderr
    #[arg(long)]
    time_passes: bool,
    #[command(flatten)]
    rewriting: RewriteArgs,
    /// Choose kernels as for a machine with other numbers: cores, caches (l1, l2, l3), rates
    #[arg(long, value_name = "NAME=V,..", value_delimiter = ',', value_parser = Assumed::parse)]
    machine: Vec<Assumed>,
}

/// The options of rewriting that decide what is computed, and how.
#[derive(clap::Args)]
pub struct RewriteArgs {
    /// How far to fuse kernels
    #[arg(long, value_name = "LEVEL", default_value = "megakernel", value_parser = fusion)]
    fusion: FusionLevel,
    /// What rewriting may do to numbers: nothing, round in another order, use other formulas
    #[arg(long, value_name = "CLASS", default_value = "reassociate", value_parser = numerics)]
    numerics: Numerics,
}

impl RewriteArgs {
    pub fn apply(&self, options: Options) -> Options {
        Options { fusion: self.fusion, numerics: self.numerics, ..options }
    }

    /// The same options for a command line.
    pub fn arguments(&self) -> [String; 2] {
        [format!("--fusion={}", self.fusion.name()), format!("--numerics={}", self.numerics.name())]
    }
}

fn fusion(text: &str) -> std::result::Result<FusionLevel, String> {
    named(&FusionLevel::ALL, text)
}

fn numerics(text: &str) -> std::result::Result<Numerics, String> {
    named(&Numerics::ALL, text)
}

fn named<T: Copy>(all: &[(T, &str)], text: &str) -> std::result::Result<T, String> {
    all.iter().find(|(_, name)| *name == text).map(|(value, _)| *value).ok_or_else(|| {
        let known: Vec<&str> = all.iter().map(|(_, name)| *name).collect();
        format!("one of {} is expected", known.join(", "))
    })
}

impl PassArgs {
    pub fn options(&self) -> Result<Options> {
        let default = Options::default();
        let assumed = self.machine.iter().fold(Assumed::default(), Assumed::and);
        Ok(self.rewriting.apply(Options {
            machine: assumed.of(Machine::default()),
            assumed,
            passes: self.passes.clone(),
            print_after: self.print_after.clone(),
            verify_each: self.verify_each || default.verify_each,
            opt_bisect_limit: self.opt_bisect_limit,
            time_passes: self.time_passes,
            ..default
        }))
    }

    /// Prints what was asked for about a run.
    pub fn show(&self, report: &Report) {
        if self.opt_bisect_limit.is_some() {
            for a in &report.applications {
                let state = if a.skipped { "skipped" } else { "run" };
                eprintln!("pass {:>4}  {state:<7}  {} on {}", a.number, a.pass, a.graph);
            }
        }
        if self.time_passes {
            eprintln!("{:>10}  {:>5}  pass", "ms", "runs");
            for (pass, time, count) in report.times() {
                eprintln!("{:>10.3}  {count:>5}  {pass}", time.as_secs_f64() * 1e3);
            }
        }
    }
}

/// The observer that `--print-after` asks for.
pub fn print_after(pass: &Pass, graph: &Graph) {
    eprintln!("// after {}\n{}", pass.name, tcc_ir::text::print(graph));
}
