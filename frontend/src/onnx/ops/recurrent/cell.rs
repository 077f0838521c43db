//! One step of each recurrent operator: the formulas of the specification.

use tcc_ir::ops::BinaryKind;
use tcc_ir::{Dim, ValueId};

use super::activation::Activation;
use crate::onnx::node::{NodeCx, Result};

/// Which operator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Cell {
    Rnn,
    /// Gates z, r, h.
    Gru {
        linear_before_reset: bool,
    },
    /// Gates i, o, f, c. With `input_forget` the forget gate is 1 - i.
    Lstm {
        input_forget: bool,
    },
}

/// What a step reads besides its state.
pub(super) struct Step<'a> {
    /// The input's part of all gates with the biases that belong to it: [batch, gates * hidden].
    pub input: ValueId,
    /// The recurrent weights of each gate, and of all.
    pub recurrent: &'a dyn Fn(&mut NodeCx, ValueId, std::ops::Range<usize>) -> Result<ValueId>,
    /// The recurrent bias of the last gate, where it can't be added to the input's part.
    pub last_bias: Option<ValueId>,
    /// [3 * hidden]: what of the cell state goes into i, o and f.
    pub peepholes: Option<ValueId>,
    pub activations: &'a [Activation],
    pub hidden: &'a Dim,
}

impl Cell {
    pub fn n_gates(self) -> usize {
        match self {
            Cell::Rnn => 1,
            Cell::Gru { .. } => 3,
            Cell::Lstm { .. } => 4,
        }
    }

    /// The state after a step: h, and c of an LSTM.
    pub fn step(self, cx: &mut NodeCx, step: &Step, state: &[ValueId]) -> Result<Vec<ValueId>> {
        match self {
            Cell::Rnn => {
                let recurrent = (step.recurrent)(cx, state[0], 0..1)?;
                let sum = cx.binary(BinaryKind::Add, step.input, recurrent)?;
                Ok(vec![step.activations[0].apply(cx, sum)?])
            }
            Cell::Gru { linear_before_reset } => gru(cx, step, state[0], linear_before_reset),
            Cell::Lstm { input_forget } => lstm(cx, step, state[0], state[1], input_forget),
        }
    }
}

impl Step<'_> {
    /// The gates from `first` on, `count` of them, of a value that has them along its last axis.
    fn gates(&self, cx: &mut NodeCx, x: ValueId, first: usize, count: usize) -> Result<ValueId> {
        let axis = cx.rank(x)? - 1;
        let size = |n: usize| self.hidden.clone() * Dim::from(n);
        cx.slice_axis(x, axis, size(first), size(count))
    }
}

fn gru(cx: &mut NodeCx, step: &Step, h: ValueId, linear_before_reset: bool) -> Result<Vec<ValueId>> {
    let [f, g] = [step.activations[0], step.activations[1]];
    let n_at_once = if linear_before_reset { 3 } else { 2 };
    let recurrent = (step.recurrent)(cx, h, 0..n_at_once)?;
    let gate = |cx: &mut NodeCx, index: usize| {
        let (x, r) = (step.gates(cx, step.input, index, 1)?, step.gates(cx, recurrent, index, 1)?);
        let sum = cx.binary(BinaryKind::Add, x, r)?;
        f.apply(cx, sum)
    };
    let (z, r) = (gate(cx, 0)?, gate(cx, 1)?);
    let candidate = if linear_before_reset {
        let recurrent = step.gates(cx, recurrent, 2, 1)?;
        let recurrent = match step.last_bias {
            Some(bias) => cx.binary(BinaryKind::Add, recurrent, bias)?,
            None => recurrent,
        };
        cx.binary(BinaryKind::Mul, r, recurrent)?
    } else {
        let reset = cx.binary(BinaryKind::Mul, r, h)?;
        (step.recurrent)(cx, reset, 2..3)?
    };
    let input = step.gates(cx, step.input, 2, 1)?;
    let candidate = cx.binary(BinaryKind::Add, input, candidate)?;
    let candidate = g.apply(cx, candidate)?;
    let keep = one_minus(cx, z)?;
    let new = cx.binary(BinaryKind::Mul, keep, candidate)?;
    let old = cx.binary(BinaryKind::Mul, z, h)?;
    Ok(vec![cx.binary(BinaryKind::Add, new, old)?])
}

fn lstm(cx: &mut NodeCx, step: &Step, h: ValueId, c: ValueId, input_forget: bool) -> Result<Vec<ValueId>> {
    let [f, g, of_cell] = [step.activations[0], step.activations[1], step.activations[2]];
    let recurrent = (step.recurrent)(cx, h, 0..4)?;
    let gates = cx.binary(BinaryKind::Add, step.input, recurrent)?;
    // A gate's sum, with its peephole (i, o and f in this order) at a cell state.
    let gate = |cx: &mut NodeCx, index: usize, cell: Option<ValueId>| {
        let sum = step.gates(cx, gates, index, 1)?;
        match (cell, step.peepholes) {
            (Some(cell), Some(peepholes)) => {
                let weight = step.gates(cx, peepholes, index, 1)?;
                let peek = cx.binary(BinaryKind::Mul, weight, cell)?;
                cx.binary(BinaryKind::Add, sum, peek)
            }
            _ => Ok(sum),
        }
    };
    let i = gate(cx, 0, Some(c))?;
    let i = f.apply(cx, i)?;
    let forget = if input_forget {
        one_minus(cx, i)?
    } else {
        let forget = gate(cx, 2, Some(c))?;
        f.apply(cx, forget)?
    };
    let candidate = gate(cx, 3, None)?;
    let candidate = g.apply(cx, candidate)?;
    let kept = cx.binary(BinaryKind::Mul, forget, c)?;
    let added = cx.binary(BinaryKind::Mul, i, candidate)?;
    let c = cx.binary(BinaryKind::Add, kept, added)?;
    let o = gate(cx, 1, Some(c))?;
    let o = f.apply(cx, o)?;
    // Gates are clipped; the cell state isn't, as in other implementations (the specification leaves it open).
    let shown = of_cell.unclipped().apply(cx, c)?;
    Ok(vec![cx.binary(BinaryKind::Mul, o, shown)?, c])
}

fn one_minus(cx: &mut NodeCx, x: ValueId) -> Result<ValueId> {
    let one = cx.scalar(cx.dtype(x)?, 1.0)?;
    cx.binary(BinaryKind::Sub, one, x)
}
