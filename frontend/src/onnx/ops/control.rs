//! Control flow: If, Loop and Scan. Bodies become regions; what they capture becomes inputs, except for what is
//! known at compile time, which is made again inside.

use std::cell::Cell;

use tcc_ir::ops::{BinaryKind, If, Loop, OptionalGet, OptionalSome, Slice};
use tcc_ir::{Cmp, DType, Dim, Graph, Symbol, Type, ValueId};

use super::{Entry, onnx};
use crate::onnx::model::{self, GraphId};
use crate::onnx::node::{ImportError, NodeCx, Result};

pub(super) const TABLE: &[Entry] = &[onnx("If", 1, if_), onnx("Loop", 1, loop_), onnx("Scan", 9, scan)];

fn if_(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let cond = cx.input(0)?;
    let (then, otherwise) = (cx.graph("then_branch")?, cx.graph("else_branch")?);
    // A choice that is made already leaves no trace: models use it for variants that don't even type-check.
    if let Some(taken) = cx.known_bool(cond) {
        return cx.inline(if taken { then } else { otherwise }, &[]);
    }
    let captures = cx.captures(&[then, otherwise]);
    let mut branch =
        |name: &str, body: GraphId| cx.region(name, &[], &captures, &[body], |cx, _| cx.inline(body, &[]));
    let (then_branch, else_branch) = (branch("then", then)?, branch("else", otherwise)?);
    if ranks_differ(&then_branch, &else_branch)
        && let Some([holds]) = cx.region.graph.fact(cond).elems
    {
        // No tensor has one of two ranks. Exporters write such a choice around a Squeeze of an axis that is 1 in
        // practice: the model is taken for sizes that satisfy the condition, which is checked when it runs.
        let holds = holds.clone();
        let outputs = cx.inline(then, &[])?;
        let message = "only sizes that take the first branch are supported: the other has another rank";
        cx.require(outputs[0], Cmp::Eq, &holds, &Dim::from(1), message)?;
        return Ok(outputs);
    }
    let mut inputs = vec![cond];
    inputs.extend(cx.captured_values(&captures));
    cx.add_all(If { then_branch, else_branch }, &inputs)
}

fn ranks_differ(a: &Graph, b: &Graph) -> bool {
    let rank = |graph: &Graph, value: &ValueId| graph.ty(*value).as_tensor().map(tcc_ir::TensorType::rank);
    a.outputs().iter().zip(b.outputs()).any(|(x, y)| rank(a, x) != rank(b, y))
}

fn loop_(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let body = cx.graph("body")?;
    let controls = [cx.optional_input(0), cx.optional_input(1)];
    let carried: Vec<ValueId> = (2..cx.n_inputs()).map(|index| cx.input(index)).collect::<Result<_>>()?;
    let captures = cx.captures(&[body]);
    let types = carried.iter().map(|&value| cx.ty(value).clone()).collect();
    let wrapped = Cell::new(Vec::new());
    let graph = settled_body(cx, types, &[], &captures, body, &|cx, inputs| {
        let mut outputs = cx.inline(body, inputs)?;
        wrapped.set(wrap_optionals(cx, &inputs[2..][..carried.len()], &mut outputs)?);
        Ok(outputs)
    })?;
    let op = Loop {
        body: graph,
        n_carried: carried.len(),
        has_trip: controls[0].is_some(),
        has_cond: controls[1].is_some(),
    };
    let inputs: Vec<ValueId> =
        controls.into_iter().flatten().chain(carried).chain(cx.captured_values(&captures)).collect();
    let mut outputs = cx.add_all(op, &inputs)?;
    for index in wrapped.take() {
        outputs[index] = cx.add(OptionalGet {}, &[outputs[index]])?;
    }
    Ok(outputs)
}

/// A body may take an optional and give what would be in it. It's carried as an optional; the loop's result is what is in
/// it. Returns which of the carried values these are.
fn wrap_optionals(cx: &mut NodeCx, carried: &[ValueId], outputs: &mut [ValueId]) -> Result<Vec<usize>> {
    let mut wrapped = Vec::new();
    for (index, (&taken, given)) in carried.iter().zip(outputs.iter_mut().skip(1)).enumerate() {
        if matches!(cx.ty(taken), Type::Optional(_)) && !matches!(cx.ty(*given), Type::Optional(_)) {
            *given = cx.add(OptionalSome {}, &[*given])?;
            wrapped.push(index);
        }
    }
    Ok(wrapped)
}

