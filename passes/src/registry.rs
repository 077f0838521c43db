//! Every pass there is. A new pass is one line here and one in `pipeline.rs`.

use crate::pass::Pass;
use crate::{
    bind_dims, canonicalise, cse, dce, egraph, fold, inline_if, inline_loop, kernels, resolve_dims,
    specialise_regions,
};
use tcc_ir::Diagnostic;
use tcc_ir::diag::Code;

pub const ALL: &[Pass] = &[
    bind_dims::PASS,
    fold::PASS,
    resolve_dims::PASS,
    inline_if::PASS,
    inline_loop::PASS,
    canonicalise::PASS,
    cse::PASS,
    dce::PASS,
    specialise_regions::PASS,
    egraph::PASS,
    fold::WIDEN,
    kernels::PASS,
];

/// The pass of that name.
///
/// # Errors
/// A diagnostic that names the passes there are.
pub fn find(name: &str) -> Result<Pass, Diagnostic> {
    ALL.iter().find(|pass| pass.name == name).copied().ok_or_else(|| {
        let known: Vec<&str> = ALL.iter().map(|pass| pass.name).collect();
        Diagnostic::error(Code::UnknownPass, format!("there is no pass `{name}`"))
            .help(format!("the passes are {}", known.join(", ")))
    })
}
