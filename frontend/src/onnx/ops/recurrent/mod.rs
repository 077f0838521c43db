//! RNN, GRU and LSTM: the input's part of the gates is one product over all time steps, and a loop over time does the
//! rest. Half-precision operands are computed with in f32.

mod activation;
mod cell;
mod product;

use tcc_ir::ops::{BinaryKind, Loop, Sizes, Slice};
use tcc_ir::{Cmp, DType, Dim, Type, ValueId};

use self::activation::Activation;
use self::cell::{Cell, Step};
use self::product::Weights;
use super::{Entry, onnx};
use crate::onnx::node::{ImportError, NodeCx, Result};

const MICROSOFT_DOMAIN: &str = "com.microsoft";

pub(super) const TABLE: &[Entry] = &[
    Entry {
        domain: MICROSOFT_DOMAIN,
        op_type: "DynamicQuantizeLSTM",
        since: 1,
        import: dynamic_quantize_lstm,
    },
    onnx("GRU", 1, |cx| {
        let linear_before_reset = cx.flag("linear_before_reset", false)?;
        recurrent(cx, Cell::Gru { linear_before_reset }, &["Sigmoid", "Tanh"], &unquantised)
    }),
    onnx("LSTM", 1, |cx| lstm(cx, &unquantised)),
    onnx("RNN", 1, |cx| recurrent(cx, Cell::Rnn, &["Tanh"], &unquantised)),
];

/// Reads the weights at an input (1: of the input, 2: recurrent) for a direction.
type ReadWeights = dyn Fn(&mut NodeCx, usize, usize) -> Result<Weights>;

fn lstm(cx: &mut NodeCx, read: &ReadWeights) -> Result<Vec<ValueId>> {
    let input_forget = cx.flag("input_forget", false)?;
    recurrent(cx, Cell::Lstm { input_forget }, &["Sigmoid", "Tanh", "Tanh"], read)
}

/// Weights that are [directions, gates * hidden, depth], as floats.
fn unquantised(cx: &mut NodeCx, input: usize, direction: usize) -> Result<Weights> {
    let values = cx.input(input)?;
    let values = one_direction(cx, values, direction)?;
    Ok(Weights { values: to_computed(cx, values)?, scale: None })
}

/// Weights that are [directions, depth, gates * hidden] in 8 bits, with scales and zero points for each direction or each
/// column in it.
fn dynamic_quantize_lstm(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    lstm(cx, &|cx, input, direction| {
        let (scale, zero_point) = if input == 1 { (8, 9) } else { (10, 11) };
        let values = cx.input(input)?;
        if cx.dtype(values)?.size() != 1 {
            return Err(ImportError::invalid("the weights must have 8 bits"));
        }
        let scale = cx.input(scale)?;
        let scale = one_direction(cx, scale, direction)?;
        let values = one_direction(cx, values, direction)?;
        let values = cx.cast(values, DType::I32)?;
        let values = match cx.optional_input(zero_point) {
            Some(zero_point) => {
                let zero_point = one_direction(cx, zero_point, direction)?;
                let zero_point = cx.cast(zero_point, DType::I32)?;
                cx.binary(BinaryKind::Sub, values, zero_point)?
            }
            None => values,
        };
        Ok(Weights { values: cx.transpose(values, vec![1, 0])?, scale: Some(scale) })
    })
}

/// Everything of one direction.
struct Direction {
    cell: Cell,
    is_backward: bool,
    activations: Vec<Activation>,
    /// [time, batch, gates * hidden]
    input: ValueId,
    recurrent: Weights,
    last_bias: Option<ValueId>,
    peepholes: Option<ValueId>,
    /// [batch, 1], i64.
    lengths: Option<ValueId>,
    /// h, and c of an LSTM: [batch, hidden].
    states: Vec<ValueId>,
    time: Dim,
    hidden: Dim,
}

