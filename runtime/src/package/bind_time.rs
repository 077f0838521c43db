//! What of a package is known when shapes are bound, and what only during a run.

use super::manifest::*;
use crate::expr::late_exprs;

/// Tells the two apart. The manifest's references must be valid.
pub struct BindTime<'m> {
    manifest: &'m Manifest,
    late: Vec<bool>,
}

impl<'m> BindTime<'m> {
    pub fn new(manifest: &'m Manifest) -> Self {
        BindTime { manifest, late: late_exprs(manifest) }
    }

    /// Whether the expression depends on input dims alone.
    pub fn knows(&self, expr: ExprId) -> bool {
        !self.late[expr.index()]
    }

    /// Whether the value's size and address stay the same during a run.
    pub fn places(&self, mut value: &'m Value) -> bool {
        loop {
            if !value.dims.iter().all(|dim| self.knows(*dim)) {
                return false;
            }
            match value.storage {
                Storage::Late { .. } => return false,
                Storage::Alias { byte_offset, .. } if !self.knows(byte_offset) => return false,
                Storage::Alias { of, .. } => value = &self.manifest.values[of.index()],
                _ => return true,
            }
        }
    }

    /// Whether the step may be part of a task graph: its sizes are known and its operands are placed.
    pub fn schedules(&self, step: &Step) -> bool {
        let Step::Kernel(step) = step else { return false };
        let mut values = step.inputs.iter().chain(&step.outputs).map(|v| &self.manifest.values[v.index()]);
        step.dims.iter().chain([&step.tiles, &step.scratch]).all(|expr| self.knows(*expr))
            && values.all(|value| self.places(value))
    }
}
