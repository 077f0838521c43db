//! What keeps a model from being an object of its own: all of it, in one error.

use tcc_ir::diag::{Code, Diagnostic};
use tcc_runtime::package::{DType, Form, Manifest, Step, SymbolSource, Value};

use super::interface::is_placed;
use super::range::{Range, late};
use crate::program::{Program, expr_text};
use crate::target::Target;

/// Findings of one kind that are listed; the rest is counted.
const LISTED: usize = 20;

/// An error that lists all that needs the runtime; none when nothing does.
pub fn runtime_needed(program: &Program, ranges: &[Option<Range>], target: &Target) -> Option<Diagnostic> {
    let manifest = &program.manifest;
    let unbounded = unbounded_sizes(program);
    let mut findings: Vec<String> = unbounded.iter().map(|(_, finding)| finding.clone()).collect();
    findings.extend(routines(manifest));
    findings.extend(values(manifest, !unbounded.is_empty()));
    if findings.is_empty() {
        findings.extend(unknown_sizes(manifest, ranges, target.index_bits == 32));
    }
    if findings.is_empty() {
        return None;
    }
    let more = findings.len().saturating_sub(LISTED);
    let message = "the model needs tcc's runtime, which an object of its own doesn't have";
    let mut found = Diagnostic::error(Code::TargetUnsupported, message);
    for finding in findings.into_iter().take(LISTED) {
        found = found.note(finding);
    }
    if more > 0 {
        found = found.note(format!("and {more} more"));
    }
    let package =
        "a package (`-o`, without --emit) runs it: the runtime is a small C library, see docs/embedding.md";
    let help = match unbounded.first() {
        None => package.to_string(),
        Some((name, _)) => {
            format!("give each size a value or bounds, as --dim {name}=4 or --dim {name}=1..8; or {package}")
        }
    };
    Some(found.help(help))
}

/// Sizes of inputs without an upper bound, for which no memory can be planned: the name, and the finding.
fn unbounded_sizes(program: &Program) -> Vec<(String, String)> {
    let symbols = program.manifest.symbols.iter().zip(&program.bounds);
    symbols
        .filter_map(|(symbol, bounds)| match symbol.source {
            SymbolSource::InputDim { input, axis } if bounds.1.is_none() => {
                let input = &program.manifest.inputs[input as usize].name;
                let name = symbol.name.clone();
                let finding = format!("size `{name}` (input `{input}`, axis {axis}) has no upper bound");
                Some((name, finding))
            }
            _ => None,
        })
        .collect()
}

fn routines(manifest: &Manifest) -> Vec<String> {
    let steps = manifest.blocks.iter().flat_map(|block| &block.steps);
    steps
        .filter_map(|step| match step {
            Step::Builtin(step) => {
                Some(format!("node {}: routine `{}` of the runtime", step.source, step.op))
            }
            _ => None,
        })
        .collect()
}

/// Values that aren't tensors of numbers, or whose sizes only the data decides.
fn values(manifest: &Manifest, unbounded: bool) -> Vec<String> {
    let late = late(manifest);
    let problem = |value: &Value| {
        if value.form != Form::Tensor {
            return Some(format!("it is {:?} of {}", value.form, value.dtype).to_lowercase());
        }
        if value.dtype == DType::String {
            return Some("it holds strings".to_string());
        }
        if let Some(dim) = value.dims.iter().find(|dim| late[dim.index()]) {
            return Some(format!("its size {} is only known during a run", expr_text(manifest, *dim)));
        }
        // Without a bound of the inputs' sizes nothing is placed: that is reported already.
        (!is_placed(value.storage) && !unbounded).then(|| "its size has no upper bound".to_string())
    };
    let named = manifest.values.iter().enumerate();
    named
        .filter_map(|(at, value)| {
            let problem = problem(value)?;
            let name = if value.name.is_empty() { format!("{at}") } else { format!("`{}`", value.name) };
            Some(format!("value {name}: {problem}"))
        })
        .collect()
}

/// Sizes that generated code can't compute. With `narrow`, kernels compute in 32 bits.
fn unknown_sizes(manifest: &Manifest, ranges: &[Option<Range>], narrow: bool) -> Vec<String> {
    let mut used = Vec::new();
    for step in manifest.blocks.iter().flat_map(|block| &block.steps) {
        match step {
            Step::Kernel(step) => used.extend(step.dims.iter().copied().chain([step.tiles, step.scratch])),
            Step::SetDim { expr, .. } => used.push(*expr),
            Step::Check(id) => used.extend([manifest.checks[id.index()].a, manifest.checks[id.index()].b]),
            _ => {}
        }
    }
    used.extend(manifest.checks.iter().filter(|check| check.at_bind).flat_map(|check| [check.a, check.b]));
    used.extend(manifest.values.iter().flat_map(|value| &value.dims));
    used.sort_unstable();
    used.dedup();
    let fits = |range: Range| !narrow || range.is_within(Range::LATE);
    used.retain(|id| !ranges[id.index()].is_some_and(fits));
    used.iter()
        .map(|id| format!("size {}: it may be too large to compute", expr_text(manifest, *id)))
        .collect()
}