fn recurrent(
    cx: &mut NodeCx,
    cell: Cell,
    default_activations: &[&str],
    read: &ReadWeights,
) -> Result<Vec<ValueId>> {
    cx.ignore_attribute("output_sequence");
    let directions: &[bool] = match cx.string("direction", "forward")? {
        "forward" => &[false],
        "reverse" => &[true],
        "bidirectional" => &[false, true],
        other => return Err(ImportError::invalid(format!("direction `{other}` is unknown"))),
    };
    let is_batch_first = cx.flag("layout", false)?;
    let activations = activation::read(cx, directions.len(), default_activations)?;
    let x = cx.input(0)?;
    let dtype = cx.dtype(x)?;
    let x = to_computed(cx, x)?;
    let x = if is_batch_first { swapped(cx, x)? } else { x };
    let dims = cx.shape(x)?;
    let [time, batch, _] = &dims[..] else {
        return Err(ImportError::invalid(format!("the input has rank {}, not 3", dims.len())));
    };
    let gate_rows = cx.shape(cx.input(2)?)?;
    if gate_rows.len() != 3 || !gate_rows[0].is_const(directions.len() as i64) {
        return Err(ImportError::invalid("the recurrent weights must have rank 3, first the directions"));
    }
    let lengths = match cx.optional_input(4) {
        Some(lengths) => {
            let lengths = cx.cast(lengths, DType::I64)?;
            Some(cx.reshape(lengths, vec![batch.clone(), Dim::from(1)])?)
        }
        None => None,
    };
    let is_lstm = matches!(cell, Cell::Lstm { .. });
    let (mut sequences, mut states) = (Vec::new(), vec![Vec::new(); if is_lstm { 2 } else { 1 }]);
    for (index, (&is_backward, activations)) in directions.iter().zip(activations).enumerate() {
        let (weights, recurrent) = (read(cx, 1, index)?, read(cx, 2, index)?);
        let hidden = cx.extent(recurrent.values, 1)?;
        if let Some(stated) = cx.opt_int("hidden_size")?
            && Dim::compare(Cmp::Ne, &hidden, &Dim::from(stated)) == Some(true)
        {
            return Err(ImportError::invalid(format!(
                "hidden_size is {stated}, but the weights have {hidden}"
            )));
        }
        let (bias, last_bias) = biases(cx, cell, &hidden, index)?;
        let input = weights.product(cx, x)?;
        let input = match bias {
            Some(bias) => cx.binary(BinaryKind::Add, input, bias)?,
            None => input,
        };
        let peepholes = if is_lstm { optional_of(cx, 7, index)? } else { None };
        let mut first_states = Vec::new();
        for slot in 0..states.len() {
            first_states.push(first_state(
                cx,
                5 + slot,
                index,
                is_batch_first,
                &[batch.clone(), hidden.clone()],
            )?);
        }
        let direction = Direction {
            cell,
            is_backward,
            activations,
            input,
            recurrent,
            last_bias,
            peepholes,
            lengths,
            states: first_states,
            time: time.clone(),
            hidden,
        };
        let mut outputs = direction.run(cx)?;
        let sequence = outputs.pop().ok_or_else(|| ImportError::invalid("the loop has no output"))?;
        sequences.push(with_axis(cx, sequence, 1)?);
        for (all, state) in states.iter_mut().zip(outputs) {
            all.push(with_axis(cx, state, 0)?);
        }
    }
    let mut outputs = vec![cx.concat(&sequences, 1)?];
    for all in &states {
        outputs.push(cx.concat(all, 0)?);
    }
    for (index, output) in outputs.iter_mut().enumerate() {
        if is_batch_first {
            // [time, directions, batch, hidden] and [directions, batch, hidden]
            *output =
                if index == 0 { cx.transpose(*output, vec![2, 0, 1, 3])? } else { swapped(cx, *output)? };
        }
        *output = cx.cast(*output, dtype)?;
    }
    Ok(outputs)
}

