//! One order of scalar expressions for equal kernels.

use super::{Builder, ExprId, Kernel, Scalar};

impl Kernel {
    /// The kernel with its expressions in the order in which the stages use them, equal ones made one and unused
    /// ones dropped.
    #[must_use]
    pub fn canonical(&self) -> Kernel {
        let mut builder = Builder::new(self.name.clone());
        let mut done = vec![None; self.exprs.len()];
        let mut stages = self.stages.clone();
        for stage in &mut stages {
            for id in stage.exprs_mut() {
                *id = self.rebuild(*id, &mut builder, &mut done);
            }
        }
        Kernel { stages, exprs: builder.finish().exprs, ..self.clone() }
    }

    /// Operands first; they stand before their users, so the walk ends.
    fn rebuild(&self, id: ExprId, builder: &mut Builder, done: &mut [Option<ExprId>]) -> ExprId {
        if let Some(new) = done[id.0 as usize] {
            return new;
        }
        let operands: Vec<ExprId> =
            self.operands(id).into_iter().map(|o| self.rebuild(o, builder, done)).collect();
        let mut scalar = self.expr(id).clone();
        scalar.operands_mut().into_iter().zip(operands).for_each(|(slot, new)| *slot = new);
        let new = builder.expr(scalar);
        done[id.0 as usize] = Some(new);
        new
    }
}

impl super::Stage {
    /// The expressions that the stage evaluates, in the order of the text form.
    pub fn exprs(&self) -> Vec<ExprId> {
        self.clone().exprs_mut().into_iter().map(|id| *id).collect()
    }

    fn exprs_mut(&mut self) -> Vec<&mut ExprId> {
        let accs = self.accs.iter_mut().map(|a| &mut a.value);
        let stores = self
            .stores
            .iter_mut()
            .flat_map(|s| s.index.iter_mut().chain([&mut s.value]).chain(s.guard.iter_mut()));
        accs.chain(stores).collect()
    }
}

impl Scalar {
    /// The operands, in the order of [`Kernel::operands`].
    fn operands_mut(&mut self) -> Vec<&mut ExprId> {
        match self {
            Scalar::Float(..)
            | Scalar::Int(..)
            | Scalar::Axis(_)
            | Scalar::Dim(_)
            | Scalar::Acc(_)
            | Scalar::AccBefore(_) => vec![],
            Scalar::Load { index, guard, .. } => index.iter_mut().chain(guard).collect(),
            Scalar::Unary(_, a) | Scalar::Cast(_, a) | Scalar::Bitcast(_, a) => vec![a],
            Scalar::Binary(_, a, b) | Scalar::Compare(_, a, b) => vec![a, b],
            Scalar::Select(c, a, b) => vec![c, a, b],
            Scalar::Check { cond, value } => vec![cond, value],
        }
    }
}