/// A loop over the slices of some tensors: they are passed whole, and each iteration takes its slice.
fn scan(cx: &mut NodeCx) -> Result<Vec<ValueId>> {
    let body = cx.graph("body")?;
    let inputs = cx.inputs()?;
    let n_scanned = usize::try_from(cx.required_int("num_scan_inputs")?).unwrap_or(usize::MAX);
    let Some(n_states) = inputs.len().checked_sub(n_scanned).filter(|_| n_scanned > 0) else {
        return Err(ImportError::invalid("num_scan_inputs doesn't fit the number of inputs"));
    };
    let (states, scanned) = inputs.split_at(n_states);
    let n_stacked = cx.n_outputs().saturating_sub(n_states);
    let mut axes = Vec::new();
    for (index, &value) in scanned.iter().enumerate() {
        let axis = list_entry(cx.opt_ints("scan_input_axes")?, index, n_scanned)?;
        axes.push(cx.axis(axis, cx.rank(value)?)?);
    }
    let reversed = directions(cx.opt_ints("scan_input_directions")?, n_scanned)?;
    let length = cx.shape(scanned[0])?[axes[0]].clone();
    let captures = cx.captures(&[body]);
    let scanned_types: Vec<Type> = scanned.iter().map(|&value| cx.ty(value).clone()).collect();
    let state_types = states.iter().map(|&value| cx.ty(value).clone()).collect();
    let graph = settled_body(cx, state_types, &scanned_types, &captures, body, &|cx, inputs| {
        let (iteration, rest) = (inputs[0], &inputs[2..]);
        let (states, whole) = rest.split_at(n_states);
        let mut body_inputs = states.to_vec();
        for (index, &value) in whole.iter().enumerate() {
            let position = if reversed[index] {
                let last = cx.sizes(vec![length.clone() - Dim::from(1)])?;
                let last = cx.to_scalar(last, "a length")?;
                cx.binary(BinaryKind::Sub, last, iteration)?
            } else {
                iteration
            };
            body_inputs.push(cx.gather(value, position, axes[index])?);
        }
        let mut outputs = vec![inputs[1]];
        outputs.extend(cx.inline(body, &body_inputs)?);
        Ok(outputs)
    })?;
    let trip = cx.sizes(vec![length.clone()])?;
    let mut loop_inputs = vec![cx.to_scalar(trip, "a length")?];
    loop_inputs.extend(states.iter().chain(scanned));
    loop_inputs.extend(cx.captured_values(&captures));
    let op = Loop { body: graph, n_carried: n_states, has_trip: true, has_cond: false };
    let mut outputs = cx.add_all(op, &loop_inputs)?;
    // A scan that gives nothing has no value for the check to go with, and nobody who would miss it.
    for (&value, &axis) in scanned.iter().zip(&axes).skip(1).filter(|_| !outputs.is_empty()) {
        let other = cx.shape(value)?[axis].clone();
        cx.require(outputs[0], Cmp::Eq, &length, &other, "the scanned inputs differ in length")?;
    }
    let output_axes = cx.opt_ints("scan_output_axes")?;
    let reversed = directions(cx.opt_ints("scan_output_directions")?, n_stacked)?;
    for (index, output) in outputs[n_states..].iter_mut().enumerate().take(n_stacked) {
        if reversed[index] {
            *output = reverse_first_axis(cx, *output)?;
        }
        let rank = cx.rank(*output)?;
        let axis = cx.axis(list_entry(output_axes, index, n_stacked)?, rank)?;
        if axis > 0 {
            let perm = (1..=axis).chain([0]).chain(axis + 1..rank).collect();
            *output = cx.transpose(*output, perm)?;
        }
    }
    Ok(outputs)
}

fn list_entry(list: Option<&[i64]>, index: usize, len: usize) -> Result<i64> {
    match list {
        None => Ok(0),
        Some(list) if list.len() == len => Ok(list[index]),
        Some(list) => Err(ImportError::invalid(format!("a list has {} entries, not {len}", list.len()))),
    }
}