impl Direction {
    /// The loop over time: the states at the end, then h of every step.
    fn run(&self, cx: &mut NodeCx) -> Result<Vec<ValueId>> {
        let optional = [self.recurrent.scale, self.last_bias, self.peepholes, self.lengths];
        let mut read = vec![self.input, self.recurrent.values];
        read.extend(optional.into_iter().flatten());
        let mut formals = vec![
            ("iteration", Type::tensor(DType::I64, Vec::<Dim>::new())),
            ("condition", Type::tensor(DType::Bool, Vec::<Dim>::new())),
        ];
        formals.extend(self.states.iter().map(|&state| ("state", cx.ty(state).clone())));
        formals.extend(read.iter().map(|&value| ("read", cx.ty(value).clone())));
        let n_carried = self.states.len();
        let body = cx.region("step", &formals, &[], &[], |cx, inputs| {
            let (carried, read) = inputs[2..].split_at(n_carried);
            let mut rest = read[2..].iter().copied();
            let optional = optional.map(|value| value.and_then(|_| rest.next()));
            let outputs = self.body(cx, inputs[0], carried, [read[0], read[1]], optional)?;
            Ok([&[inputs[1]], &outputs[..]].concat())
        })?;
        let mut inputs = vec![size_scalar(cx, self.time.clone())?];
        inputs.extend(&self.states);
        inputs.extend(read);
        let mut outputs = cx.add_all(Loop { body, n_carried, has_trip: true, has_cond: false }, &inputs)?;
        if self.is_backward
            && let Some(sequence) = outputs.last_mut()
        {
            *sequence = flip_first_axis(cx, *sequence)?;
        }
        Ok(outputs)
    }

    /// A step: the states after it, and h as the sequence shows it.
    fn body(
        &self,
        cx: &mut NodeCx,
        iteration: ValueId,
        carried: &[ValueId],
        [input, recurrent]: [ValueId; 2],
        [scale, last_bias, peepholes, lengths]: [Option<ValueId>; 4],
    ) -> Result<Vec<ValueId>> {
        let time = if self.is_backward {
            let last = size_scalar(cx, self.time.clone() - Dim::from(1))?;
            cx.binary(BinaryKind::Sub, last, iteration)?
        } else {
            iteration
        };
        let weights = Weights { values: recurrent, scale };
        let input = cx.gather(input, time, 0)?;
        let step = Step {
            input,
            recurrent: &|cx, h, gates| {
                let size = |n: usize| self.hidden.clone() * Dim::from(n);
                let weights = match gates.len() == self.cell.n_gates() {
                    true => weights,
                    false => weights.rows(cx, size(gates.start), size(gates.len()))?,
                };
                weights.product(cx, h)
            },
            last_bias,
            peepholes,
            activations: &self.activations,
            hidden: &self.hidden,
        };
        let mut states = self.cell.step(cx, &step, carried)?;
        let mut shown = states[0];
        if let Some(lengths) = lengths {
            // Past a sequence's end its state stays, and what is shown is zero.
            let is_inside = cx.compare(Cmp::Lt, time, lengths)?;
            let zero = cx.zero(cx.dtype(shown)?);
            shown = cx.select(is_inside, shown, zero)?;
            for (state, &before) in states.iter_mut().zip(carried) {
                *state = cx.select(is_inside, *state, before)?;
            }
        }
        states.push(shown);
        Ok(states)
    }
}

/// What is added to the input's part of all gates, and what stays apart: a GRU that resets after the recurrent product
/// resets the last gate's recurrent bias too.
fn biases(
    cx: &mut NodeCx,
    cell: Cell,
    hidden: &Dim,
    direction: usize,
) -> Result<(Option<ValueId>, Option<ValueId>)> {
    let Some(both) = optional_of(cx, 3, direction)? else { return Ok((None, None)) };
    let size = |n: usize| hidden.clone() * Dim::from(n);
    let n_gates = cell.n_gates();
    let of_input = cx.slice_axis(both, 0, Dim::from(0), size(n_gates))?;
    let of_state = cx.slice_axis(both, 0, size(n_gates), size(n_gates))?;
    if !matches!(cell, Cell::Gru { linear_before_reset: true }) {
        return Ok((Some(cx.binary(BinaryKind::Add, of_input, of_state)?), None));
    }
    let first = cx.slice_axis(of_state, 0, Dim::from(0), size(n_gates - 1))?;
    let last = cx.slice_axis(of_state, 0, size(n_gates - 1), hidden.clone())?;
    let zero = cx.zero(cx.dtype(last)?);
    let zeros = cx.broadcast(zero, vec![hidden.clone()])?;
    let first = cx.concat(&[first, zeros], 0)?;
    Ok((Some(cx.binary(BinaryKind::Add, of_input, first)?), Some(last)))
}