fn directions(list: Option<&[i64]>, len: usize) -> Result<Vec<bool>> {
    (0..len).map(|index| list_entry(list, index, len).map(|direction| direction != 0)).collect()
}

fn reverse_first_axis(cx: &mut NodeCx, x: ValueId) -> Result<ValueId> {
    let sizes = cx.shape(x)?;
    let mut starts = vec![Dim::from(0); sizes.len()];
    let mut steps = vec![Dim::from(1); sizes.len()];
    (starts[0], steps[0]) = (sizes[0].clone() - Dim::from(1), Dim::from(-1));
    cx.add(Slice { starts, sizes, steps }, &[x])
}

/// Builds the body of a loop: inputs are the iteration, the condition, the carried values, `fixed` and the
/// captures. A carried value whose extents change from one iteration to the next gets symbols of the body's own
/// for them: which extents do is seen from the body's outputs, so the body is built again until nothing changes.
fn settled_body(
    cx: &mut NodeCx,
    mut carried: Vec<Type>,
    fixed: &[Type],
    captures: &[model::ValueId],
    body: GraphId,
    build: &dyn Fn(&mut NodeCx, &[ValueId]) -> Result<Vec<ValueId>>,
) -> Result<Graph> {
    let mut is_general = false;
    loop {
        let mut formals = vec![("iteration", Type::tensor(DType::I64, Vec::<Dim>::new()))];
        formals.push(("condition", Type::tensor(DType::Bool, Vec::<Dim>::new())));
        formals.extend(carried.iter().map(|ty| ("carried", ty.clone())));
        formals.extend(fixed.iter().map(|ty| ("scanned", ty.clone())));
        let prefix = cx.next_region_prefix()?;
        let mark = cx.mark();
        let built = cx.region("body", &formals, captures, &[body], |cx, inputs| build(cx, inputs));
        let next: Vec<Type> = match &built {
            Ok(graph) => {
                let given = graph.outputs().iter().skip(1).map(|&value| graph.ty(value));
                let pairs = carried.iter().zip(given).enumerate();
                let mut next: Vec<Type> = pairs
                    .map(|(index, (want, given))| generalised(want, Some(given), graph, &prefix, index))
                    .collect();
                next.extend(carried.iter().skip(next.len()).cloned());
                next
            }
            // Extents of the first iteration can be wrong in a way that no operator takes.
            Err(_) if !is_general => {
                is_general = true;
                cx.rollback(mark);
                let empty = Graph::default();
                let types = carried.iter().enumerate();
                types.map(|(index, want)| generalised(want, None, &empty, &prefix, index)).collect()
            }
            Err(_) => return built,
        };
        if built.is_ok() && next == carried {
            return built;
        }
        carried = next;
    }
}

/// `want`, the type of a carried value on entry, widened so that `given`, its type on leaving `body`, fits; with
/// every extent left open where `given` is none.
fn generalised(want: &Type, given: Option<&Type>, body: &Graph, prefix: &str, index: usize) -> Type {
    match (want, given) {
        (Type::Tensor(ty), None | Some(Type::Tensor(_))) => {
            let given = given.and_then(Type::as_tensor);
            if given.is_some_and(|given| given.rank() != ty.rank()) {
                return want.clone();
            }
            let mut ty = ty.clone();
            for (axis, extent) in ty.shape.iter_mut().enumerate() {
                let is_own = extent.as_symbol().is_some_and(|symbol| body.symbol_source(symbol).is_some());
                if !is_own && given.is_none_or(|given| given.shape[axis] != *extent) {
                    // The name that the axis of this input would have if inference made one.
                    *extent = Dim::symbol(Symbol::new(format!("{prefix}v{}d{axis}", 2 + index)));
                }
            }
            ty.into()
        }
        (Type::Sequence(_) | Type::Optional(_), _) if given != Some(want) => unranked(want),
        _ => want.clone(),
    }
}

/// The type with the shapes of elements left open.
fn unranked(ty: &Type) -> Type {
    let element = |ty: &Type| match ty {
        Type::Tensor(tensor) => Box::new(Type::Unranked(tensor.dtype)),
        nested => Box::new(unranked(nested)),
    };
    match ty {
        Type::Sequence(ty) => Type::Sequence(element(ty)),
        Type::Optional(ty) => Type::Optional(element(ty)),
        other => other.clone(),
    }
}