/// A state before the first step: zeros where none is given.
fn first_state(
    cx: &mut NodeCx,
    input: usize,
    direction: usize,
    is_batch_first: bool,
    dims: &[Dim],
) -> Result<ValueId> {
    match cx.optional_input(input) {
        Some(state) => {
            let state = if is_batch_first { swapped(cx, state)? } else { state };
            let state = one_direction(cx, state, direction)?;
            let state = to_computed(cx, state)?;
            if cx.shape(state)? == dims { Ok(state) } else { cx.reshape(state, dims.to_vec()) }
        }
        None => {
            let zero = cx.zero(computed_dtype(cx.dtype(cx.input(0)?)?));
            cx.broadcast(zero, dims.to_vec())
        }
    }
}

fn optional_of(cx: &mut NodeCx, input: usize, direction: usize) -> Result<Option<ValueId>> {
    let Some(value) = cx.optional_input(input) else { return Ok(None) };
    let value = one_direction(cx, value, direction)?;
    to_computed(cx, value).map(Some)
}

/// What belongs to one direction, of a value that has them along its first axis.
fn one_direction(cx: &mut NodeCx, x: ValueId, direction: usize) -> Result<ValueId> {
    let dims = cx.shape(x)?;
    let Some((_, rest)) = dims.split_first() else {
        return Err(ImportError::invalid("an operand has no axis of directions"));
    };
    let part = cx.slice_axis(x, 0, Dim::from(direction), Dim::from(1))?;
    cx.reshape(part, rest.to_vec())
}

/// A size as an i64 without dims.
fn size_scalar(cx: &mut NodeCx, size: Dim) -> Result<ValueId> {
    cx.add(Sizes { dtype: DType::I64, shape: vec![], elems: vec![size] }, &[])
}

fn flip_first_axis(cx: &mut NodeCx, x: ValueId) -> Result<ValueId> {
    let sizes = cx.shape(x)?;
    let mut starts = vec![Dim::from(0); sizes.len()];
    let mut steps = vec![Dim::from(1); sizes.len()];
    (starts[0], steps[0]) = (sizes[0].clone() - Dim::from(1), Dim::from(-1));
    cx.add(Slice { starts, sizes, steps }, &[x])
}

/// With a new axis of size 1 before axis `axis`.
fn with_axis(cx: &mut NodeCx, x: ValueId, axis: usize) -> Result<ValueId> {
    let mut dims = cx.shape(x)?;
    dims.insert(axis, Dim::from(1));
    cx.reshape(x, dims)
}

/// With the first two of three axes swapped.
fn swapped(cx: &mut NodeCx, x: ValueId) -> Result<ValueId> {
    match cx.rank(x)? {
        3 => cx.transpose(x, vec![1, 0, 2]),
        rank => Err(ImportError::invalid(format!("an operand has rank {rank}, not 3"))),
    }
}

fn computed_dtype(dtype: DType) -> DType {
    if dtype == DType::F64 { dtype } else { DType::F32 }
}

fn to_computed(cx: &mut NodeCx, x: ValueId) -> Result<ValueId> {
    let dtype = cx.dtype(x)?;
    if !dtype.is_float() {
        return Err(ImportError::invalid(format!("an operand is {}", Type::from(cx.tensor_type(x)?))));
    }
    cx.cast(x, computed_dtype(dtype))
}
